package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"store.example/agentstore/dynamic/ledger"
)

const (
	// commitTime is how long a commit may take. It does not end with a caller's
	// context, because a commit given up half way has an unknown end.
	commitTime = 30 * time.Second
	// quietLooks is how often, lookTime apart, nothing may have come of the functions of a batch,
	// and tripsTime how long one of them may take that asks the server more than mostTrips times.
	// Those that take longer go on alone.
	quietLooks = 25
	lookTime   = 10 * time.Millisecond
	mostTrips  = 20
	tripsTime  = time.Second
	// mostBytes is after how many bytes of values a batch is full.
	mostBytes = 8 << 20

	serializable = `begin isolation level serializable`

	upsert = `insert into kv (key, val) select * from unnest($1::bytea[], $2::bytea[])
		on conflict (key) do update set val = excluded.val`
	remove = `delete from kv where key = any($1::bytea[])`
)

// takeTurn waits until no other process writes. It comes before the transaction
// has its snapshot, which LOCK does not take, so that it sees all that they wrote.
// Whoever holds the turn and does not move loses it, and whoever has waited in
// vain writes without it: then there may be conflicts, and nothing worse.
var takeTurn = []string{
	`set local idle_in_transaction_session_timeout = '5s'`,
	`lock table kv_turn in exclusive mode`,
}

// Update implements [ledger.DB].
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
		db.commit(&batch{db: db, calls: []*ledger.Call{c}, turn: db.turns, more: true})
	}
}

// alone commits a call that was too slow for a batch. It holds up no other.
func (db *DB) alone(c *ledger.Call) {
	if <-c.Ran() != nil {
		db.commit(&batch{db: db, calls: []*ledger.Call{c}, patient: true})
	}
}

// commit runs a batch until it is committed, and tells each call what became of
// it.
func (db *DB) commit(b *batch) {
	wait := backoff.ExponentialBackOff{
		InitialInterval:     2 * time.Millisecond,
		RandomizationFactor: 1,
		Multiplier:          1.5,
		MaxInterval:         200 * time.Millisecond,
	}
	for {
		err := b.run()
		switch e, ok := errors.AsType[*pgconn.PgError](err); {
		case ok && e.Code == lockNotAvailable:
			b.turn = false // whoever has it does not move
			continue
		case ok && (e.Code == serializationFailure || e.Code == deadlock):
			time.Sleep(wait.NextBackOff())
			continue
		case b.refused && len(b.calls) > 1:
			// For something that one of them wrote, for which the others must not suffer.
			for _, c := range append(b.calls, b.rest...) {
				db.commit(&batch{db: db, calls: []*ledger.Call{c}, turn: b.turn})
			}
			return
		}
		for _, c := range b.calls {
			c.End(err)
		}
		if len(b.rest) == 0 {
			return
		}
		b.calls = nil
	}
}
