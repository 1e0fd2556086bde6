package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"agentstore/dynamic/ledger"
)

const (
	// A scan asks for so many rows first, and for twice as many each time as
	// long as they come to few bytes.
	firstRows = 32
	mostRows  = 1024
	fewBytes  = 1 << 20

	selectOne  = `select val from kv where key = $1`
	selectUp   = `select key, val from kv where key >= $1 and key < $2 order by key limit $3`
	selectRest = `select key, val from kv where key >= $1 order by key limit $2`
	selectDown = `select key, val from kv where key >= $1 and key < $2 order by key desc limit $3`
	selectLast = `select key, val from kv where key >= $1 order by key desc limit $2`
)

// A state is what one transaction reads, in a transaction of the server.
type state struct {
	ctx   context.Context
	conn  *pgx.Conn
	clock time.Time // the server's, when the transaction began
	began time.Time // ours at the same moment
	err   error     // the first failure, which decides whatever f makes of it
}

var _ ledger.Snapshot = (*state)(nil)

// Now is the server's clock at the beginning and our monotonic clock since.
func (s *state) Now() time.Time { return s.clock.Add(time.Since(s.began)) }

func (s *state) Get(key []byte) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	var value []byte
	err := s.conn.QueryRow(s.ctx, selectOne, key).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("%w: %s", ledger.ErrNotFound, ledger.KeyText(key))
	}
	if err != nil {
		return nil, s.fail(err)
	}
	return value, nil
}

func (s *state) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range s.scan(func(last []byte, limit int) (pgx.Rows, error) {
			low := nonNil(from)
			if last != nil {
				low = append(last, 0)
			}
			if len(to) == 0 {
				return s.conn.Query(s.ctx, selectRest, low, limit)
			}
			return s.conn.Query(s.ctx, selectUp, low, to, limit)
		}) {
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s *state) ScanDown(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range s.scan(func(last []byte, limit int) (pgx.Rows, error) {
			high := to
			if last != nil {
				high = last
			}
			if len(high) == 0 {
				return s.conn.Query(s.ctx, selectLast, nonNil(from), limit)
			}
			return s.conn.Query(s.ctx, selectDown, nonNil(from), high, limit)
		}) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// scan yields rows in portions, so that the connection is free between them for
// whatever the loop body asks. The next portion begins after last, nil at first.
func (s *state) scan(query func(last []byte, limit int) (pgx.Rows, error)) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		var last []byte
		for limit := firstRows; ; {
			if s.err != nil {
				yield(ledger.Entry{}, s.err)
				return
			}
			rows, err := query(last, limit)
			if err != nil {
				yield(ledger.Entry{}, s.fail(err))
				return
			}
			portion, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.Entry])
			if err != nil {
				yield(ledger.Entry{}, s.fail(err))
				return
			}
			if len(portion) > 0 {
				last = append([]byte{}, portion[len(portion)-1].Key...)
			}
			size := 0
			for _, e := range portion {
				size += len(e.Value)
				if !yield(e, nil) {
					return
				}
			}
			if len(portion) < limit {
				return
			}
			if size < fewBytes {
				limit = min(2*limit, mostRows)
			} else {
				limit = firstRows
			}
		}
	}
}

// fail remembers the first error of the transaction: after it, the server
// refuses everything else.
func (s *state) fail(err error) error {
	if s.err == nil {
		s.err = reading(s.ctx, err)
	}
	return s.err
}

// rollback ends a transaction, so that its connection can be used again. If it
// fails, nothing is lost: the pool closes a connection that is released inside
// a transaction, and the server rolls back.
func (s *state) rollback() {
	if s.conn.IsClosed() {
		return
	}
	_, _ = s.conn.PgConn().Exec(s.ctx, "rollback").ReadAll()
}

// nonNil keeps an empty bound from being sent as NULL.
func nonNil(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}
