package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A restored ledger is closed, and is opened again network by network (M13):
//
//	meta/closed            when it was restored; there until every configured network is open
//	meta/open:<network>    a network that was opened meanwhile
//	meta/reconciled        when it was compared with the chains
//	meta/restored          when it was restored last, also once it is open again

const openedPrefix = "open:"

func restoredKey() []byte { return MetaKey("restored") }

func reconciledKey() []byte { return MetaKey("reconciled") }

// Shut closes a ledger that is being restored, in the restore's own transaction: no purchase is
// taken until it is open again (M13). What the backup says of an earlier restore counts no more.
func Shut(tx Tx) error {
	if err := Reopen(tx); err != nil {
		return err
	}
	return errors.Join(setNow(tx, ClosedKey()), setNow(tx, restoredKey()))
}

// Reopen opens a ledger that was closed, for every network.
func Reopen(tx Tx) error {
	var keys [][]byte
	for e, err := range tx.Scan(Prefix(Key(prefixMeta))) {
		if err != nil {
			return err
		}
		parts, err := Parts(e.Key)
		if err != nil {
			return err
		}
		if strings.HasPrefix(parts[1], openedPrefix) {
			keys = append(keys, e.Key)
		}
	}
	for _, k := range append(keys, ClosedKey(), reconciledKey()) {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// ReopenNetwork opens a closed ledger for one network.
func ReopenNetwork(tx Tx, network string) error { return tx.Set(MetaKey(openedPrefix+network), nil) }

// SetReconciled notes that a closed ledger was compared with the chains.
func SetReconciled(tx Tx) error { return setNow(tx, reconciledKey()) }

// IsReconciled reports whether a closed ledger was compared with the chains.
func IsReconciled(tx Tx) (bool, error) { return Has(tx, reconciledKey()) }

// IsClosed reports a network of a restored ledger that was not reopened yet.
func IsClosed(tx Tx, network string) (bool, error) {
	closed, err := Has(tx, ClosedKey())
	if err != nil || !closed {
		return false, err
	}
	open, err := Has(tx, MetaKey(openedPrefix+network))
	return err == nil && !open, err
}

// ClosedSince is when a closed ledger was restored; zero of one that is open.
func ClosedSince(tx Tx) (time.Time, error) { return timeAt(tx, ClosedKey()) }

// RestoredAt is when a ledger was restored last, also once it is open again; zero of one that never
// was.
func RestoredAt(tx Tx) (time.Time, error) { return timeAt(tx, restoredKey()) }

func setNow(tx Tx, key []byte) error { return tx.Set(key, []byte(tx.Now().Format(time.RFC3339))) }

// timeAt is the time that is noted at a key; zero where nothing is.
func timeAt(tx Tx, key []byte) (time.Time, error) {
	v, err := tx.Get(key)
	if errors.Is(err, ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, string(v))
	if err != nil {
		return time.Time{}, fmt.Errorf("reading %s: %w", KeyText(key), err)
	}
	return at, nil
}
