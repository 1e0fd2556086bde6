package tlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"store.example/agentstore/corpus/attest"
)

const tileHeight = 8

// TileWidth is how many hashes a full tile has, and how many entries a full bundle.
const TileWidth = 1 << tileHeight

// tilePath is a tile's path in C2SP tlog-tiles.
func tilePath(t sumdb.Tile) string { return "tile/" + strings.TrimPrefix(t.Path(), "tile/8/") }

// bundlePath is the path of the n-th bundle of entries, w of them.
func bundlePath(n int64, w int) string {
	return "tile/entries/" + strings.TrimPrefix(sumdb.Tile{H: tileHeight, L: 0, N: n, W: w}.Path(), "tile/8/0/")
}

// Tower holds the right edge of a growing tree: of every level of tiles the one that is not full.
// Its memory does not follow the size of the tree.
type Tower struct {
	Write   func(name string, data []byte) error // told of every file that is full; nil where only the root is asked
	Bundles bool                                 // of entries stand beside the tiles; then Write is needed
	Size    int64
	edge    [][]sumdb.Hash
	bundle  []byte // the one that is not full
}

// openTower restores the tower of a log of a size from its tiles and its last bundle, and demands
// its root.
func openTower(size int64, root attest.Digest, read func(name string) ([]byte, error)) (*Tower, error) {
	t := &Tower{Bundles: true, Size: size}
	for level := 0; size>>(tileHeight*level) > 0; level++ {
		n := size >> (tileHeight * level)
		var edge []sumdb.Hash
		if w := int(n % TileWidth); w > 0 {
			name := tilePath(sumdb.Tile{H: tileHeight, L: level, N: n / TileWidth, W: w})
			data, err := read(name)
			if err != nil {
				return nil, fmt.Errorf("reading log: %w", err)
			}
			if len(data) != w*sumdb.HashSize {
				return nil, fmt.Errorf("reading log: %s has %d bytes", name, len(data))
			}
			edge = splitHashes(data)
		}
		t.edge = append(t.edge, edge)
	}
	if got, err := t.Root(); err != nil || got != root {
		return nil, errors.Join(errors.New("reading log: its tiles do not lead to the root of its checkpoint"), err)
	}
	if w := int(size % TileWidth); w > 0 {
		var err error
		if t.bundle, err = read(bundlePath(size/TileWidth, w)); err != nil {
			return nil, fmt.Errorf("reading log: %w", err)
		}
	}
	return t, nil
}

// Add appends a leaf by its hash, and its entry where there are bundles.
func (t *Tower) Add(entry []byte, leaf attest.Digest) error {
	if t.Bundles {
		var err error
		if t.bundle, err = bundleEntry(t.bundle, entry); err != nil {
			return err
		}
	}
	if err := t.addHash(sumdb.Hash(leaf)); err != nil {
		return err
	}
	if !t.Bundles || t.Size%TileWidth > 0 {
		return nil
	}
	full := t.bundle
	t.bundle = t.bundle[:0]
	return t.Write(bundlePath(t.Size/TileWidth-1, TileWidth), full)
}

func (t *Tower) addHash(h sumdb.Hash) error {
	t.Size++
	for level := 0; ; level++ {
		if level == len(t.edge) {
			t.edge = append(t.edge, nil)
		}
		t.edge[level] = append(t.edge[level], h)
		if len(t.edge[level]) < TileWidth {
			return nil
		}
		if t.Write != nil {
			n := t.Size>>(tileHeight*(level+1)) - 1
			if err := t.Write(tilePath(sumdb.Tile{H: tileHeight, L: level, N: n, W: TileWidth}),
				joinHashes(t.edge[level])); err != nil {
				return err
			}
		}
		h = newTileTree(t.edge[level])[tileHeight][0]
		t.edge[level] = t.edge[level][:0]
	}
}

// Flush tells write of the bundle and the tiles that are not full.
func (t *Tower) Flush() error {
	if len(t.bundle) > 0 {
		if err := t.Write(bundlePath(t.Size/TileWidth, int(t.Size%TileWidth)), t.bundle); err != nil {
			return err
		}
	}
	for level, edge := range t.edge {
		if len(edge) == 0 {
			continue
		}
		tile := sumdb.Tile{H: tileHeight, L: level, N: t.Size >> (tileHeight * (level + 1)), W: len(edge)}
		if err := t.Write(tilePath(tile), joinHashes(edge)); err != nil {
			return err
		}
	}
	return nil
}

// Root is the tree hash of what was added so far.
func (t *Tower) Root() (attest.Digest, error) {
	if t.Size == 0 {
		return attest.MerkleRoot(nil), nil
	}
	h, err := sumdb.TreeHash(t.Size, sumdb.HashReaderFunc(func(indexes []int64) ([]sumdb.Hash, error) {
		var out []sumdb.Hash
		for _, i := range indexes {
			// All that the root of a tree needs stands on its right edge.
			tile := sumdb.TileForIndex(tileHeight, i)
			if tile.L >= len(t.edge) || tile.N != t.Size>>(tileHeight*(tile.L+1)) {
				return nil, fmt.Errorf("computing root: hash %d is not on the edge", i)
			}
			h, err := sumdb.HashFromTile(sumdb.Tile{H: tileHeight, L: tile.L, N: tile.N, W: len(t.edge[tile.L])},
				joinHashes(t.edge[tile.L]), i)
			if err != nil {
				return nil, err
			}
			out = append(out, h)
		}
		return out, nil
	}))
	return attest.Digest(h), err
}

func joinHashes(hs []sumdb.Hash) []byte {
	out := make([]byte, 0, len(hs)*sumdb.HashSize)
	for _, h := range hs {
		out = append(out, h[:]...)
	}
	return out
}

// splitHashes is the reverse of joinHashes.
func splitHashes(data []byte) []sumdb.Hash {
	out := make([]sumdb.Hash, 0, len(data)/sumdb.HashSize)
	for h := range slices.Chunk(data, sumdb.HashSize) {
		out = append(out, sumdb.Hash(h))
	}
	return out
}

// maxEntry is the most bytes that one entry of a C2SP tlog-tiles bundle has.
const maxEntry = math.MaxUint16

// bundleEntry appends one entry in the form of a bundle: its length in two bytes, then its bytes.
func bundleEntry(bundle, entry []byte) ([]byte, error) {
	if len(entry) == 0 || len(entry) > maxEntry {
		return nil, fmt.Errorf("bundling entry: %d bytes", len(entry))
	}
	return append(binary.BigEndian.AppendUint16(bundle, uint16(len(entry))), entry...), nil
}

// splitBundle returns the entries of a bundle, which share its memory.
func splitBundle(data []byte) (entries [][]byte, err error) {
	for len(data) > 0 {
		if len(data) < 2 {
			return nil, errors.New("reading bundle: cut short")
		}
		n := int(binary.BigEndian.Uint16(data))
		if n == 0 || len(data) < 2+n {
			return nil, errors.New("reading bundle: cut short")
		}
		entries = append(entries, data[2:2+n])
		data = data[2+n:]
	}
	return entries, nil
}

// Path names a file of the log in the folder of its record.
func Path(name string) string { return path.Join("log", name) }

// BundleLength is how many bytes the first n entries of a bundle have, -1 if it has fewer.
func BundleLength(bundle []byte, n int) int {
	at := 0
	for range n {
		if at+2 > len(bundle) {
			return -1
		}
		at += 2 + int(bundle[at])<<8 + int(bundle[at+1])
	}
	return at
}
