package view

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// A tree is a sorted map on disk that is written once, front to back, and read without being held:
// compressed blocks of entries, and above them blocks that name others by first key, place and
// SHA-256, up to one root, which are digests for the most part and stand as they are. A damaged
// byte is therefore an error wherever it is, and a look-up reads one block of each level. A large
// tree is several files.

// blockBytes is how many bytes of entries are gathered into a block, before compression.
const blockBytes = 8 << 10

// packer and unpacker compress blocks of entries and decompress them, for any number at once.
var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)) // neither fails with these options
)

// blockRef is where a block stands in its file, and what it is.
type blockRef struct {
	Offset int64         `json:"offset"`
	Size   int64         `json:"size"`
	SHA256 attest.Digest `json:"sha256"`
}

func (b blockRef) encode() []byte {
	v := binary.AppendUvarint(nil, uint64(b.Offset))
	v = binary.AppendUvarint(v, uint64(b.Size))
	return append(v, b.SHA256[:]...)
}

func decodeRef(v []byte) (b blockRef, err error) {
	c := cursor{rest: v}
	b.Offset, b.Size = int64(c.number()), int64(c.number())
	copy(b.SHA256[:], c.take(uint64(len(b.SHA256))))
	return b, c.end()
}

// shard is one file of a tree.
type shard struct {
	File  string   `json:"file"`
	First string   `json:"first"` // key
	Depth int      `json:"depth"` // levels above the entries
	Root  blockRef `json:"root"`
}

// entry is one key with its value.
type entry struct {
	key   string
	value []byte
}

func appendEntry(b []byte, e entry) []byte {
	b = binary.AppendUvarint(b, uint64(len(e.key)))
	b = append(b, e.key...)
	b = binary.AppendUvarint(b, uint64(len(e.value)))
	return append(b, e.value...)
}

// cursor reads what was written with uvarints; a read beyond the end makes all that follows empty.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) number() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.bad, c.rest = true, nil
		return nil
	}
	out := c.rest[:n:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cursor) end() error {
	if c.bad || len(c.rest) > 0 {
		return errors.New("it is not in the form of a view")
	}
	return nil
}

// treeWriter writes a tree from entries in ascending order of their keys.
type treeWriter struct {
	root   *os.Root
	name   string // of its files, before their number
	most   int64  // bytes of a file, after which the next one is begun
	shards []shard

	file    *os.File
	w       *bufio.Writer
	at      int64
	levels  []level
	entries int64
	last    string
	packed  []byte
}

// level is the block that is being filled in one level of a tree.
type level struct {
	first   string
	buf     []byte
	written int64 // blocks of this level that are in the file
}

func (t *treeWriter) add(key string, value []byte) error {
	if t.entries > 0 && key <= t.last {
		return fmt.Errorf("writing %s: %w: %q", t.name, record.ErrOrder, key)
	}
	if t.file != nil && t.at >= t.most {
		if err := t.finishShard(); err != nil {
			return err
		}
	}
	if t.file == nil {
		s := shard{File: fmt.Sprintf("%s-%04d", t.name, len(t.shards)+1), First: key}
		f, err := t.root.OpenFile(s.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
		if err != nil {
			return fmt.Errorf("writing view: %w", err)
		}
		t.file, t.w, t.at, t.levels = f, bufio.NewWriterSize(f, 256<<10), 0, nil
		t.shards = append(t.shards, s)
	}
	t.entries, t.last = t.entries+1, key
	return t.put(0, entry{key, value})
}

func (t *treeWriter) put(n int, e entry) error {
	if n == len(t.levels) {
		t.levels = append(t.levels, level{})
	}
	l := &t.levels[n]
	// Two entries stand in every block of references, so that levels shrink.
	if len(l.buf) > 0 && len(l.buf)+len(e.key)+len(e.value) > blockBytes {
		if err := t.flush(n); err != nil {
			return err
		}
		l = &t.levels[n]
	}
	if len(l.buf) == 0 {
		l.first = e.key
	}
	l.buf = appendEntry(l.buf, e)
	return nil
}

// write puts the block of a level into the file.
func (t *treeWriter) write(n int) (blockRef, error) {
	block := t.levels[n].buf
	if n == 0 {
		t.packed = packer.EncodeAll(block, t.packed[:0])
		block = t.packed
	}
	ref := blockRef{Offset: t.at, Size: int64(len(block)), SHA256: sha256.Sum256(block)}
	t.at += ref.Size
	_, err := t.w.Write(block)
	t.levels[n].buf = t.levels[n].buf[:0]
	t.levels[n].written++
	return ref, err
}

func (t *treeWriter) flush(n int) error {
	ref, err := t.write(n)
	if err != nil {
		return fmt.Errorf("writing view: %w", err)
	}
	return t.put(n+1, entry{t.levels[n].first, ref.encode()})
}

// finishShard writes what is open of each level, the root last.
func (t *treeWriter) finishShard() (err error) {
	for n := 0; n < len(t.levels)-1 || t.levels[n].written > 0; n++ {
		if err := t.flush(n); err != nil {
			return errors.Join(err, t.close())
		}
	}
	s := &t.shards[len(t.shards)-1]
	s.Depth = len(t.levels) - 1
	s.Root, err = t.write(s.Depth)
	err = errors.Join(err, t.w.Flush(), t.file.Sync(), t.close())
	if err != nil {
		return fmt.Errorf("writing view: %w", err)
	}
	return nil
}

// finish completes the tree.
func (t *treeWriter) finish() ([]shard, error) {
	if t.file == nil {
		return []shard{}, nil
	}
	return t.shards, t.finishShard()
}

// close gives up the open file, if there is one.
func (t *treeWriter) close() error {
	if t.file == nil {
		return nil
	}
	f := t.file
	t.file = nil
	return f.Close()
}

// errDamaged is a block that is not what was written.
var errDamaged = errors.New("a block is damaged; remove the folder of views and build it anew")

// tree reads what a treeWriter wrote. A file that was asked is kept open until nobody has the tree.
type tree struct {
	fsys   fs.FS
	dir    string
	shards []shard
	files  []shardFile // one of each shard
}

// shardFile is the open file of a shard.
type shardFile struct {
	mu          sync.Mutex
	io.ReaderAt // nil until the first look-up

	// The blocks of references to references, by their offsets: one of 8 KiB for the rows of some
	// 200,000 hosts.
	upper sync.Map
}

func newTree(fsys fs.FS, dir string, shards []shard) tree {
	return tree{fsys, dir, shards, make([]shardFile, len(shards))}
}

// file is the open file of a shard.
func (t *tree) file(i int) (*shardFile, error) {
	kept := &t.files[i]
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.ReaderAt != nil {
		return kept, nil
	}
	f, err := t.fsys.Open(path.Join(t.dir, t.shards[i].File))
	if err != nil {
		return nil, err
	}
	r, ok := f.(io.ReaderAt)
	if !ok {
		return nil, errors.Join(errors.New("files of this kind cannot be read from within"), f.Close())
	}
	kept.ReaderAt = r
	return kept, nil
}

// get appends the value of a key.
func (t *tree) get(into []byte, key string) (value []byte, found bool, err error) {
	for e, err := range t.from(key) {
		if err != nil || e.key != key { // what stands behind the key
			return into, false, err
		}
		return append(into, e.value...), true, nil
	}
	return into, false, nil
}

// from yields the entries from the first that is not before key, in order, until an error. Their
// values are lent until the next is asked for.
func (t *tree) from(key string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		at := max(0, sort.Search(len(t.shards), func(i int) bool { return t.shards[i].First > key })-1)
		for ; at < len(t.shards); at++ {
			if !t.shard(at, key, yield) {
				return
			}
		}
	}
}

