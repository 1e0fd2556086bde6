package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"store.example/agentstore/dynamic/ledger"
)

const (
	// answerTime is how long the server may take over one answer.
	answerTime = 10 * time.Second
	// mostKept is how many answers a snapshot keeps, for who asks again.
	mostKept = 4096
	// openingTime is how long a snapshot waits at most for the one that opens before it.
	openingTime = 50 * time.Millisecond

	selectClock = `select (extract(epoch from clock_timestamp()) * 1000000)::bigint`
	selectKeys  = `select key, val from kv where key = any($1)`
	selectUp    = `select key, val from kv where key >= $1 and key < $2 order by key limit $3`
	// selectAll is selectUp for many ranges, each of which has its number.
	selectAll = `select n, kv.key, kv.val from unnest($1::bytea[], $2::bytea[]) with ordinality as of (lo, hi, n)
		cross join lateral (select key, val from kv where key >= lo and key < hi order by key limit $3) as kv
		order by n, kv.key`
	selectRest = `select key, val from kv where key >= $1 order by key limit $2`
	selectDown = `select key, val from kv where key >= $1 and key < $2 order by key desc limit $3`
	selectLast = `select key, val from kv where key >= $1 order by key desc limit $2`
)

// A query asks for the entries with from <= key < to, up to a limit; an empty to
// is the end. One without a limit asks for the entry at from.
type query struct {
	from, to string
	limit    int
	down     bool
}

// justBegin asks for nothing but that the transaction begins.
var justBegin = query{limit: -1}

// A question is a query on its way to the server.
type question struct {
	query
	answer []ledger.Entry
	err    error
	done   chan struct{} // closed when it is answered
}

// A snapshot is one transaction of the server, which any number of calls may
// read at once. What they ask while an answer is on its way is asked together,
// in one round trip.
type snapshot struct {
	pool    *pgxpool.Pool
	begin   []string      // what opens it, before the first question
	opening chan struct{} // has one while another opens, and calls may join this one; nil waits for none

	mu      sync.Mutex // guards the fields below
	free    sync.Cond  // signals that asking has become false
	waiting []*question
	asking  bool                // a goroutine has the connection
	kept    map[query]*question // what was asked, kept for who asks it again
	err     error               // the first failure: the server refuses everything after it
	users   int                 // calls that read it
	begun   bool                // the server has heard of it, so nobody may join
	clock   time.Time           // the server's, when the transaction began; zero before
	began   time.Time           // ours at the same moment
	asked   int                 // round trips

	conn *pgxpool.Conn // whoever asks has it; nil before the first question
}

func newSnapshot(pool *pgxpool.Pool, begin ...string) *snapshot {
	s := &snapshot{pool: pool, begin: begin, kept: make(map[query]*question)}
	s.free.L = &s.mu
	return s
}

// errOver is what a call is told that was left behind.
var errOver = errors.New("the transaction goes on without this call")

// ask answers a query. A caller whose ctx ends no longer waits, which disturbs
// nobody.
func (s *snapshot) ask(ctx context.Context, of query) ([]ledger.Entry, error) {
	s.mu.Lock()
	err := s.err
	var q *question
	if err == nil {
		q = s.put(of)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put puts a query to the server, unless that was done before. Holds s.mu.
func (s *snapshot) put(of query) *question {
	if q := s.kept[of]; q != nil {
		return q
	}
	q := &question{query: of, done: make(chan struct{})}
	if of.limit <= firstRows && len(s.kept) < mostKept {
		s.kept[of] = q
	}
	s.waiting = append(s.waiting, q)
	if !s.asking {
		s.asking = true
		go s.serve()
	}
	return q
}

// serve puts questions to the server until there is none.
func (s *snapshot) serve() {
	opens := s.waitToOpen()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > 0 {
		// Whoever is ready to run may have a question, too.
		for n := 0; n < len(s.waiting); {
			n = len(s.waiting)
			s.mu.Unlock()
			runtime.Gosched()
			runtime.Gosched()
			s.mu.Lock()
		}
		all := s.waiting
		s.waiting, s.begun = nil, true
		s.mu.Unlock()
		err := s.roundTrip(all)
		if opens {
			<-s.opening
			opens = false
		}
		s.mu.Lock()
		s.asked++
		if s.err == nil {
			s.err = err
		}
		for _, q := range all {
			q.err = err
			close(q.done)
		}
	}
	s.asking = false
	s.free.Broadcast()
}

// waitToOpen waits before the first question for a snapshot that opens, and
// reports whether the next one waits for this: then it takes from opening when it
// has an answer.
func (s *snapshot) waitToOpen() bool {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if begun || s.opening == nil {
		return false
	}
	late := time.NewTimer(openingTime)
	defer late.Stop()
	select {
	case s.opening <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}

// roundTrip asks the server, and opens the transaction if that is not done.
func (s *snapshot) roundTrip(all []*question) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	var batch pgx.Batch
	opening := s.conn == nil
	if opening {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return inTime(ctx, err)
		}
		s.conn = conn
		for _, statement := range s.begin {
			batch.Queue(statement)
		}
		batch.Queue(selectClock)
	}
	at := make(map[string][]*question)
	var keys, from, to [][]byte
	var short, others []*question
	for _, q := range all {
		if q.short() {
			short, from, to = append(short, q), append(from, []byte(q.from)), append(to, []byte(q.to))
		} else if q.limit > 0 {
			others = append(others, q)
			q.queue(&batch)
		} else if q.limit == 0 {
			if at[q.from] == nil {
				keys = append(keys, []byte(q.from))
			}
			at[q.from] = append(at[q.from], q)
		}
	}
	if len(short) > 0 {
		batch.Queue(selectAll, from, to, firstRows)
	}
	if len(keys) > 0 {
		batch.Queue(selectKeys, keys)
	}
	if batch.Len() == 0 {
		return nil
	}
	results := s.conn.SendBatch(ctx, &batch)
	err := s.read(results, opening, others, short, at)
	if cerr := results.Close(); err == nil {
		err = cerr
	}
	return inTime(ctx, err)
}

// inTime is err, without the deadline of an answer, which is no caller's.
func inTime(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("no answer within %s: %v", answerTime, err)
	}
	return err
}

