package tlog

import (
	"slices"
	"sync"

	sumdb "golang.org/x/mod/sumdb/tlog"
)

// tileTree is a tile that was checked, with the hashes above its own: level 0 is what the tile
// holds, and each level has the hashes over pairs of the one below.
type tileTree [tileHeight + 1][]sumdb.Hash

func newTileTree(hashes []sumdb.Hash) *tileTree {
	t := tileTree{hashes}
	for level := 1; level < len(t); level++ {
		for pair := range slices.Chunk(t[level-1], 2) {
			if len(pair) == 2 {
				t[level] = append(t[level], sumdb.NodeHash(pair[0], pair[1]))
			}
		}
	}
	return &t
}

// keptTiles is how many tiles a Log keeps, of 16 KiB each: proofs of neighbouring leaves read the
// same few.
const keptTiles = 64

// tileCache keeps the tiles that were checked last.
type tileCache struct {
	mu    sync.Mutex
	tiles map[tileName]*tileTree
	order []tileName // oldest first
}

type tileName struct {
	level int
	n     int64
}

func (c *tileCache) keep(tile sumdb.Tile, data []byte) {
	name := tileName{tile.L, tile.N}
	if held := c.tree(name); held != nil && len(held[0]) >= len(data)/sumdb.HashSize {
		return
	}
	c.put(name, newTileTree(splitHashes(data)))
}

func (c *tileCache) put(name tileName, tree *tileTree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tiles == nil {
		c.tiles = make(map[tileName]*tileTree)
	}
	held := c.tiles[name]
	if held != nil && len(held[0]) >= len(tree[0]) {
		return
	}
	if held == nil {
		c.order = append(c.order, name)
	}
	c.tiles[name] = tree
	if len(c.order) > keptTiles {
		delete(c.tiles, c.order[0])
		c.order = c.order[1:]
	}
}

// tree is a tile that is kept, or nil.
func (c *tileCache) tree(name tileName) *tileTree {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tiles[name]
}

// hashes finds stored hashes in the tiles that are kept, all of them or none.
func (c *tileCache) hashes(indexes []int64) ([]sumdb.Hash, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]sumdb.Hash, len(indexes))
	for i, index := range indexes {
		tile := sumdb.TileForIndex(tileHeight, index)
		level, n := sumdb.SplitStoredHashIndex(index)
		tree := c.tiles[tileName{tile.L, tile.N}]
		within := level - tile.L*tileHeight
		at := n - tile.N<<(tileHeight-within)
		if tree == nil || at < 0 || at >= int64(len(tree[within])) {
			return nil, false
		}
		out[i] = tree[within][at]
	}
	return out, true
}

// cachedHashes reads hashes from the kept tiles, and others as checked says.
type cachedHashes struct {
	cache   *tileCache
	checked sumdb.HashReader
}

// ReadHashes implements tlog.HashReader.
func (r cachedHashes) ReadHashes(indexes []int64) ([]sumdb.Hash, error) {
	if out, ok := r.cache.hashes(indexes); ok {
		return out, nil
	}
	return r.checked.ReadHashes(indexes)
}
