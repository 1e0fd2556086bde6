package ledger

import (
	"errors"
	"fmt"
	"strconv"
)

// Next gives out the next number of the named counter: 1, then 2, and so on.
// The number belongs to the transaction: if it does not commit, the next one
// gets the same number, so that committed numbers have no gaps and no repeats.
func Next(tx Tx, name string) (int64, error) {
	n, err := Last(tx, name)
	if err != nil {
		return 0, err
	}
	n++
	if err := setCounter(tx, name, n); err != nil {
		return 0, err
	}
	return n, nil
}

// Last returns the last number that Next gave out, 0 before the first.
func Last(tx Tx, name string) (int64, error) {
	value, err := tx.Get(CounterKey(name))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading counter %s: %w", name, err)
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("reading counter %s: %q is not a count", name, value)
	}
	return n, nil
}

// Raise makes the last number of a counter at least n, for a restored ledger
// whose numbers beyond the backup are already in the world. It never lowers it.
func Raise(tx Tx, name string, n int64) error {
	last, err := Last(tx, name)
	if err != nil || n <= last {
		return err
	}
	return setCounter(tx, name, n)
}

func setCounter(tx Tx, name string, n int64) error {
	return tx.Set(CounterKey(name), strconv.AppendInt(nil, n, 10))
}