// short reports whether it asks for the first portion of a bounded range, as most do: those are
// asked in one statement.
func (q *question) short() bool { return q.limit == firstRows && !q.down && q.to != "" }

// queue asks for a portion of a range.
func (q *question) queue(batch *pgx.Batch) {
	from, to := []byte(q.from), []byte(q.to)
	switch {
	case q.down && q.to == "":
		batch.Queue(selectLast, from, q.limit)
	case q.down:
		batch.Queue(selectDown, from, to, q.limit)
	case q.to == "":
		batch.Queue(selectRest, from, q.limit)
	default:
		batch.Queue(selectUp, from, to, q.limit)
	}
}

// read takes the answers in the order of the questions: the clock, ranges, all short ranges, all
// single keys.
func (s *snapshot) read(results pgx.BatchResults, opening bool, ranges, short []*question,
	at map[string][]*question) error {
	if opening {
		for range s.begin {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		var micros int64
		if err := results.QueryRow().Scan(&micros); err != nil {
			return fmt.Errorf("reading the server's time: %w", err)
		}
		s.mu.Lock()
		s.began, s.clock = time.Now(), time.UnixMicro(micros).UTC()
		s.mu.Unlock()
	}
	for _, q := range ranges {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if q.answer, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.Entry]); err != nil {
			return err
		}
	}
	if len(short) > 0 {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		var n int
		var e ledger.Entry
		_, err = pgx.ForEachRow(rows, []any{&n, &e.Key, &e.Value}, func() error {
			short[n-1].answer = append(short[n-1].answer, e)
			e = ledger.Entry{}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(at) == 0 {
		return nil
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	var e ledger.Entry
	_, err = pgx.ForEachRow(rows, []any{&e.Key, &e.Value}, func() error {
		for _, q := range at[string(e.Key)] {
			q.answer = []ledger.Entry{e}
		}
		e = ledger.Entry{}
		return nil
	})
	return err
}

// join lets one more call read the snapshot, or reports that it is too late.
func (s *snapshot) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun || s.err != nil {
		return false
	}
	s.users++
	return true
}

// leave ends the reading of one call, and the snapshot with its last.
func (s *snapshot) leave() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		s.close()
		go s.release()
	}
}

// opened reports whether the transaction has begun.
func (s *snapshot) opened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.clock.IsZero()
}

// broken returns what broke the transaction, if anything did.
func (s *snapshot) broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// progress reports whether a question is on its way, and how many round trips
// there were.
func (s *snapshot) progress() (asking bool, asked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking, s.asked
}

// close waits for the question that is on its way and refuses all later ones, so
// that the connection is the caller's. It returns what broke the transaction.
func (s *snapshot) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.asking {
		s.free.Wait()
	}
	err := s.err
	s.err = errOver
	return err
}

// release rolls back what is open and gives the connection back. If that fails,
// nothing is lost: the pool closes a connection that is released inside a
// transaction, and the server rolls back.
func (s *snapshot) release() {
	if s.conn == nil {
		return
	}
	if pg := s.conn.Conn().PgConn(); !pg.IsClosed() && pg.TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		_, _ = pg.Exec(ctx, "rollback").ReadAll()
	}
	s.conn.Release()
}
