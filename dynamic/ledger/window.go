package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Count reads how often something was done in a window that its key names, 0 where nothing stands
// there.
func Count(tx Tx, key []byte) (int64, error) {
	value, err := tx.Get(key)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", KeyText(key), err)
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("reading %s: %q is not a count", KeyText(key), value)
	}
	return n, nil
}

// Has reports whether anything stands at a key.
func Has(tx Tx, key []byte) (bool, error) {
	_, err := tx.Get(key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// SetCount writes what Count reads.
func SetCount(tx Tx, key []byte, n int64) error { return tx.Set(key, strconv.AppendInt(nil, n, 10)) }

// Forget deletes the first entries of a range, at most so many or with 0 all of them, and returns
// their keys. Where keys go by time, whoever writes a new one forgets some that are over.
func Forget(tx Tx, from, to []byte, most int) (over [][]byte, err error) {
	for e, err := range tx.Scan(from, to) {
		if err != nil {
			return nil, err
		}
		if over = append(over, e.Key); len(over) == most {
			break
		}
	}
	for _, key := range over {
		if err := tx.Delete(key); err != nil {
			return nil, err
		}
	}
	return over, nil
}

// Tomorrow is when the UTC day of a time ends.
func Tomorrow(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour) }
