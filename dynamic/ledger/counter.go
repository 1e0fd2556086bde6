package ledger

// Next gives out the next number of the named counter: 1, then 2, and so on.
// The number belongs to the transaction: if it does not commit, the next one
// gets the same number, so that committed numbers have no gaps and no repeats.
func Next(tx Tx, name string) (int64, error) {
	n, err := Last(tx, name)
	if err != nil {
		return 0, err
	}
	n++
	if err := SetCount(tx, CounterKey(name), n); err != nil {
		return 0, err
	}
	return n, nil
}

// Last returns the last number that Next gave out, 0 before the first.
func Last(tx Tx, name string) (int64, error) { return Count(tx, CounterKey(name)) }

// Raise makes the last number of a counter at least n, for a restored ledger
// whose numbers beyond the backup are already in the world. It never lowers it.
func Raise(tx Tx, name string, n int64) error {
	last, err := Last(tx, name)
	if err != nil || n <= last {
		return err
	}
	return SetCount(tx, CounterKey(name), n)
}
