package record

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
)

// History is all that the record holds about one host, oldest row first.
type History struct {
	Host string
	Rows []StoredRow
}

// Histories yields every host of the record, sorted by its bytes, with all its rows, which are
// parsed on all cores. Memory does not follow the number of hosts: of a history, only strings are
// valid when the next one is asked for, since others are parsed into what held it. What it yields
// counts only if no error came behind it, see RawHistories.
func (r *Record) Histories() iter.Seq2[History, error] { return r.histories(r.rounds) }

// HistoriesOf yields what Histories would of a record with the rounds from one sequence to another
// alone, both of which it has.
func (r *Record) HistoriesOf(first, last int64) iter.Seq2[History, error] {
	return r.histories(r.rounds[first-1 : last])
}

func (r *Record) histories(rounds []Round) iter.Seq2[History, error] {
	return func(yield func(History, error) bool) {
		ctx, stop := context.WithCancel(context.Background())
		var group sync.WaitGroup
		defer group.Wait()
		defer stop()
		var spent sync.Pool // of *parsing
		workers := runtime.GOMAXPROCS(0)
		work, order := make(chan *parsing, 2*workers), make(chan *parsing, 2*workers)
		group.Go(func() {
			defer close(work)
			defer close(order)
			r.gather(ctx, rounds, &spent, func(p *parsing) {
				for _, c := range []chan *parsing{order, work} {
					select {
					case c <- p:
					case <-ctx.Done():
					}
				}
			})
		})
		for range workers {
			group.Go(func() {
				for p := range work {
					p.parse()
				}
			})
		}
		for p := range order {
			<-p.done
			for _, h := range p.histories {
				if !yield(h, nil) {
					return
				}
			}
			if p.err != nil {
				yield(History{}, p.err)
				return
			}
			spent.Put(p)
		}
	}
}

// parsing is a few neighbouring histories on their way.
type parsing struct {
	raw       []RawHistory
	rooms     []HistoryRoom // of the histories
	histories []History
	err       error // behind the histories
	done      chan struct{}
}

// parsedAtOnce is how many histories one worker takes.
const parsedAtOnce = 32

// begin returns one whose memory was used before, if there is one.
func begin(spent *sync.Pool) *parsing {
	p, _ := spent.Get().(*parsing)
	if p == nil {
		p = &parsing{rooms: make([]HistoryRoom, parsedAtOnce)}
	}
	p.raw, p.histories, p.err, p.done = p.raw[:0], p.histories[:0], nil, make(chan struct{})
	return p
}

// gather sends all histories away, a few at once, until there is an error or an end.
func (r *Record) gather(ctx context.Context, rounds []Round, spent *sync.Pool, send func(*parsing)) {
	p := begin(spent)
	for raw, err := range r.rawHistories(rounds) {
		if err != nil {
			p.err = err
			break
		}
		if p.raw = append(p.raw, raw); len(p.raw) == parsedAtOnce {
			send(p)
			p = begin(spent)
		}
		if ctx.Err() != nil {
			return
		}
	}
	send(p)
}

func (p *parsing) parse() {
	defer close(p.done)
	for i, raw := range p.raw {
		h, err := raw.ParseIn(&p.rooms[i])
		if err != nil {
			p.err = err
			return
		}
		p.histories = append(p.histories, h)
	}
}

// RawHistory is a History whose rows have not been parsed, which takes longer than finding and
// hashing them.
type RawHistory struct {
	Host string
	Rows []RawRow
}

// First is the sequence of the round that holds the host's first row.
func (h RawHistory) First() int64 { return h.Rows[0].of.Sequence }

// RawRow is the exact bytes of a row with its place in the log.
type RawRow struct {
	Text string
	Leaf int64
	of   *rowsOf
}

// RawHistories yields what Histories yields. Each may be parsed by another goroutine, and kept. A
// part is read as a stream: that it is not what its round commits to may show only after some of
// its rows were yielded, and is the last error then.
func (r *Record) RawHistories() iter.Seq2[RawHistory, error] { return r.rawHistories(r.rounds) }

