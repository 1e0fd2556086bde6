package corpus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"agentstore/corpus/attest"
)

const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// tilePath is a tile's path in C2SP tlog-tiles.
func tilePath(t tlog.Tile) string { return "tile/" + strings.TrimPrefix(t.Path(), "tile/8/") }

// bundlePath is the path of the n-th bundle of entries, w of them.
func bundlePath(n int64, w int) string {
	return "tile/entries/" + strings.TrimPrefix(tlog.Tile{H: tileHeight, L: 0, N: n, W: w}.Path(), "tile/8/0/")
}

// tower holds the right edge of a growing tree: of every level of tiles the one that is not full. Its memory does not
// follow the size of the tree.
type tower struct {
	write   func(name string, data []byte) error // told of every file that is full; nil where only the root is asked
	bundles bool                                 // of entries stand beside the tiles: of a log, not of a host index
	size    int64
	edge    [][]tlog.Hash
	bundle  []byte // the one that is not full
}

// openTower restores the tower of a log of a size from its tiles and its last bundle, and demands its root.
func openTower(size int64, root attest.Digest, read func(name string) ([]byte, error)) (*tower, error) {
	t := &tower{bundles: true, size: size}
	for level := 0; size>>(tileHeight*level) > 0; level++ {
		n := size >> (tileHeight * level)
		var edge []tlog.Hash
		if w := int(n % tileWidth); w > 0 {
			name := tilePath(tlog.Tile{H: tileHeight, L: level, N: n / tileWidth, W: w})
			data, err := read(name)
			if err != nil {
				return nil, fmt.Errorf("reading log: %w", err)
			}
			if len(data) != w*tlog.HashSize {
				return nil, fmt.Errorf("reading log: %s has %d bytes", name, len(data))
			}
			for ; len(data) > 0; data = data[tlog.HashSize:] {
				edge = append(edge, tlog.Hash(data[:tlog.HashSize]))
			}
		}
		t.edge = append(t.edge, edge)
	}
	if got, err := t.root(); err != nil || got != root {
		return nil, errors.Join(errors.New("reading log: its tiles do not lead to the root of its checkpoint"), err)
	}
	if w := int(size % tileWidth); w > 0 {
		var err error
		if t.bundle, err = read(bundlePath(size/tileWidth, w)); err != nil {
			return nil, fmt.Errorf("reading log: %w", err)
		}
	}
	return t, nil
}

// add appends a leaf by its hash, and its entry where there are bundles.
func (t *tower) add(entry []byte, leaf attest.Digest) error {
	if t.bundles {
		var err error
		if t.bundle, err = bundleEntry(t.bundle, entry); err != nil {
			return err
		}
	}
	if err := t.addHash(tlog.Hash(leaf)); err != nil {
		return err
	}
	if !t.bundles || t.size%tileWidth > 0 {
		return nil
	}
	full := t.bundle
	t.bundle = t.bundle[:0]
	return t.write(bundlePath(t.size/tileWidth-1, tileWidth), full)
}

func (t *tower) addHash(h tlog.Hash) error {
	t.size++
	for level := 0; ; level++ {
		if level == len(t.edge) {
			t.edge = append(t.edge, nil)
		}
		t.edge[level] = append(t.edge[level], h)
		if len(t.edge[level]) < tileWidth {
			return nil
		}
		if t.write != nil {
			n := t.size>>(tileHeight*(level+1)) - 1
			if err := t.write(tilePath(tlog.Tile{H: tileHeight, L: level, N: n, W: tileWidth}), joinHashes(t.edge[level])); err != nil {
				return err
			}
		}
		h = foldHashes(t.edge[level])
		t.edge[level] = t.edge[level][:0]
	}
}

// flush tells write of the bundle and the tiles that are not full.
func (t *tower) flush() error {
	if len(t.bundle) > 0 {
		if err := t.write(bundlePath(t.size/tileWidth, int(t.size%tileWidth)), t.bundle); err != nil {
			return err
		}
	}
	for level, edge := range t.edge {
		if len(edge) == 0 {
			continue
		}
		tile := tlog.Tile{H: tileHeight, L: level, N: t.size >> (tileHeight * (level + 1)), W: len(edge)}
		if err := t.write(tilePath(tile), joinHashes(edge)); err != nil {
			return err
		}
	}
	return nil
}

// root is the tree hash of what was added so far.
func (t *tower) root() (attest.Digest, error) {
	if t.size == 0 {
		return attest.MerkleRoot(nil), nil
	}
	h, err := tlog.TreeHash(t.size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			// All that the root of a tree needs stands on its right edge.
			tile := tlog.TileForIndex(tileHeight, i)
			if tile.L >= len(t.edge) || tile.N != t.size>>(tileHeight*(tile.L+1)) {
				return nil, fmt.Errorf("computing root: hash %d is not on the edge", i)
			}
			h, err := tlog.HashFromTile(tlog.Tile{H: tileHeight, L: tile.L, N: tile.N, W: len(t.edge[tile.L])}, joinHashes(t.edge[tile.L]), i)
			if err != nil {
				return nil, err
			}
			out = append(out, h)
		}
		return out, nil
	}))
	return attest.Digest(h), err
}

func joinHashes(hs []tlog.Hash) []byte {
	out := make([]byte, 0, len(hs)*tlog.HashSize)
	for _, h := range hs {
		out = append(out, h[:]...)
	}
	return out
}

// foldHashes is the root over a full tile.
func foldHashes(hs []tlog.Hash) tlog.Hash {
	row := append([]tlog.Hash(nil), hs...)
	for len(row) > 1 {
		for i := range len(row) / 2 {
			row[i] = tlog.NodeHash(row[2*i], row[2*i+1])
		}
		row = row[:len(row)/2]
	}
	return row[0]
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

func inLog(name string) string { return path.Join("log", name) }

// bundleLength is how many bytes the first n entries of a bundle have, -1 if it has fewer.
func bundleLength(bundle []byte, n int) int {
	at := 0
	for range n {
		if at+2 > len(bundle) {
			return -1
		}
		at += 2 + int(bundle[at])<<8 + int(bundle[at+1])
	}
	return at
}
