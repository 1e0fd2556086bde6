// Package postgres keeps a ledger in a PostgreSQL database, or in one that
// speaks its protocol and is serializable, for any number of processes at once.
//
// The ledger is one table, kv(key bytea primary key, val bytea not null), in
// the first schema of the search path. What costs is neither reading nor writing
// but waiting for an answer, so whatever waits at the same time is asked together:
//
//   - Views that begin together, or while another opens, read one REPEATABLE READ
//     transaction, and the Updates of a process that have queued up are one
//     SERIALIZABLE transaction: see batch.
//   - What several calls ask at the same time is one round trip: see snapshot.
//     What one call asks in turn is one each, unless it says ahead what it will
//     read (ledger.Ahead).
//   - Processes take turns to write, because their transactions would conflict on
//     numbers that all of them count: see takeTurn. That is for speed alone.
//     Right it is because the server refuses what is not serializable; then a
//     batch runs again, with a jittered backoff, as long as its callers wait.
//
// An Update whose function is slow leaves its batch and runs in a transaction of
// its own. When the answer to a commit is lost, that is ErrUnknown for all of the
// batch. All of it works through a pooler that hands out connections by the
// transaction.
//
// A server that may lose commits (fsync or synchronous_commit off) is refused.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"store.example/agentstore/dynamic/ledger"
)

// The size of the pool where the connection string has no pool_max_conns, and how
// many connections it keeps open where that has no pool_min_conns: the writer's,
// and some for Views. To open one costs the server as much as ten purchases.
const (
	defaultConns = 16
	keptConns    = 4
)

// schema makes the table; schemaLZ4 does where the server has a compression that
// costs it less. schemaTurn makes one without a column, for its lock alone.
const (
	schema     = `create table if not exists kv (key bytea primary key, val bytea not null)`
	schemaLZ4  = `create table if not exists kv (key bytea primary key, val bytea compression lz4 not null)`
	schemaTurn = `create table if not exists kv_turn ()`
)

// settings are those of each connection, as far as the engine has them: to read by
// the index, because everything else would conflict with every writer, and by one
// plan for all keys; and that nobody who hangs or is gone holds locks for long.
const settings = `select set_config(name, value, false)
	from pg_settings join (values ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
		('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'), ('lock_timeout', '2s'), ('statement_timeout', '30s'),
		('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3')
	) as ours (name, value) using (name)`

// Options change how a ledger is opened. The zero value is for production.
type Options struct {
	// AllowNotDurable accepts a server that may lose what it has committed,
	// which only a test may.
	AllowNotDurable bool
}

// DB is a ledger in PostgreSQL. It obeys the contract of [ledger.DB].
type DB struct {
	pool  *pgxpool.Pool
	turns bool // the server lets the processes take turns
	queue ledger.Queue
	opens chan struct{} // has one while the transaction of a View opens
	stop  chan struct{}
	work  sync.WaitGroup

	life   sync.RWMutex // read-held by every call, so that Close can wait
	closed bool         // guarded by life

	mu   sync.Mutex // guards the field below
	next *snapshot  // for the Views to come, until the first of them reads
}

var _ ledger.DB = (*DB)(nil)

// Open connects to the database that dsn names, a URL (postgres://…) or a list
// of keywords and values as libpq has them, and makes the table if there is
// none. It fails with ledger.ErrRestoring if the database holds the remains of
// an unfinished restore.
func Open(ctx context.Context, dsn string, options Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("opening ledger in PostgreSQL: %w", err)
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	if !strings.Contains(dsn, "pool_min_conns") {
		config.MinConns = min(keptConns, config.MaxConns)
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return setup(ctx, conn, options)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening ledger in PostgreSQL: %w", err)
	}
	db := &DB{pool: pool, queue: ledger.NewQueue(), stop: make(chan struct{}), opens: make(chan struct{}, 1)}
	if err = db.createTables(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("opening ledger in PostgreSQL: %w", err)
	}
	db.work.Go(db.write)
	if err := ledger.Ready(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("opening ledger in PostgreSQL: %w", err), db.Close())
	}
	return db, nil
}

// setup prepares each new connection. Durability is asked on each one, because
// it can be changed for a user or a database at any time.
func setup(ctx context.Context, conn *pgx.Conn, options Options) error {
	addByteas(conn.TypeMap())
	if _, err := conn.Exec(ctx, settings); err != nil {
		return err
	}
	if options.AllowNotDurable {
		return nil
	}
	// Engines other than PostgreSQL may lack either setting.
	rows, err := conn.Query(ctx, `select name, setting from pg_settings
		where name in ('fsync', 'synchronous_commit') and setting = 'off'`)
	if err != nil {
		return err
	}
	off, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var name, setting string
		err := row.Scan(&name, &setting)
		return name, err
	})
	if err != nil {
		return err
	}
	if len(off) > 0 {
		return fmt.Errorf("the server may lose commits: %s is off", strings.Join(off, " and "))
	}
	return nil
}

// createTables makes the table, and finds out whether the server lets processes
// take turns by locking another.
func (db *DB) createTables(ctx context.Context) error {
	err := db.create(ctx, schemaLZ4)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		err = db.create(ctx, schema)
	}
	if err != nil {
		return err
	}
	err = db.create(ctx, schemaTurn)
	if err == nil {
		err = pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
			for _, statement := range takeTurn {
				if _, err := tx.Exec(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		})
	}
	e, refused := errors.AsType[*pgconn.PgError](err)
	db.turns = err == nil || refused && e.Code == lockNotAvailable
	if refused {
		return nil
	}
	return err
}

// create makes one table. Of several processes that make it at the same moment
// all but one are told so by the server, under one of three names that depend on
// how far each had come; each then finds the table made.
func (db *DB) create(ctx context.Context, schema string) error {
	const tries = 5 // a winner may be rolled back, and the next one may race again
	var err error
	for range tries {
		_, err = db.pool.Exec(ctx, schema)
		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || (e.Code != uniqueViolation && e.Code != duplicateTable && e.Code != duplicateObject &&
			e.Code != lockNotAvailable) {
			return err
		}
	}
	return err
}

// The codes of SQLSTATE (PostgreSQL manual, appendix A) that say that another
// process makes the same table, that a lock was waited for in vain, that the
// transaction is to be run again, that nobody knows what became of it, or that it
// was given up because we said nothing.
const (
	uniqueViolation      = "23505"
	duplicateTable       = "42P07"
	duplicateObject      = "42710" // the table's row type
	lockNotAvailable     = "55P03"
	serializationFailure = "40001"
	deadlock             = "40P01"
	completionUnknown    = "40003"
	idleInTransaction    = "25P03"
)

// View implements [ledger.DB].
func (db *DB) View(ctx context.Context, f func(ledger.Tx) error) error {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ledger.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &reader{snapshot: db.join(), ctx: ctx}
	defer r.leave()
	tx := ledger.NewView(r)
	defer tx.End()
	if err := f(tx); err != nil {
		return err
	}
	return r.err
}

// join returns a snapshot to read that nobody has begun to read.
func (db *DB) join() *snapshot {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.next == nil || !db.next.join() {
		db.next = newSnapshot(db.pool, "begin isolation level repeatable read read only")
		db.next.users, db.next.opening = 1, db.opens
	}
	return db.next
}

// Close implements [ledger.DB].
func (db *DB) Close() error {
	db.life.Lock()
	defer db.life.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	close(db.stop)
	db.work.Wait()
	db.pool.Close()
	return nil
}

// reading wraps an error from before anything could be written. The end of ctx
// is told as itself, whatever words the driver has for it.
func reading(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("reading the ledger: %w", err)
}
