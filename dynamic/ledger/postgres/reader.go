package postgres

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// A scan asks for so many rows first, and for twice as many each time as long as
// they come to few bytes.
const (
	firstRows = 32
	mostRows  = 1024
	fewBytes  = 1 << 20
)

// A reader is what one call sees of a snapshot.
//
// A call of a batch that says ahead what it will read waits there, while the others say what they
// will read, until those before it have run: so it sees what they wrote, and need not run again.
type reader struct {
	*snapshot
	ctx   context.Context
	err   error                // the first failure, which decides whatever the function makes of it
	turn  chan *ledger.Overlay // gives what those before it wrote, once; nil outside a batch
	early bool                 // it has read before it waited
	over  *ledger.Overlay      // what turn gave
}

var _ ledger.Snapshot = (*reader)(nil)

// ask returns the answer to a query, which others may have, too.
func (r *reader) ask(q query) ([]ledger.Entry, error) {
	if r.err != nil {
		return nil, r.err
	}
	answer, err := r.snapshot.ask(r.ctx, q)
	if err != nil {
		r.err = reading(r.ctx, err)
		return nil, r.err
	}
	return answer, nil
}

// Ahead implements [ledger.Ahead]: what will be asked is asked together.
func (r *reader) Ahead(ranges []ledger.Range) {
	r.putAll(ranges)
	if r.turn != nil && !r.early && r.over == nil {
		r.over = <-r.turn
	}
}

// putAll puts the queries for some ranges.
func (r *reader) putAll(ranges []ledger.Range) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot.err != nil {
		return
	}
	for _, of := range ranges {
		if bytes.Equal(of.To, append(bytes.Clone(of.From), 0)) {
			r.put(query{from: string(of.From)})
		} else {
			r.put(query{from: string(of.From), to: string(of.To), limit: firstRows})
		}
	}
}

// Now is the server's clock at the beginning and our monotonic clock since.
func (r *reader) Now() time.Time {
	if !r.opened() {
		if _, err := r.ask(justBegin); err != nil {
			return time.Now().UTC() // the call fails, whatever it makes of it
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock.Add(time.Since(r.began))
}

func (r *reader) Get(key []byte) ([]byte, error) {
	if r.over != nil {
		return r.over.Get(key)
	}
	r.early = true
	found, err := r.ask(query{from: string(key)})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ledger.Absent(key)
	}
	return append([]byte{}, found[0].Value...), nil
}

func (r *reader) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	if r.over != nil {
		return r.over.Scan(from, to)
	}
	r.early = true
	return r.scan(query{from: string(from), to: string(to), limit: firstRows})
}

func (r *reader) ScanDown(from, to []byte) iter.Seq2[ledger.Entry, error] {
	if r.over != nil {
		return r.over.ScanDown(from, to)
	}
	r.early = true
	if up := r.whole(query{from: string(from), to: string(to), limit: firstRows}); up != nil {
		return up
	}
	return r.scan(query{from: string(from), to: string(to), limit: firstRows, down: true})
}

// scan yields a range in portions, so that whatever the loop body asks can be
// answered between them.
func (r *reader) scan(first query) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for q := first; ; {
			portion, err := r.ask(q)
			if err != nil {
				yield(ledger.Entry{}, err)
				return
			}
			size := 0
			if n := len(portion); n > 0 && q.down {
				q.to = string(portion[n-1].Key)
			} else if n > 0 {
				q.from = string(portion[n-1].Key) + "\x00"
			}
			for _, e := range portion {
				size += len(e.Value)
				if !yield(copied(e), nil) {
					return
				}
			}
			if len(portion) < q.limit {
				return
			}
			if size < fewBytes {
				q.limit = min(2*q.limit, mostRows)
			} else {
				q.limit = firstRows
			}
		}
	}
}

// whole yields a range in decreasing order that was asked for ahead, or is nil if
// it was not, or was not answered whole.
func (r *reader) whole(q query) iter.Seq2[ledger.Entry, error] {
	r.mu.Lock()
	_, known := r.kept[q]
	r.mu.Unlock()
	if !known {
		return nil
	}
	up, err := r.ask(q)
	if err != nil || len(up) == q.limit {
		return nil
	}
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range slices.Backward(up) {
			if !yield(copied(e), nil) {
				return
			}
		}
	}
}

// copied is an entry for one who may write over it.
func copied(e ledger.Entry) ledger.Entry {
	return ledger.Entry{Key: bytes.Clone(e.Key), Value: append([]byte{}, e.Value...)}
}
