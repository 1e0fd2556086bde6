package bulk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
)

// The log's files at any earlier size follow from those of today: full tiles never change, and a
// tile that was not full is the beginning of what it grew into (c2sp.org/tlog-tiles).

const (
	tileWidth = 256
	hashSize  = 32
	entries   = "entries" // the level that holds the leaves themselves
)

// tile is one file of the log.
type tile struct {
	level string
	n     int64
	width int // 1 to 256
}

// path of the tile in a record.
func (t tile) path() string {
	name := fmt.Sprintf("%03d", t.n%1000)
	for n := t.n / 1000; n > 0; n /= 1000 {
		name = fmt.Sprintf("x%03d/%s", n%1000, name)
	}
	if t.width < tileWidth {
		name += ".p/" + strconv.Itoa(t.width)
	}
	return path.Join("log/tile", t.level, name)
}

// levels calls visit for each level of a log of a size with the number of its hashes.
func levels(size int64, visit func(level string, hashes int64)) {
	if size > 0 {
		visit(entries, size)
	}
	for l := 0; size > 0; l++ {
		visit(strconv.Itoa(l), size)
		size /= tileWidth
	}
}

// grown are the tiles that became full while the log grew from one size to another.
func grown(from, to int64) (out []tile) {
	had := make(map[string]int64)
	levels(from, func(level string, hashes int64) { had[level] = hashes / tileWidth })
	levels(to, func(level string, hashes int64) {
		for n := had[level]; n < hashes/tileWidth; n++ {
			out = append(out, tile{level, n, tileWidth})
		}
	})
	return out
}

// partial are the tiles that are not full in a log of a size.
func partial(size int64) (out []tile) {
	levels(size, func(level string, hashes int64) {
		if w := int(hashes % tileWidth); w > 0 {
			out = append(out, tile{level, hashes / tileWidth, w})
		}
	})
	return out
}

// readTile reads a tile of an earlier size out of a log that has grown to size.
func readTile(fsys fs.FS, t tile, size int64) ([]byte, error) {
	now := tile{t.level, t.n, tileWidth}
	for _, p := range partial(size) {
		if p.level == t.level && p.n == t.n {
			now = p
		}
	}
	raw, err := fs.ReadFile(fsys, now.path())
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	end := t.width * hashSize
	if t.level == entries {
		end = 0
		for range t.width {
			if end+2 > len(raw) {
				break
			}
			end += 2 + int(binary.BigEndian.Uint16(raw[end:]))
		}
	}
	if end > len(raw) || now.width < t.width {
		return nil, fmt.Errorf("reading the log: %s: %w", now.path(), errors.New("too short"))
	}
	return raw[:end:end], nil
}
