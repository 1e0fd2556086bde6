package tlog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strconv"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"store.example/agentstore/corpus/attest"
)

// Log is the transparency log of the record, opened read-only at its last checkpoint: C2SP
// tlog-tiles under log/. Its leaves are the exact bytes of rows and of observations, a record of
// each round and the root of each round's host index. Hashes are read from tiles and checked
// against the checkpoint's root. A Log may be used by several goroutines at once.
type Log struct {
	fsys  fs.FS
	head  Checkpoint
	kept  tileCache
	edges edgeCache
}

// Open opens the log of a record, whose key the ring tells for each size. A record without a
// checkpoint has an empty log.
func Open(fsys fs.FS, ring attest.Ring) (*Log, error) {
	raw, err := fs.ReadFile(fsys, Path("checkpoint"))
	if errors.Is(err, fs.ErrNotExist) {
		l := &Log{fsys: fsys, head: Checkpoint{Root: attest.MerkleRoot(nil)}}
		return l, l.handedOver(ring)
	}
	if err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	head, others, err := OpenCheckpoint(raw, ring)
	if err != nil {
		return nil, err
	}
	if len(others) > 0 {
		return nil, errors.New("opening checkpoint: lines that are not the log's")
	}
	return OpenHead(fsys, head, ring)
}

// OpenHead opens the log at a head that OpenCheckpoint opened with the ring, where the log itself
// says another one now, or further lines stand under it.
func OpenHead(fsys fs.FS, head Checkpoint, ring attest.Ring) (*Log, error) {
	l := &Log{fsys: fsys, head: head}
	return l, l.handedOver(ring)
}

// OpenAt is a tree of tiles of a size and a root that the caller knows, without checkpoints: such
// as a host index.
func OpenAt(fsys fs.FS, size int64, root attest.Digest) *Log {
	return &Log{fsys: fsys, head: Checkpoint{Size: size, Root: root}}
}

// handedOver demands that the log goes on from every head at which its key changed hands.
func (l *Log) handedOver(ring attest.Ring) error {
	for _, at := range ring.LogHandovers() {
		if at.Size > l.head.Size {
			return fmt.Errorf("opening log: its key was handed over at %d leaves, and it has %d: leaves are missing, "+
				"or the ring is of a later time", at.Size, l.head.Size)
		}
		root, err := l.Root(at.Size)
		if err != nil {
			return fmt.Errorf("opening log: %w", err)
		}
		if root != at.Root {
			return fmt.Errorf("opening log: rewritten: its key was handed over at %d leaves with root %s, and there "+
				"it has %s", at.Size, at.Root, root)
		}
	}
	return nil
}

// Head is the log's last checkpoint.
func (l *Log) Head() Checkpoint { return l.head }

func (l *Log) read(name string) ([]byte, error) { return fs.ReadFile(l.fsys, Path(name)) }

// tiles reads tiles for package tlog, which authenticates them.
type tiles struct{ l *Log }

func (tiles) Height() int { return tileHeight }

// SaveTiles is told of tiles that were checked.
func (t tiles) SaveTiles(checked []sumdb.Tile, data [][]byte) {
	for i, tile := range checked {
		t.l.kept.keep(tile, data[i])
	}
}

func (t tiles) ReadTiles(want []sumdb.Tile) (out [][]byte, err error) {
	for _, tile := range want {
		data, err := t.l.read(tilePath(tile))
		if err != nil {
			return nil, fmt.Errorf("reading log: %w", err)
		}
		out = append(out, data)
	}
	return out, nil
}

func (l *Log) hashes() sumdb.HashReader {
	return cachedHashes{&l.kept, sumdb.TileHashReader(sumdb.Tree{N: l.head.Size, Hash: sumdb.Hash(l.head.Root)},
		tiles{l})}
}

// Root is the root that the log had at an earlier size.
func (l *Log) Root(size int64) (attest.Digest, error) {
	if size < 0 || size > l.head.Size {
		return attest.Digest{}, fmt.Errorf("computing root: size %d of a log of %d", size, l.head.Size)
	}
	if size == 0 {
		return attest.MerkleRoot(nil), nil
	}
	h, err := sumdb.TreeHash(size, l.hashes())
	return attest.Digest(h), err
}

// Consistency proves that the log of size from is the beginning of the log of size to; from is at
// least 1.
func (l *Log) Consistency(from, to int64) ([]attest.Digest, error) {
	if from < 1 || from > to || to > l.head.Size {
		return nil, fmt.Errorf("proving consistency: from %d to %d of %d", from, to, l.head.Size)
	}
	p, err := sumdb.ProveTree(to, from, l.hashes())
	return as[attest.Digest](p), err
}

// as gives hashes the type of another package.
func as[To, From ~[sumdb.HashSize]byte](hashes []From) []To {
	out := make([]To, len(hashes))
	for i, h := range hashes {
		out[i] = To(h)
	}
	return out
}

