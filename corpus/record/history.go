package record

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"

	"store.example/agentstore/corpus/attest"
)

// History is all that the record holds about one host, oldest row first.
type History struct {
	Host string
	Rows []StoredRow
}

// Histories yields every host of the record, sorted by its bytes, with all its rows. Memory does
// not follow the number of hosts. What it yields counts only if no error came behind it, see
// RawHistories.
func (r *Record) Histories() iter.Seq2[History, error] {
	return func(yield func(History, error) bool) {
		for raw, err := range r.RawHistories() {
			var h History
			if err == nil {
				h, err = raw.Parse()
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// RawHistory is a History whose rows have not been parsed, which takes longer than finding and
// hashing them.
type RawHistory struct {
	Host string
	Rows []RawRow
}

// RawRow is the exact bytes of a row with its place in the log.
type RawRow struct {
	Raw  []byte
	Leaf int64
	of   *Round
}

// Parse reads the rows.
func (h RawHistory) Parse() (History, error) {
	out := History{Host: h.Host, Rows: make([]StoredRow, len(h.Rows))}
	for i, r := range h.Rows {
		row, err := r.of.parseRow(r.Raw, r.Leaf)
		if err != nil {
			return History{}, err
		}
		if row.Host != h.Host {
			return History{}, fmt.Errorf("reading row of %s in round %d: it is of %s", h.Host, row.Sequence, row.Host)
		}
		out.Rows[i] = row
	}
	return out, nil
}

// RawHistories yields what Histories yields. Each may be parsed by another goroutine, and kept. A
// part is read as a stream: that it is not what its round commits to may show only after some of
// its rows were yielded, and is the last error then.
func (r *Record) RawHistories() iter.Seq2[RawHistory, error] {
	return func(yield func(RawHistory, error) bool) {
		cursors := make([]*rowCursor, len(r.rounds))
		for i := range r.rounds {
			cursors[i] = newRowCursor(r, &r.rounds[i])
			defer cursors[i].close() // it was only read
			if err := cursors[i].next(); err != nil {
				yield(RawHistory{}, err)
				return
			}
		}
		for {
			var low []byte
			for _, c := range cursors {
				if c.host != nil && (low == nil || bytes.Compare(c.host, low) < 0) {
					low = c.host
				}
			}
			if low == nil {
				return
			}
			h := RawHistory{Host: string(low)}
			for _, c := range cursors {
				if string(c.host) != h.Host {
					continue
				}
				h.Rows = append(h.Rows, RawRow{Raw: bytes.Clone(c.raw), Leaf: c.leaf, of: c.of})
				if err := c.next(); err != nil {
					yield(RawHistory{}, err)
					return
				}
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

// rowCursor stands at a row of a round. It reads a part as a stream and checks it against the
// header where the part ends: what was read of it counts only then.
type rowCursor struct {
	fsys fs.FS
	of   *Round
	part int     // the one that is read, counted from 0
	file fs.File // of the part, nil before the first one
	read *bufio.Reader
	sum  hash.Hash // of the part
	rows int64     // read of the part
	raw  []byte    // the row
	host []byte    // of the row; nil behind the last one
	leaf int64
}

func newRowCursor(r *Record, round *Round) *rowCursor {
	return &rowCursor{fsys: r.fsys, of: round, leaf: round.FirstLeaf - 1,
		read: bufio.NewReaderSize(nil, MaxRow+1), sum: sha256.New()}
}

// next goes to the next row. What the row before held is no longer valid.
func (c *rowCursor) next() error {
	if err := c.step(); err != nil {
		return fmt.Errorf("%s: %w", PartPath(c.of.Sequence, c.part), err)
	}
	return nil
}

func (c *rowCursor) step() error {
	for {
		if c.file == nil {
			if c.part == len(c.of.Parts) {
				c.host = nil
				return nil
			}
			if err := c.open(); err != nil {
				return err
			}
		}
		line, err := c.read.ReadSlice('\n')
		switch {
		case err == nil:
			c.raw = line[:len(line)-1]
			c.rows++
			c.leaf++
			c.host, err = hostOf(c.raw)
			return err
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("reading part: a row is larger than %d bytes", MaxRow)
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("reading part: %w", err)
		}
		if err := errors.Join(c.check(len(line)), c.close()); err != nil {
			return err
		}
		c.part++
	}
}

func (c *rowCursor) open() (err error) {
	if c.file, err = c.fsys.Open(PartPath(c.of.Sequence, c.part)); err != nil {
		return fmt.Errorf("reading part: %w", err)
	}
	c.rows = 0
	c.sum.Reset()
	c.read.Reset(io.TeeReader(c.file, c.sum))
	return nil
}

// check compares what was read with what the header commits to. rest is how many bytes stood behind
// the last newline.
func (c *rowCursor) check(rest int) error {
	p := c.of.Parts[c.part]
	switch {
	case attest.Digest(c.sum.Sum(nil)) != p.SHA256:
		return errPartDigest
	case rest > 0:
		return errPartNewline
	case c.rows != p.Rows:
		return fmt.Errorf("reading part: %d rows instead of %d", c.rows, p.Rows)
	}
	return nil
}

func (c *rowCursor) close() error {
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	return err
}

// hostOf finds the host in a canonical row.
func hostOf(raw []byte) ([]byte, error) {
	_, rest, ok := bytes.Cut(raw, []byte(`,"host":"`))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 {
		return nil, errors.New("reading row: no host")
	}
	return rest[:end], nil
}
