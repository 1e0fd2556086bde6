// Package ledger is the store's durable memory: an ordered map from byte keys
// to byte values, changed only inside serializable transactions. Purchases,
// claims, stock, counters, leases and everything else that must be decided
// exactly once is decided inside one [DB.Update].
//
// It is not a query engine and not a cache: there are no secondary indexes
// (whoever needs one writes it in the same Update) and no notifications.
//
// There are three engines, which obey one contract and pass one conformance
// test (package ledgertest): [Mem] in this package, for tests, which
// misbehaves on purpose where the contract allows it; package bolt, one file
// owned by one process; and package postgres, shared by any number of
// processes.
//
// The package also holds what all users of a DB share: the encoding of keys
// ([Key], [Number], [Prefix]), the layout of all keys (keys.go), records as
// JSON ([GetJSON], [SetJSON]), counters without gaps ([Next]), counts of a
// window and what is forgotten after it ([Count], [Forget]), leases with
// fencing ([Take]), and backups ([Backup], [Restore], [Verify]).
//
//	err := db.Update(ctx, func(tx ledger.Tx) error {
//		n, err := ledger.Next(tx, "patron")
//		if err != nil {
//			return err
//		}
//		return ledger.SetJSON(tx, ledger.PatronKey(n), patron{CertID: id})
//	})
package ledger

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Limits on what one entry may hold. All engines enforce both.
const (
	// MaxKey is the longest key in bytes (PostgreSQL's index rows are the
	// narrowest of the engines). The shortest is one byte.
	MaxKey = 2048
	// MaxValue is the longest value in bytes. A value may be empty, and an
	// empty value is not an absent one.
	MaxValue = 16 << 20
)

// Errors that callers branch on. They arrive wrapped: use [errors.Is].
var (
	// ErrNotFound is returned by Get for an absent key.
	ErrNotFound = errors.New("ledger: not found")
	// ErrReadOnly is returned by Set and Delete inside View.
	ErrReadOnly = errors.New("ledger: read-only transaction")
	// ErrTooLong is returned for a key or a value outside the limits.
	ErrTooLong = errors.New("ledger: key or value outside its limits")
	// ErrDone is returned by every method of a Tx whose function has returned.
	ErrDone = errors.New("ledger: transaction is over")
	// ErrUnknown says that the outcome of an Update could not be learned: the
	// connection or the disk failed while committing, so its writes may be
	// stored or not. The caller must read to find out. Every Update that
	// fails with another error stored nothing.
	ErrUnknown = errors.New("ledger: outcome of the update is unknown")
	// ErrRestoring is returned on opening a ledger whose restore was begun and
	// never finished.
	ErrRestoring = errors.New("ledger: a restore was begun and not finished")
	// ErrClosed is returned by View and Update after Close.
	ErrClosed = errors.New("ledger: closed")
)

// A DB is an ordered key-value store with serializable transactions.
//
// All methods may be called by many goroutines at once. A function given to
// View or Update must not call a method of the same DB: it would wait for
// itself.
type DB interface {
	// View runs f on a read-only snapshot: f sees every Update that returned
	// before View was called, sees no part of one that commits later, and
	// sees nothing that is not durable. The error of f is returned as it is.
	// Writers do not wait for f, except that a very long View may make an
	// engine keep old data meanwhile.
	//
	// What must stay true after reading it is decided in Update, not in View.
	View(ctx context.Context, f func(Tx) error) error

	// Update runs f and commits what it wrote, all or nothing. Updates are
	// serializable: the outcome is that of some order of the successful ones,
	// an order that agrees with real time. When Update returns nil, the
	// writes are durable: they survive the loss of the process and of power.
	//
	// f may be called more than once, and only its last call counts: f starts
	// from nothing each time (a variable it assigns outside itself is assigned
	// anew, an append outside is a bug) and has no effect outside the ledger.
	//
	// If f returns an error, nothing is stored and that error is returned as
	// it is. If f panics, nothing is stored, other callers are not disturbed,
	// and the panic goes on in the caller's goroutine. If ctx ends before f is
	// run, the cause is ctx.Err() and f is not run. Conflicts with other
	// Updates are retried until ctx ends, so ctx should have a deadline.
	// An error that is [ErrUnknown] means that the writes may be stored.
	Update(ctx context.Context, f func(Tx) error) error

	// Close waits for the calls under way and frees what the DB holds. Calls
	// made later fail with ErrClosed.
	Close() error
}

// A Tx is one transaction. It is valid only inside the function it was given
// to, and only on that function's goroutine; used later, its methods fail with
// ErrDone. Keys and values are copied in both directions: neither side keeps or
// lends memory.
type Tx interface {
	// Get returns the value of key, a copy that the caller owns, or
	// ErrNotFound. An empty value is returned as an empty slice, not nil.
	Get(key []byte) ([]byte, error)
	// Set stores value at key, over any value there. In View: ErrReadOnly.
	Set(key, value []byte) error
	// Delete removes key. It is no error if the key is absent. In View:
	// ErrReadOnly.
	Delete(key []byte) error
	// Scan yields the entries with from <= key < to in increasing byte order
	// of their keys; an empty from is the beginning, an empty to the end. It
	// sees the writes of its own transaction, also those made while it runs at
	// keys it has not reached yet. The loop may be left at any point. An error
	// is yielded last, with a zero Entry.
	Scan(from, to []byte) iter.Seq2[Entry, error]
	// ScanDown is Scan over the same range in decreasing order.
	ScanDown(from, to []byte) iter.Seq2[Entry, error]
	// Now returns the time by the ledger's clock, in UTC. All processes that
	// share a ledger share its clock; it is the only clock by which leases and
	// due times may be judged.
	Now() time.Time
}

// An Entry is one key with its value. The receiver owns both slices.
type Entry struct {
	Key, Value []byte
}
