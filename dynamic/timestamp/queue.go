package timestamp

import "store.example/agentstore/dynamic/ledger"

// Queue is the package as goods use it, inside their transactions.
type Queue struct {
	// Open says that there are calendars, so that digests may be asked for.
	Open bool
}

// Ready reports whether digests may be sold.
func (q Queue) Ready() bool { return q.Open }

// Known is the function of that name.
func (Queue) Known(tx ledger.Tx, digest string) (bool, error) { return Known(tx, digest) }

// Want is the function of that name. A digest that was paid for is taken down whatever has changed
// since.
func (Queue) Want(tx ledger.Tx, digest string) error { return Want(tx, digest) }
