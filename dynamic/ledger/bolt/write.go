package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"store.example/agentstore/dynamic/ledger"
)

// Update implements [ledger.DB]. The function of an Update holds up all others
// while it runs.
func (db *DB) Update(ctx context.Context, f func(ledger.Tx) error) error {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ledger.ErrClosed
	}
	return db.queue.Update(ctx, f)
}

// write is the writer: it commits one batch after another until Close.
func (db *DB) write() {
	for c := db.queue.Next(db.stop); c != nil; c = db.queue.Next(db.stop) {
		db.batch(c)
	}
}

// batch runs first and whatever has queued up behind it, commits, and answers.
func (db *DB) batch(first *ledger.Call) {
	db.mu.Lock()
	failed := db.failed
	db.mu.Unlock()
	if failed != nil {
		first.End(failed)
		return
	}
	tx, err := db.file.Begin(true)
	if err != nil {
		first.End(fmt.Errorf("beginning an update: %w", err))
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
	for _, c := range ran {
		c.End(err)
	}
}

// collect runs calls until the queue is empty, and returns those that ran. An
// error means that the whole batch must be dropped.
func (db *DB) collect(first *ledger.Call, s state) (ran []*ledger.Call, dirty bool, err error) {
	for c := first; c != nil; {
		if c.Turn(s) {
			if o := <-c.Ran(); o != nil {
				ran = append(ran, c)
				dirty = dirty || len(o.Writes()) > 0
				if err := s.apply(o.Writes()); err != nil {
					return ran, dirty, err
				}
			}
		}
		if len(ran) == ledger.MaxBatch {
			break
		}
		c = db.queue.More()
	}
	return ran, dirty, nil
}

// apply writes, where the Updates after it see it.
func (s state) apply(writes []ledger.Write) (err error) {
	for _, w := range writes {
		if w.Delete {
			err = s.bucket.Delete(w.Key)
		} else {
			err = s.bucket.Put(w.Key, w.Value)
		}
		if err != nil {
			return err
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
	if db.failed == nil {
		close(db.broken)
	}
	db.failed = fmt.Errorf("the ledger has stopped and must be opened again: %w", err)
	close(db.settle)
	db.settle = make(chan struct{})
	return db.failed
}
