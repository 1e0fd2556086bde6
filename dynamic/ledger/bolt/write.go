package bolt

import (
	"context"
	"fmt"
	"runtime"

	"go.etcd.io/bbolt"

	"agentstore/dynamic/ledger"
)

// An update is one call of Update on its way through the writer. Its function
// runs in the caller's goroutine, while the writer waits for it: so a panic or
// a runtime.Goexit in it ends where it belongs.
type update struct {
	ctx  context.Context
	turn chan state          // gives the caller its turn; not buffered
	ran  chan []ledger.Write // gives the turn back, with what is to be written
	done chan error          // the outcome of the commit; buffered, sent once
}

// Update implements [ledger.DB]. The function of an Update holds up all others
// while it runs.
func (db *DB) Update(ctx context.Context, f func(ledger.Tx) error) error {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ledger.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &update{
		ctx:  ctx,
		turn: make(chan state),
		ran:  make(chan []ledger.Write),
		done: make(chan error, 1),
	}
	select {
	case db.queue <- u:
	case <-ctx.Done():
		return ctx.Err()
	}
	var s state
	select {
	case s = <-u.turn:
	case err := <-u.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	err := u.run(s, f)
	// Even an error of f waits for the disk: it may rest on what f read of an
	// Update before it in the same batch.
	if err := <-u.done; err != nil {
		return err
	}
	return err
}

// run runs f and gives the turn back, whatever becomes of f.
func (u *update) run(s state, f func(ledger.Tx) error) error {
	tx := ledger.NewUpdate(s)
	var writes []ledger.Write
	defer func() {
		tx.End()
		u.ran <- writes
	}()
	if err := f(tx); err != nil {
		return err
	}
	writes = tx.Writes()
	return nil
}

// write is the writer: it commits one batch after another until Close.
func (db *DB) write() {
	for {
		select {
		case u := <-db.queue:
			db.batch(u)
		case <-db.stop:
			return
		}
	}
}

// batch runs first and whatever has queued up behind it, commits, and answers.
func (db *DB) batch(first *update) {
	db.mu.Lock()
	failed := db.failed
	db.mu.Unlock()
	if failed != nil {
		first.done <- failed
		return
	}
	tx, err := db.file.Begin(true)
	if err != nil {
		first.done <- fmt.Errorf("beginning an update: %w", err)
		return
	}
	ran, dirty, err := db.collect(first, state{tx.Bucket(bucketName)})
	switch {
	case err != nil:
		err = fmt.Errorf("writing the ledger: %w", err)
		if rerr := tx.Rollback(); rerr != nil {
			err = db.fail(rerr)
		}
	case !dirty:
		if rerr := tx.Rollback(); rerr != nil {
			err = db.fail(rerr)
		}
	default:
		err = db.commit(tx)
	}
	for _, u := range ran {
		u.done <- err
	}
}

// collect runs updates until the queue is empty, and returns those that ran. An
// error means that the whole batch must be dropped.
func (db *DB) collect(first *update, s state) (ran []*update, dirty bool, err error) {
	for u := first; u != nil; u = db.queued(len(ran)) {
		select {
		case u.turn <- s:
		case <-u.ctx.Done():
			continue
		}
		writes := <-u.ran
		ran = append(ran, u)
		for _, w := range writes {
			dirty = true
			if w.Delete {
				err = s.bucket.Delete(w.Key)
			} else {
				err = s.bucket.Put(w.Key, w.Value)
			}
			if err != nil {
				return ran, dirty, err
			}
		}
	}
	return ran, dirty, nil
}

// queued returns the next update that is waiting, or nil if none is or the batch
// of n is full.
func (db *DB) queued(n int) *update {
	if n >= maxBatch {
		return nil
	}
	for range 2 {
		select {
		case u := <-db.queue:
			return u
		default:
			// Whoever is ready to run may be about to queue up, and a commit costs the same for all of them together.
			runtime.Gosched()
		}
	}
	return nil
}

// commit commits tx to the disk and lets Views see it.
func (db *DB) commit(tx *bbolt.Tx) error {
	id := tx.ID()
	if err := tx.Commit(); err != nil {
		// What a failed write or sync left on the disk cannot be known, and a
		// second sync may report success without having written anything. So
		// the ledger stops, and the next Open reads what the disk really has.
		return fmt.Errorf("%w: %w", ledger.ErrUnknown, db.fail(err))
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.synced = id
	close(db.settle)
	db.settle = make(chan struct{})
	return nil
}

// fail stops the ledger and returns what later calls will be told.
func (db *DB) fail(err error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.failed = fmt.Errorf("the ledger has stopped and must be opened again: %w", err)
	close(db.settle)
	db.settle = make(chan struct{})
	return db.failed
}