// CheckConsistency verifies what Consistency proved.
func CheckConsistency(proof []attest.Digest, from, to Checkpoint) error {
	if from.Origin != to.Origin {
		return fmt.Errorf("checking consistency: of %s and %s", from.Origin, to.Origin)
	}
	if from.Size == 0 {
		return nil
	}
	return sumdb.CheckTree(as[sumdb.Hash](proof), to.Size, sumdb.Hash(to.Root), from.Size, sumdb.Hash(from.Root))
}

// CheckInclusion verifies what Inclusion proved of the leaf with a hash.
func CheckInclusion(proof []attest.Digest, size int64, root attest.Digest, index int64, leaf attest.Digest) error {
	return sumdb.CheckRecord(as[sumdb.Hash](proof), size, sumdb.Hash(root), index, sumdb.Hash(leaf))
}

// Entry returns the bytes of one leaf, checked against the log.
func (l *Log) Entry(index int64) ([]byte, error) {
	if index < 0 || index >= l.head.Size {
		return nil, fmt.Errorf("reading leaf %d: of %d", index, l.head.Size)
	}
	entries, err := l.Bundle(index, index+1)
	if err != nil {
		return nil, err
	}
	return entries[0], nil
}

// Bundle returns the bytes of the leaves from first up to behind, which stand in one bundle, each
// checked against the log.
func (l *Log) Bundle(first, behind int64) ([][]byte, error) {
	n := first / TileWidth
	if first < 0 || first >= behind || behind > min(l.head.Size, (n+1)*TileWidth) {
		return nil, fmt.Errorf("reading leaves %d up to %d: not of one bundle of %d", first, behind, l.head.Size)
	}
	name := bundlePath(n, int(min(TileWidth, l.head.Size-n*TileWidth)))
	data, err := l.read(name)
	if err != nil {
		return nil, fmt.Errorf("reading leaf %d: %w", first, err)
	}
	entries, err := splitBundle(data)
	if err != nil || int64(len(entries)) < behind-n*TileWidth {
		return nil, errors.Join(fmt.Errorf("reading leaf %d: %s is damaged", first, name), err)
	}
	entries = entries[first-n*TileWidth : behind-n*TileWidth]
	indexes := make([]int64, len(entries))
	for i := range entries {
		indexes[i] = sumdb.StoredHashIndex(0, first+int64(i))
	}
	hashes, err := l.hashes().ReadHashes(indexes)
	for i, entry := range entries {
		if err != nil || hashes[i] != sumdb.RecordHash(entry) {
			return nil, errors.Join(fmt.Errorf("reading leaf %d: %s is not what was logged", first+int64(i), name), err)
		}
	}
	return entries, nil
}

// Entries yields the bytes of all leaves in order, with one bundle in memory. That they are the
// log's shows at their end: an error behind them says that they do not count.
func (l *Log) Entries() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var t Tower
		for n := int64(0); n*TileWidth < l.head.Size; n++ {
			width := int(min(TileWidth, l.head.Size-n*TileWidth))
			name := bundlePath(n, width)
			data, err := l.read(name)
			var entries [][]byte
			if err == nil {
				entries, err = splitBundle(data)
			}
			if err == nil && len(entries) != width {
				err = fmt.Errorf("%d entries instead of %d", len(entries), width)
			}
			if err != nil {
				yield(nil, fmt.Errorf("reading %s: %w", name, err))
				return
			}
			for _, entry := range entries {
				if err := t.Add(nil, attest.LeafHash(entry)); err != nil {
					yield(nil, err)
					return
				}
				if !yield(entry, nil) {
					return
				}
			}
		}
		root, err := t.Root()
		if err == nil && root != l.head.Root {
			err = errors.New("reading entries: they are not what was logged")
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Checkpoint returns the signed checkpoint that was published at exactly a size.
func (l *Log) Checkpoint(size int64, ring attest.Ring) (Checkpoint, error) {
	raw, err := l.read("checkpoints/" + strconv.FormatInt(size, 10))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("reading checkpoint: %w", err)
	}
	c, _, err := OpenCheckpoint(raw, ring)
	if err == nil && c.Size != size {
		err = fmt.Errorf("reading checkpoint: of size %d in place of %d", c.Size, size)
	}
	return c, err
}

// Published returns the bytes to serve as the checkpoint: with the cosignatures that were collected
// for it, if any.
func (l *Log) Published() ([]byte, error) {
	lines, err := l.cosigned(l.head.Size)
	return append(append([]byte(nil), l.head.Raw...), lines...), err
}

func (l *Log) cosigned(size int64) ([]byte, error) {
	lines, err := l.read("cosignatures/" + strconv.FormatInt(size, 10))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return lines, err
}

// WitnessRequest is the body of a request to a witness that saw the log at size old, 0 for never:
// what c2sp.org/tlog-witness calls add-checkpoint. Its answer goes to Log.Cosign.
func (l *Log) WitnessRequest(old int64) ([]byte, error) {
	body := fmt.Appendf(nil, "old %d\n", old)
	if old > 0 {
		proof, err := l.Consistency(old, l.head.Size)
		if err != nil {
			return nil, err
		}
		for _, h := range proof {
			body = fmt.Appendf(body, "%s\n", base64.StdEncoding.EncodeToString(h[:]))
		}
	}
	return append(append(body, '\n'), l.head.Raw...), nil
}
