package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"agentstore/dynamic/ledger"
)

const (
	// commitTime is how long a commit may take. It does not end with the
	// caller's context, because a commit given up half way has an unknown end.
	commitTime = 30 * time.Second

	upsert = `insert into kv (key, val) select * from unnest($1::bytea[], $2::bytea[])
		on conflict (key) do update set val = excluded.val`
	remove = `delete from kv where key = any($1::bytea[])`
)

// Update implements [ledger.DB].
func (db *DB) Update(ctx context.Context, f func(ledger.Tx) error) error {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ledger.ErrClosed
	}
	wait := backoff.ExponentialBackOff{
		InitialInterval:     2 * time.Millisecond,
		RandomizationFactor: 1,
		Multiplier:          1.5,
		MaxInterval:         200 * time.Millisecond,
	}
	for {
		err := db.try(ctx, f)
		if !conflict(err) {
			return err
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try runs f in one transaction. It returns a conflict if the server asks for
// another try, and the error of f as it is.
func (db *DB) try(ctx context.Context, f func(ledger.Tx) error) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return reading(ctx, err)
	}
	defer conn.Release()
	s, err := begin(ctx, conn.Conn(), "begin isolation level serializable")
	if err != nil {
		return reading(ctx, err)
	}
	tx := ledger.NewUpdate(s)
	defer tx.End()
	result := f(tx)
	if s.err != nil {
		// The transaction is broken, whatever f made of the error.
		s.rollback()
		if result != nil && !conflict(s.err) {
			return result
		}
		return s.err
	}
	if result != nil {
		// Also what f refused on the strength of what it read is refused
		// rightly only if those reads are confirmed by a commit.
		if err := s.commit(nil); err != nil {
			return err
		}
		return result
	}
	return s.commit(tx.Writes())
}

// commit stores writes and commits, in one round trip.
func (s *state) commit(writes []ledger.Write) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), commitTime)
	defer cancel()
	var batch pgx.Batch
	var keys, values, gone [][]byte
	for _, w := range writes {
		if w.Delete {
			gone = append(gone, w.Key)
		} else {
			keys, values = append(keys, w.Key), append(values, w.Value)
		}
	}
	if len(keys) > 0 {
		batch.Queue(upsert, keys, values)
	}
	if len(gone) > 0 {
		batch.Queue(remove, gone)
	}
	batch.Queue("commit")
	err := s.conn.SendBatch(ctx, &batch).Close()
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Severity == "ERROR" && e.Code != "40003" {
		// The server will not commit this any more.
		s.rollback()
		return fmt.Errorf("writing the ledger: %w", err)
	}
	if len(writes) == 0 || pgconn.SafeToRetry(err) {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	return fmt.Errorf("%w: %w", ledger.ErrUnknown, err)
}

// conflict reports whether err asks to run the transaction again: a
// serialization failure or a deadlock.
func conflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}
