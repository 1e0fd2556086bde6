package view

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"sort"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
)

// A tree is a sorted map on disk that is written once, front to back, and read without being held:
// compressed blocks of entries, and above them blocks that name others by first key, place and
// SHA-256, up to one root. A damaged byte is therefore an error wherever it is, and a look-up reads
// one block of each level. A large tree is several files.

// blockBytes is how many bytes of entries are gathered into a block, before compression.
const blockBytes = 8 << 10

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
	packer  *flate.Writer
	packed  bytes.Buffer
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
	t.packed.Reset()
	if t.packer == nil {
		t.packer, _ = flate.NewWriter(&t.packed, flate.BestSpeed) // fails for levels that there are not
	} else {
		t.packer.Reset(&t.packed)
	}
	_, err := t.packer.Write(t.levels[n].buf)
	if err = errors.Join(err, t.packer.Close()); err != nil {
		return blockRef{}, err
	}
	ref := blockRef{Offset: t.at, Size: int64(t.packed.Len()), SHA256: sha256.Sum256(t.packed.Bytes())}
	t.at += ref.Size
	t.levels[n].buf = t.levels[n].buf[:0]
	t.levels[n].written++
	_, err = t.w.Write(t.packed.Bytes())
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

// tree reads what a treeWriter wrote.
type tree struct {
	fsys   fs.FS
	dir    string
	shards []shard
}

// get returns the value of a key.
func (t *tree) get(key string) ([]byte, bool, error) {
	for e, err := range t.from(key) {
		return e.value, err == nil && e.key == key, err
	}
	return nil, false, nil
}

// from yields the entries from the first that is not before key, in order, until an error.
func (t *tree) from(key string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		at := max(0, sort.Search(len(t.shards), func(i int) bool { return t.shards[i].First > key })-1)
		for _, s := range t.shards[at:] {
			if !t.shard(s, key, yield) {
				return
			}
		}
	}
}

// shard yields the entries of one file and reports whether to go on.
func (t *tree) shard(s shard, key string, yield func(entry, error) bool) bool {
	fail := func(err error) bool {
		yield(entry{}, fmt.Errorf("reading view: %s: %w", path.Join(t.dir, s.File), err))
		return false
	}
	f, err := t.fsys.Open(path.Join(t.dir, s.File))
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	r, ok := f.(io.ReaderAt)
	if !ok {
		return fail(errors.New("files of this kind cannot be read from within"))
	}
	var walk func(ref blockRef, depth int) bool
	walk = func(ref blockRef, depth int) bool {
		entries, err := readBlock(r, ref)
		if err != nil {
			return fail(err)
		}
		// Of references, the one that may hold the key is the last that begins at or before it.
		i := sort.Search(len(entries), func(i int) bool { return entries[i].key >= key })
		if depth > 0 && (i == len(entries) || entries[i].key > key) {
			i = max(0, i-1)
		}
		for _, e := range entries[i:] {
			if depth == 0 {
				if !yield(e, nil) {
					return false
				}
				continue
			}
			child, err := decodeRef(e.value)
			if err != nil {
				return fail(err)
			}
			if !walk(child, depth-1) {
				return false
			}
		}
		return true
	}
	return walk(s.Root, s.Depth)
}

// errDamaged is a block that is not what was written.
var errDamaged = errors.New("a block is damaged; remove the folder of views and build it anew")

// readBlock reads one block and demands that it is what its reference says.
func readBlock(r io.ReaderAt, ref blockRef) ([]entry, error) {
	packed := make([]byte, ref.Size)
	if _, err := r.ReadAt(packed, ref.Offset); err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	if sha256.Sum256(packed) != ref.SHA256 {
		return nil, errDamaged
	}
	plain, err := unpack(packed)
	if err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	text := string(plain) // of which keys are parts: one piece of memory for all of a block
	entries := make([]entry, 0, 64)
	c := cursor{rest: plain}
	for len(c.rest) > 0 {
		n := c.number()
		at := len(plain) - len(c.rest)
		key := c.take(n)
		entries = append(entries, entry{text[at : at+len(key)], c.take(c.number())})
	}
	return entries, c.end()
}

// unpacker is what a block is decompressed with, whose tables and window cost more than a block.
type unpacker struct {
	from  bytes.Reader
	plain bytes.Buffer
	flate io.ReadCloser
}

var unpackers = sync.Pool{New: func() any { return &unpacker{flate: flate.NewReader(bytes.NewReader(nil))} }}

// unpack decompresses a block.
func unpack(packed []byte) ([]byte, error) {
	u := unpackers.Get().(*unpacker)
	defer unpackers.Put(u)
	u.from.Reset(packed)
	u.plain.Reset()
	if err := u.flate.(flate.Resetter).Reset(&u.from, nil); err != nil {
		return nil, err
	}
	if _, err := u.plain.ReadFrom(u.flate); err != nil {
		return nil, err
	}
	return bytes.Clone(u.plain.Bytes()), nil
}
