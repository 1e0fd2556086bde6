// Package postgres keeps a ledger in a PostgreSQL database, or in one that
// speaks its protocol and is serializable, for any number of processes at once.
//
// The ledger is one table, kv(key bytea primary key, val bytea not null), in
// the first schema of the search path. Each Update is one SERIALIZABLE
// transaction: it reads from the server, keeps its writes in memory, and sends
// them together with the commit; conflicts are retried with a jittered backoff
// until the context ends. Each View is one REPEATABLE READ transaction.
//
// A server that may lose commits (fsync or synchronous_commit off) is refused.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"agentstore/dynamic/ledger"
)

// defaultConns is the size of the pool where the connection string has no
// pool_max_conns.
const defaultConns = 16

// schema makes the table. The planner is kept from reading the whole of a small
// table by setup, because that would conflict with every writer.
const schema = `create table if not exists kv (key bytea primary key, val bytea not null)`

// Options change how a ledger is opened. The zero value is for production.
type Options struct {
	// AllowNotDurable accepts a server that may lose what it has committed,
	// which only a test may.
	AllowNotDurable bool
}

// DB is a ledger in PostgreSQL. It obeys the contract of [ledger.DB].
type DB struct {
	pool *pgxpool.Pool

	life   sync.RWMutex // read-held by every call, so that Close can wait
	closed bool         // guarded by life
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
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return setup(ctx, conn, options)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening ledger in PostgreSQL: %w", err)
	}
	db := &DB{pool: pool}
	err = db.createTable(ctx)
	if err == nil {
		err = ledger.Ready(ctx, db)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("opening ledger in PostgreSQL: %w", err)
	}
	return db, nil
}

// setup prepares each new connection. Durability is asked on each one, because
// it can be changed for a user or a database at any time.
func setup(ctx context.Context, conn *pgx.Conn, options Options) error {
	if _, err := conn.Exec(ctx, "set enable_seqscan = off"); err != nil {
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

// createTable makes the table. Of several processes that make it at the same
// moment all but one are told so by the server, under one of three names that
// depend on how far each had come; each then finds the table made.
func (db *DB) createTable(ctx context.Context) error {
	const tries = 5 // a winner may be rolled back, and the next one may race again
	var err error
	for range tries {
		_, err = db.pool.Exec(ctx, schema)
		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || (e.Code != uniqueViolation && e.Code != duplicateTable && e.Code != duplicateObject) {
			return err
		}
	}
	return err
}

// The codes of SQLSTATE (PostgreSQL manual, appendix A) that say that another
// process makes the same table.
const (
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
	duplicateObject = "42710" // the table's row type
)

// View implements [ledger.DB].
func (db *DB) View(ctx context.Context, f func(ledger.Tx) error) error {
	db.life.RLock()
	defer db.life.RUnlock()
	if db.closed {
		return ledger.ErrClosed
	}
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return reading(ctx, err)
	}
	defer conn.Release()
	s, err := begin(ctx, conn.Conn(), "begin isolation level repeatable read read only")
	if err != nil {
		return reading(ctx, err)
	}
	tx := ledger.NewView(s)
	defer tx.End()
	defer s.rollback()
	return f(tx)
}

// Close implements [ledger.DB].
func (db *DB) Close() error {
	db.life.Lock()
	defer db.life.Unlock()
	if !db.closed {
		db.closed = true
		db.pool.Close()
	}
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

// begin opens a transaction, and reads the server's clock in the same round
// trip.
func begin(ctx context.Context, conn *pgx.Conn, statement string) (*state, error) {
	results, err := conn.PgConn().Exec(ctx, statement+
		"; select (extract(epoch from clock_timestamp()) * 1000000)::bigint").ReadAll()
	if err != nil {
		return nil, err
	}
	var micros int64
	if len(results) != 2 || len(results[1].Rows) != 1 {
		return nil, errors.New("the server did not tell the time")
	}
	if _, err := fmt.Sscan(string(results[1].Rows[0][0]), &micros); err != nil {
		return nil, fmt.Errorf("reading the server's time: %w", err)
	}
	return &state{ctx: ctx, conn: conn, began: time.Now(), clock: time.UnixMicro(micros).UTC()}, nil
}
