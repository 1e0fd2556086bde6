package tlog

import (
	"fmt"
	"math/bits"
	"sync"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"store.example/agentstore/corpus/attest"
)

// Inclusion proves that leaf index stands in the log of a size. From the leaf to the root it names
// the node beside each node on the way (RFC 6962, section 2.1.1).
func (l *Log) Inclusion(index, size int64) ([]attest.Digest, error) {
	if index < 0 || index >= size || size > l.head.Size {
		return nil, fmt.Errorf("proving leaf %d: in %d of %d", index, size, l.head.Size)
	}
	proof := make([]attest.Digest, 0, bits.Len64(uint64(size)))
	var way walkedTile
	for level := 0; int64(1)<<level < size; level++ {
		beside := index>>level ^ 1
		first, behind := beside<<level, (beside+1)<<level
		var h attest.Digest
		var err error
		switch {
		case first >= size: // nothing is beside it
			continue
		case behind <= size:
			h, err = l.node(level, beside, &way)
		default:
			h, err = l.edge(first, size)
		}
		if err != nil {
			return nil, fmt.Errorf("proving leaf %d: %w", index, err)
		}
		proof = append(proof, h)
	}
	return proof, nil
}

// walkedTile is the tile that the last node stood in: of neighbouring levels, most share one.
type walkedTile struct {
	name tileName
	tree *tileTree // nil: not looked up, or not kept
}

// node is the n-th of the complete nodes of a level, which is over 1<<level leaves.
func (l *Log) node(level int, n int64, last *walkedTile) (attest.Digest, error) {
	tile, within := level/tileHeight, level%tileHeight
	name := tileName{tile, n >> (tileHeight - within)}
	if last.tree == nil || last.name != name {
		*last = walkedTile{name, l.tile(name)}
	}
	if at := n - name.n<<(tileHeight-within); last.tree != nil && at < int64(len(last.tree[within])) {
		return attest.Digest(last.tree[within][at]), nil
	}
	last.tree = nil
	hashes, err := l.hashes().ReadHashes([]int64{sumdb.StoredHashIndex(level, n)})
	if err != nil {
		return attest.Digest{}, err
	}
	return attest.Digest(hashes[0]), nil
}

// tile is one that was checked: one that is kept, or a whole one that the kept tile above it
// commits to. It is nil if neither is at hand.
func (l *Log) tile(name tileName) *tileTree {
	if tree := l.kept.tree(name); tree != nil {
		return tree
	}
	above := l.kept.tree(tileName{name.level + 1, name.n / TileWidth})
	at := name.n % TileWidth
	if above == nil || at >= int64(len(above[0])) {
		return nil
	}
	data, err := l.read(tilePath(sumdb.Tile{H: tileHeight, L: name.level, N: name.n, W: TileWidth}))
	if err != nil || len(data) != TileWidth*sumdb.HashSize {
		return nil // whoever reads it with all its proofs says what is wrong
	}
	tree := newTileTree(splitHashes(data))
	if tree[tileHeight][0] != above[0][at] {
		return nil
	}
	l.kept.put(name, tree)
	return tree
}

// edge is the root over the leaves from first up to size, which are fewer than a complete node
// there would have. All leaves before them share it in their proofs, so that it is kept.
func (l *Log) edge(first, size int64) (attest.Digest, error) {
	if h, ok := l.edges.get(first, size); ok {
		return h, nil
	}
	var complete []attest.Digest
	for at := first; at < size; {
		level := bits.Len64(uint64(size-at)) - 1
		h, err := l.node(level, at>>level, new(walkedTile))
		if err != nil {
			return attest.Digest{}, err
		}
		complete, at = append(complete, h), at+1<<level
	}
	root := complete[len(complete)-1]
	for i := len(complete) - 2; i >= 0; i-- {
		root = attest.NodeHash(complete[i], root)
	}
	l.edges.keep(first, size, root)
	return root, nil
}

// keptEdges is how many edges a Log keeps. A size has fewer than 64.
const keptEdges = 4096

// edgeCache keeps edges, by their first leaf and the size of the log.
type edgeCache struct {
	mu    sync.Mutex
	roots map[[2]int64]attest.Digest
}

func (c *edgeCache) get(first, size int64) (attest.Digest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.roots[[2]int64{first, size}]
	return h, ok
}

func (c *edgeCache) keep(first, size int64, root attest.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roots == nil {
		c.roots = make(map[[2]int64]attest.Digest)
	}
	if len(c.roots) >= keptEdges {
		clear(c.roots)
	}
	c.roots[[2]int64{first, size}] = root
}
