package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"store.example/agentstore/dynamic/ledger"
)

// A batch is one transaction in which the functions of many calls run. Those that say ahead what
// they read are asked for it together and then run one after another, each over what those before
// it wrote. The others run all at once, on the same snapshot, and those of them that have read what
// one before them wrote run once more, over that. So the outcome is as if all had run in their
// order.
type batch struct {
	db      *DB
	calls   []*ledger.Call
	turn    bool // it waits for the turn of its process
	more    bool // calls that wait may come along
	patient bool // its functions may take any time

	*snapshot     // what they read
	quiet     int // looks since one of them ended, or the server answered
	seen      int // round trips by then

	all     *ledger.Overlay // what is to be written
	size    int             // bytes of values in it
	rest    []*ledger.Call  // for which it is full
	joined  bool            // whoever came while the server answered has come along
	refused bool            // the server refused the commit, and stored nothing
}

// run runs what the calls ask for and commits it. Afterwards, calls are those that
// have to be told of the outcome. An error of the server says that nothing is stored.
func (b *batch) run() error {
	begin := []string{serializable}
	if b.turn {
		begin = append(begin, takeTurn...)
	}
	b.snapshot = newSnapshot(b.db.pool, begin...)
	b.calls, b.rest = append(b.calls, b.rest...), nil
	b.refused = false
	defer b.release()
	b.quiet, b.seen = 0, 0
	b.all, b.size = b.overlay(nil), 0
	// The functions begin before the transaction has its turn, so that the answers
	// to what they ask first come with it. Whoever has come meanwhile comes along.
	calls := b.calls
	b.calls, b.joined = nil, false
	b.runAll(append(calls, b.queued(len(calls))...))
	if b.broken() == nil && !b.joined {
		b.runAll(b.queued(len(b.calls)))
	}
	if len(b.calls) > 0 && !b.opened() {
		_, _ = b.ask(context.Background(), justBegin) // if that fails, close says so
	}
	if err := b.close(); err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	if len(b.calls) == 0 {
		return nil // all were too slow, or left
	}
	return b.commit(b.all.Writes())
}

// queued are calls that wait and may come along with so many.
func (b *batch) queued(with int) (calls []*ledger.Call) {
	for b.more && with+len(calls) < ledger.MaxBatch {
		c := b.db.queue.More()
		if c == nil {
			break
		}
		calls = append(calls, c)
	}
	return calls
}

// runAll runs the functions of calls. Once the server has answered the first of them, whoever has
// come meanwhile comes along: what they read is on its way while the others run.
func (b *batch) runAll(calls []*ledger.Call) {
	readers := make(map[*ledger.Call]*reader)
	running := b.start(calls, readers)
	for i := 0; i < len(running); i++ {
		c := running[i]
		readers[c].turn <- b.all
		ran, ok := b.wait(c)
		if !b.joined && b.opened() && b.broken() == nil {
			b.joined = true
			running = append(running, b.start(b.queued(len(b.calls)+len(running)), readers)...)
		}
		b.take(c, readers[c], ran, ok)
	}
}

// start gives calls the turn to run until they wait for those before them, and returns those that
// are still there.
func (b *batch) start(calls []*ledger.Call, readers map[*ledger.Call]*reader) (running []*ledger.Call) {
	for _, c := range calls {
		r := &reader{snapshot: b.snapshot, ctx: c.Context(), turn: make(chan *ledger.Overlay, 1)}
		if c.Turn(r) {
			readers[c] = r
			running = append(running, c)
		}
	}
	return running
}

// take takes what the function of a call wrote into the batch, or finds where the call goes on.
func (b *batch) take(c *ledger.Call, r *reader, ran *ledger.Overlay, ok bool) {
	if ok && ran != nil && b.size > mostBytes {
		b.rest = append(b.rest, c)
		return
	}
	if ok && ran != nil && r.err != nil && b.broken() == nil {
		c.End(r.err) // its context has ended
		return
	}
	if ok && ran != nil && r.over == nil && ran.Reads(b.all) {
		if !c.Turn(b.all) {
			return
		}
		ran, ok = b.wait(c)
	}
	switch {
	case !ok:
		b.all = b.overlay(b.all.Writes()) // it may still read this one
		b.db.work.Go(func() { b.db.alone(c) })
	case ran != nil:
		b.all.Apply(ran.Writes())
		for _, w := range ran.Writes() {
			b.size += len(w.Value)
		}
		b.calls = append(b.calls, c)
	}
}

// overlay returns the state of the transaction after some writes.
func (b *batch) overlay(writes []ledger.Write) *ledger.Overlay {
	o := ledger.NewUpdate(&reader{snapshot: b.snapshot, ctx: context.Background()})
	o.Apply(writes)
	return o
}

// wait waits until a function has run, or reports that it is too slow: nothing is heard of it
// while the server waits for it, or its questions have no end. Looks are counted, not time: where
// the processors are taken, whoever looks gets its turn no sooner than the function does.
func (b *batch) wait(c *ledger.Call) (ran *ledger.Overlay, ok bool) {
	if b.patient {
		return <-c.Ran(), true
	}
	select {
	case ran = <-c.Ran():
		b.quiet = 0
		return ran, true
	default:
	}
	began := time.Now()
	_, before := b.progress()
	for {
		select {
		case ran = <-c.Ran():
			b.quiet = 0
			return ran, true
		case <-time.After(lookTime):
		}
		asking, asked := b.progress()
		b.quiet++
		if asking || asked != b.seen {
			b.quiet, b.seen = 0, asked
		}
		if b.quiet > quietLooks || asked-before > mostTrips && time.Since(began) > tripsTime {
			return nil, false
		}
	}
}

// commit stores writes and commits, in one round trip.
func (b *batch) commit(writes []ledger.Write) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitTime)
	defer cancel()
	var all pgx.Batch
	var keys, values, gone [][]byte
	for _, w := range writes {
		if w.Delete {
			gone = append(gone, w.Key)
		} else {
			keys, values = append(keys, w.Key), append(values, w.Value)
		}
	}
	if len(keys) > 0 {
		all.Queue(upsert, keys, values)
	}
	if len(gone) > 0 {
		all.Queue(remove, gone)
	}
	all.Queue("commit")
	err := b.conn.SendBatch(ctx, &all).Close()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	b.refused = ok && (e.Severity == "ERROR" && e.Code != completionUnknown || e.Code == idleInTransaction)
	if b.refused || len(writes) == 0 || pgconn.SafeToRetry(err) {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	return fmt.Errorf("%w: %w", ledger.ErrUnknown, err)
}
