package ledger

import (
	"context"
	"runtime"
)

// MaxBatch is how many Updates may share a commit, so that the first of them
// does not wait for ever.
const MaxBatch = 512

// A Queue is where Updates wait for an engine that commits many of them
// together. Their functions run in their callers' goroutines, whenever the
// engine says so: therefore a panic or a runtime.Goexit in one ends where it
// belongs and disturbs no other.
type Queue struct{ calls chan *Call }

// NewQueue returns an empty queue.
func NewQueue() Queue { return Queue{make(chan *Call, MaxBatch)} }

// A Call is one call of Update on its way through an engine.
type Call struct {
	ctx  context.Context
	turn chan Snapshot // gives the caller a turn; not buffered
	ran  chan *Overlay // gives the turn back; holds one
	done chan error    // the outcome; holds one, sent once
}

// Update is the caller's side: it implements [DB].Update for an engine that
// serves the queue.
func (q Queue) Update(ctx context.Context, f func(Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &Call{ctx: ctx, turn: make(chan Snapshot), ran: make(chan *Overlay, 1), done: make(chan error, 1)}
	ended := ctx.Done()
	select {
	case q.calls <- c:
	case <-ended:
		return ctx.Err()
	}
	for {
		select {
		case s := <-c.turn:
			ended = nil // from now on it may be stored, and the engine says whether it is
			err = c.run(s, f)
		case failed := <-c.done:
			if failed != nil {
				return failed
			}
			// Even an error of f has waited for the commit: it may rest on what
			// f read of an Update before it in the same batch.
			return err
		case <-ended:
			return ctx.Err()
		}
	}
}

// run runs f and gives the turn back, whatever becomes of f.
func (c *Call) run(s Snapshot, f func(Tx) error) (err error) {
	tx := NewUpdate(s)
	var ran *Overlay
	defer func() {
		tx.End()
		c.ran <- ran
	}()
	if err = f(tx); err != nil {
		tx.writes = nil
	}
	ran = tx
	return err
}

// Next waits for a call, or returns nil when stop is closed.
func (q Queue) Next(stop <-chan struct{}) *Call {
	select {
	case c := <-q.calls:
		return c
	case <-stop:
		return nil
	}
}

// More returns a call that is waiting already, or nil.
func (q Queue) More() *Call {
	for range 2 {
		select {
		case c := <-q.calls:
			return c
		default:
			// Whoever is ready to run may be about to queue up, and a commit costs the same for all
			// of them together.
			runtime.Gosched()
		}
	}
	return nil
}

// Len is how many calls wait.
func (q Queue) Len() int { return len(q.calls) }

// Context is that of the caller. After its first turn a call goes on when that
// ends, until it is told the outcome.
func (c *Call) Context() context.Context { return c.ctx }

// Turn lets the call's function run on s, which may happen again and again:
// only the last turn counts. It reports false, and nothing runs, where the
// call's context has ended, which the call has been told then.
func (c *Call) Turn(s Snapshot) bool {
	if c.ctx.Err() == nil {
		select {
		case c.turn <- s:
			return true
		case <-c.ctx.Done():
		}
	}
	c.End(c.ctx.Err())
	return false
}

// Ran gives each turn back with what the function read and wrote, which is
// nothing where it failed, or with nil where it did not return: then the call
// is over.
func (c *Call) Ran() <-chan *Overlay { return c.ran }

// End tells the caller the outcome: nil, and Update returns what the function
// returned in its last turn, or the error to return instead.
func (c *Call) End(err error) { c.done <- err }
