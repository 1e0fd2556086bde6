// This file sorts records that need not fit into memory: they gather in a buffer, full
// buffers are sorted and written to a temporary file as runs, and reading merges the runs.
//
//	s := newSorter(8 << 20)
//	defer s.Close()
//	err := s.Add(key, value)
//	for r, err := range s.Sorted() { … }

package hostindex

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
	"os"
	"slices"
)

// sortRecord is a key with what belongs to it. Both are valid until the next one is asked for.
type sortRecord struct{ Key, Value []byte }

// sorter gathers records and yields them sorted by the bytes of their keys; records with equal keys
// come in the order in which they were added. It is for one goroutine at a time.
type sorter struct {
	memory int
	buffer []sortRecord
	size   int      // bytes of the buffer
	sorted bool     // the buffer is
	file   *os.File // of the runs, nil while none was written
	runs   []run
	end    int64
	n      int64
}

type run struct{ at, size int64 }

// newSorter returns a sorter that holds about so many bytes of records in memory.
func newSorter(memory int) *sorter { return &sorter{memory: memory} }

// Len is how many records were added.
func (s *sorter) Len() int64 { return s.n }

// Add copies a record.
func (s *sorter) Add(key, value []byte) error {
	const overhead = 64 // of a record: two slices, and what rounding up their memory takes
	n := len(key) + len(value) + overhead
	if s.size+n > s.memory && len(s.buffer) > 0 {
		if err := s.spill(); err != nil {
			return fmt.Errorf("sorting on disk: %w", err)
		}
	}
	both := slices.Concat(key, value)
	s.buffer = append(s.buffer, sortRecord{both[:len(key):len(key)], both[len(key):]})
	s.sorted = false
	s.size += n
	s.n++
	return nil
}

// sort orders the buffer.
func (s *sorter) sort() {
	if !s.sorted {
		slices.SortStableFunc(s.buffer, func(a, b sortRecord) int { return bytes.Compare(a.Key, b.Key) })
	}
	s.sorted = true
}

// spill writes the buffer as a run.
func (s *sorter) spill() error {
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
	for _, r := range s.buffer {
		head := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(r.Key))), uint64(len(r.Value)))
		for _, b := range [][]byte{head, r.Key, r.Value} {
			w.Write(b)
			size += int64(len(b))
		}
	}
	if err := w.Flush(); err != nil { // the writer keeps its first error
		return err
	}
	s.runs = append(s.runs, run{s.end, size})
	s.end += size
	clear(s.buffer)
	s.buffer, s.size = s.buffer[:0], 0
	return nil
}

// Sorted yields all records. It may be called again, and Add may go on after it, but not meanwhile.
func (s *sorter) Sorted() iter.Seq2[sortRecord, error] {
	return func(yield func(sortRecord, error) bool) {
		s.sort()
		var h merge
		for i, r := range s.runs {
			src := &source{order: i, left: r.size, r: bufio.NewReaderSize(io.NewSectionReader(s.file, r.at, r.size),
				32<<10)}
			if err := h.add(src); err != nil {
				yield(sortRecord{}, fmt.Errorf("sorting on disk: %w", err))
				return
			}
		}
		if err := h.add(&source{order: len(s.runs), s: s}); err != nil {
			yield(sortRecord{}, err)
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
				yield(sortRecord{}, fmt.Errorf("sorting on disk: %w", err))
				return
			default:
				heap.Fix(&h, 0)
			}
		}
	}
}

// Close frees the file. The sorter is empty then and may be used again.
func (s *sorter) Close() error {
	f := s.file
	*s = sorter{memory: s.memory}
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
	s     *sorter // the buffer
	at    int
	held  sortRecord
	bytes []byte
}

// next reads a record. The end is io.EOF.
func (c *source) next() error {
	if c.s != nil {
		if c.at == len(c.s.buffer) {
			return io.EOF
		}
		c.held = c.s.buffer[c.at]
		c.at++
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
	c.held = sortRecord{c.bytes[:key:key], c.bytes[key:]}
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