// shard yields the entries of one file and reports whether to go on.
func (t *tree) shard(n int, key string, yield func(entry, error) bool) bool {
	s := t.shards[n]
	fail := func(err error) bool {
		yield(entry{}, fmt.Errorf("reading view: %s: %w", path.Join(t.dir, s.File), err))
		return false
	}
	f, err := t.file(n)
	if err != nil {
		return fail(err)
	}
	plain := rooms.Get().(*[]byte)
	defer rooms.Put(plain)
	var walk func(ref blockRef, depth int) bool
	descend := func(value []byte, depth int) bool {
		child, err := decodeRef(value)
		if err != nil {
			return fail(err)
		}
		return walk(child, depth)
	}
	walk = func(ref blockRef, depth int) bool {
		room := rooms.Get().(*[]byte)
		defer rooms.Put(room)
		block, err := f.block(ref, depth, room, plain)
		if err != nil {
			return fail(errors.Join(errDamaged, err))
		}
		var before []byte // the reference before, into which nobody has looked
		for c := (cursor{rest: block}); len(c.rest) > 0; {
			first, value := c.take(c.number()), c.take(c.number())
			switch {
			case c.bad:
				return fail(errDamaged)
			case depth == 0 && string(first) >= key && !yield(entry{string(first), value}, nil):
				return false
			// Of references, the one that may hold the key is the last that begins at or before it.
			case depth > 0 && before != nil && string(first) > key && !descend(before, depth-1):
				return false
			}
			before = value
		}
		return depth == 0 || descend(before, depth-1)
	}
	return walk(s.Root, s.Depth)
}

// rooms are memory that blocks are read into.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// block returns a block of references, which may stand in room, or at depth 0 one of entries, which
// stands in plain, until that is used again.
func (f *shardFile) block(ref blockRef, depth int, room, plain *[]byte) ([]byte, error) {
	if depth > 1 {
		if kept, ok := f.upper.Load(ref.Offset); ok {
			return kept.([]byte), nil
		}
		room = new([]byte)
	}
	block, err := f.read(ref, room)
	switch {
	case err != nil:
		return nil, err
	case depth == 0:
		*plain, err = unpacker.DecodeAll(block, (*plain)[:0])
		return *plain, err
	case depth > 1:
		f.upper.Store(ref.Offset, block)
	}
	return block, nil
}

// read reads one block into room and demands that it is what its reference says.
func (f *shardFile) read(ref blockRef, room *[]byte) ([]byte, error) {
	*room = slices.Grow((*room)[:0], int(ref.Size))[:ref.Size]
	if _, err := f.ReadAt(*room, ref.Offset); err != nil {
		return nil, err
	}
	if sha256.Sum256(*room) != ref.SHA256 {
		return nil, errors.New("its digest is another")
	}
	return *room, nil
}