func (r *Record) rawHistories(rounds []Round) iter.Seq2[RawHistory, error] {
	return func(yield func(RawHistory, error) bool) {
		cursors := make([]*rowCursor, len(rounds))
		for i := range rounds {
			cursors[i] = newRowCursor(r, &rounds[i])
			defer cursors[i].close() // it was only read
			if err := cursors[i].next(); err != nil {
				yield(RawHistory{}, err)
				return
			}
		}
		for {
			var low []byte
			size, n := 0, 0
			for _, c := range cursors {
				switch order := bytes.Compare(c.host, low); {
				case c.host == nil:
				case low == nil || order < 0:
					low, size, n = c.host, len(c.raw), 1
				case order == 0:
					size, n = size+len(c.raw), n+1
				}
			}
			if low == nil {
				return
			}
			h := RawHistory{Host: string(low), Rows: make([]RawRow, 0, n)}
			var held strings.Builder // the rows share memory
			held.Grow(size)
			for _, c := range cursors {
				if string(c.host) != h.Host {
					continue
				}
				held.Write(c.raw)
				h.Rows = append(h.Rows, RawRow{Text: held.String()[held.Len()-len(c.raw):], Leaf: c.leaf, of: c.of})
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
	record *Record
	of     *rowsOf
	part   int     // the one that is read, counted from 0
	file   fs.File // of the part, nil before the first one
	read   *bufio.Reader
	known  uint64     // hash of the part if it was checked before, see reread
	again  *rereadSum // of the part
	sum    hash.Hash  // of the part, if it was not checked before
	rows   int64      // read of the part
	raw    []byte     // the row
	host   []byte     // of the row; nil behind the last one
	leaf   int64
}

func newRowCursor(r *Record, round *Round) *rowCursor {
	c := &rowCursor{record: r, of: newRowsOf(round), leaf: round.FirstLeaf - 1,
		read: bufio.NewReaderSize(nil, MaxRow+1), sum: sha256.New(),
		again: newRereadSum(r.reread.key)}
	return c
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
			c.host, err = c.of.hostOf(c.raw)
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
	if c.file, err = c.record.fsys.Open(PartPath(c.of.Sequence, c.part)); err != nil {
		return fmt.Errorf("reading part: %w", err)
	}
	c.rows = 0
	c.sum.Reset()
	c.again.reset()
	from := io.TeeReader(c.file, c.again)
	if c.known = c.record.reread.of(c.of.Sequence, c.part).Load(); c.known == 0 {
		from = io.TeeReader(from, c.sum)
	}
	c.read.Reset(from)
	return nil
}

// check compares what was read with what the header commits to. rest is how many bytes stood behind
// the last newline.
func (c *rowCursor) check(rest int) error {
	p, again := c.of.Parts[c.part], c.again.end()
	switch {
	case c.known != 0 && c.known == again:
		return nil
	case c.known != 0 || attest.Digest(c.sum.Sum(nil)) != p.SHA256:
		return errPartDigest
	case rest > 0:
		return errPartNewline
	case c.rows != p.Rows:
		return fmt.Errorf("reading part: %d rows instead of %d", c.rows, p.Rows)
	}
	c.record.reread.of(c.of.Sequence, c.part).Store(again)
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

// HistoryRoom is memory that one history after the other is parsed into: of the one before, only
// strings are valid then.
type HistoryRoom struct {
	rows []StoredRow
	rest rowRoom
}

// ParseIn reads the rows into memory that may have been used before.
func (h RawHistory) ParseIn(room *HistoryRoom) (History, error) {
	room.rest.reset()
	room.rows = slices.Grow(room.rows[:0], len(h.Rows))
	out := History{Host: h.Host, Rows: room.rows[:len(h.Rows)]}
	for i, r := range h.Rows {
		row := &out.Rows[i]
		if err := r.of.parse(row, r.Text, r.Leaf, &room.rest); err != nil {
			return History{}, err
		}
		n := len(room.rest.bytes)
		room.rest.bytes = append(room.rest.bytes, r.Text...)
		row.Raw = since(room.rest.bytes, n)
		if row.Host != h.Host {
			return History{}, fmt.Errorf("reading row of %s in round %d: it is of %s", h.Host, row.Sequence, row.Host)
		}
	}
	return out, nil
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
