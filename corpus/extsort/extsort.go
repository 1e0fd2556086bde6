// Package extsort sorts records that need not fit into memory: they gather in a buffer, full
// buffers are sorted and written to a temporary file as runs, and reading merges the runs. The
// buffer is made of chunks, since one that grows is there twice while it does.
//
//	s := extsort.New(8 << 20)
//	defer s.Close()
//	err := s.Add(key, value)
//	for r, err := range s.Sorted() { … }
package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
)

// Record is a key with what belongs to it. Both are valid until the next one is asked for.
type Record struct{ Key, Value []byte }

// Sorter gathers records and yields them sorted by the bytes of their keys; records with equal keys
// come in the order in which they were added. It is for one goroutine at a time.
type Sorter struct {
	memory int
	chunks [][]byte // the buffer
	free   [][]byte // chunks of buffers before it
	size   int      // bytes of records in the buffer
	refs   []ref
	sorted bool     // the buffer is
	file   *os.File // of the runs, nil while none was written
	runs   []run
	end    int64
	n      int64
}

// ref is a record in the buffer: its chunk, its place there and its lengths.
type ref struct{ chunk, at, key, value uint32 }

// A chunk has as many bytes as the buffer before it, within these.
const leastChunk, mostChunk = 4 << 10, 1 << 20

type run struct{ at, size int64 }

// New returns a sorter that holds about so many bytes of records in memory.
func New(memory int) *Sorter { return &Sorter{memory: memory} }

// Len is how many records were added.
func (s *Sorter) Len() int64 { return s.n }

// Add copies a record.
func (s *Sorter) Add(key, value []byte) error {
	const overhead = 16 // of a ref
	n := len(key) + len(value)
	if n > math.MaxUint32 {
		return fmt.Errorf("sorting: a record of %d bytes, want at most %d", n, math.MaxUint32)
	}
	if s.size+n+overhead*(len(s.refs)+1) > s.memory && len(s.refs) > 0 {
		if err := s.spill(); err != nil {
			return fmt.Errorf("sorting on disk: %w", err)
		}
	}
	s.sorted = false
	chunk := s.room(n)
	s.refs = append(s.refs, ref{uint32(len(s.chunks) - 1), uint32(len(*chunk)), uint32(len(key)), uint32(len(value))})
	*chunk = append(append(*chunk, key...), value...)
	s.size += n
	s.n++
	return nil
}

// room returns the last chunk, in which there is room for so many bytes.
func (s *Sorter) room(n int) *[]byte {
	if last := len(s.chunks) - 1; last >= 0 && cap(s.chunks[last])-len(s.chunks[last]) >= n {
		return &s.chunks[last]
	}
	var chunk []byte
	if last := len(s.free) - 1; last >= 0 {
		chunk, s.free = s.free[last], s.free[:last]
	}
	if chunk == nil || cap(chunk) < n {
		chunk = make([]byte, 0, max(n, min(mostChunk, max(leastChunk, s.size))))
	}
	s.chunks = append(s.chunks, chunk[:0])
	return &s.chunks[len(s.chunks)-1]
}

// record is the key and the value of a record in the buffer.
func (s *Sorter) record(r ref) []byte { return s.chunks[r.chunk][r.at:][:r.key+r.value] }
func (s *Sorter) key(r ref) []byte    { return s.record(r)[:r.key:r.key] }

// sort orders the buffer. The place in it breaks ties, so that equal keys stay in the order of Add.
func (s *Sorter) sort() {
	if s.sorted {
		return
	}
	s.sorted = true
	slices.SortFunc(s.refs, func(a, b ref) int {
		return cmp.Or(bytes.Compare(s.key(a), s.key(b)), cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.at, b.at))
	})
}

// spill writes the buffer as a run.
func (s *Sorter) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "sort-*")
		if err != nil {
			return err
		}
		s.file = f
		// Where an open file may have no name, it goes by itself when the process does.
		_ = os.Remove(f.Name())
	}
	s.sort()
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.end), 64<<10)
	size := int64(0)
	var head []byte
	for _, r := range s.refs {
		head = binary.AppendUvarint(binary.AppendUvarint(head[:0], uint64(r.key)), uint64(r.value))
		w.Write(head)
		w.Write(s.record(r))
		size += int64(len(head) + len(s.record(r)))
	}
	if err := w.Flush(); err != nil { // the writer keeps its first error
		return err
	}
	s.runs = append(s.runs, run{s.end, size})
	s.end += size
	s.free = append(s.free, s.chunks...)
	s.chunks, s.refs, s.size = s.chunks[:0], s.refs[:0], 0
	return nil
}

// Sorted yields all records. It may be called again, and Add may go on after it, but not meanwhile.
func (s *Sorter) Sorted() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s.sort()
		var h merge
		for i, r := range s.runs {
			src := &source{order: i, left: r.size, r: bufio.NewReaderSize(io.NewSectionReader(s.file, r.at, r.size),
				32<<10)}
			if err := h.add(src); err != nil {
				yield(Record{}, fmt.Errorf("sorting on disk: %w", err))
				return
			}
		}
		if err := h.add(&source{order: len(s.runs), s: s}); err != nil {
			yield(Record{}, err)
			return
		}
		heap.Init(&h)
		for len(h) > 0 {
			if !yield(h[0].held, nil) {
				return
			}
			switch err := h[0].next(); {
			case errors.Is(err, io.EOF):
				heap.Pop(&h)
			case err != nil:
				yield(Record{}, fmt.Errorf("sorting on disk: %w", err))
				return
			default:
				heap.Fix(&h, 0)
			}
		}
	}
}

// Close frees the file. The sorter is empty then and may be used again.
func (s *Sorter) Close() error {
	f := s.file
	*s = Sorter{memory: s.memory}
	if f == nil {
		return nil
	}
	err := f.Close()
	if gone := os.Remove(f.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// source is a run, or the buffer, that is being read.
type source struct {
	order int // the later, the newer
	r     *bufio.Reader
	left  int64   // bytes of the run
	s     *Sorter // the buffer
	at    int
	held  Record
	bytes []byte
}

// next reads a record. The end is io.EOF.
func (c *source) next() error {
	if c.s != nil {
		if c.at == len(c.s.refs) {
			return io.EOF
		}
		r := c.s.refs[c.at]
		c.at++
		c.held = Record{c.s.key(r), c.s.record(r)[r.key:]}
		return nil
	}
	if c.left == 0 {
		return io.EOF
	}
	key, err := binary.ReadUvarint(c.r)
	if err != nil {
		return cut(err)
	}
	value, err := binary.ReadUvarint(c.r)
	if err != nil {
		return cut(err)
	}
	c.bytes = slices.Grow(c.bytes[:0], int(key+value))[:key+value]
	if _, err := io.ReadFull(c.r, c.bytes); err != nil {
		return cut(err)
	}
	c.held = Record{c.bytes[:key:key], c.bytes[key:]}
	c.left -= int64(size(key) + size(value) + len(c.bytes))
	return nil
}

// size is the length of a number as it is written.
func size(n uint64) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutUvarint(b[:], n)
}

// cut is the error of a record that ends too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// merge is a heap of sources by what they hold.
type merge []*source

func (m *merge) add(c *source) error {
	err := c.next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	*m = append(*m, c)
	return err
}

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	return cmp.Or(bytes.Compare(m[i].held.Key, m[j].held.Key), cmp.Compare(m[i].order, m[j].order)) < 0
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*source)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
