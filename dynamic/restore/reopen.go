package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// What was claimed and sent after the backup is known to nobody but the chain. It may land for as
// long as its authorization is valid, so a network waits until none of them can, by the time of a
// block that is final, and is then read once more.

// reopenMargin is what is added to the longest validity, for a ledger's clock that is behind the
// one that judged it.
const reopenMargin = time.Minute

// Reopened is how one network of a restored store stands.
type Reopened struct {
	Network string `json:"network" doc:"The network."`
	Open    bool   `json:"open" doc:"Whether it is open."`
	// WaitUntil is the time that a final block must have passed before the network may be opened,
	// and Final the time of the newest one there is.
	WaitUntil string `json:"wait_until,omitempty" doc:"The time that a final block must have passed before it may be opened, UTC."`
	Final     string `json:"final_block_time,omitempty" doc:"The time of the newest one there is, UTC."`
	Reason    string `json:"reason,omitempty" wide:"true" doc:"Why it is not open."`
	// purchases that were found on the chain alone when it was read once more
	FromChain int `json:"from_chain" doc:"Purchases that were found on the chain alone when it was read once more."`
}

// ErrNotYet says that a network of a restored store cannot be opened yet. It passes by itself.
var ErrNotYet = errors.New("payments that were sent before the restore may still land")

// Options says what to reopen.
type Options struct {
	Network string // CAIP-2; empty is every network
	Dry     bool   // says how things stand and changes nothing
}

// Reopen opens a restored and reconciled ledger for business on the networks on which nothing that
// was sent before the restore can land any more, and says of each how it stands. The error is
// ErrNotYet where one has to wait.
func Reopen(ctx context.Context, db ledger.DB, rails []rail.Rail, o Options) ([]Reopened, error) {
	if o.Network != "" && !slices.ContainsFunc(rails, func(r rail.Rail) bool { return r.Info().Network == o.Network }) {
		return nil, fmt.Errorf("network %s is not configured", o.Network)
	}
	since, err := restoredAt(ctx, db)
	if err != nil || since.IsZero() {
		return nil, err
	}
	var out []Reopened
	var late []error
	for _, r := range rails {
		if o.Network != "" && r.Info().Network != o.Network {
			continue
		}
		s, err := reopen(ctx, db, r, since, o.Dry)
		out = append(out, s)
		if err != nil {
			late = append(late, fmt.Errorf("%s stays closed: %w", s.Network, err))
		}
	}
	if o.Dry {
		return out, errors.Join(late...)
	}
	err = update(ctx, db, func(tx ledger.Tx) error {
		for _, r := range rails {
			if shut, err := ledger.IsClosed(tx, r.Info().Network); err != nil || shut {
				return err
			}
		}
		return ledger.Reopen(tx)
	})
	return out, errors.Join(append(late, err)...)
}

// restoredAt is when the ledger was restored; zero for one that is open. One that was not compared
// with the chains is an error.
func restoredAt(ctx context.Context, db ledger.DB) (at time.Time, err error) {
	err = view(ctx, db, func(tx ledger.Tx) (err error) {
		if at, err = ledger.ClosedSince(tx); err != nil || at.IsZero() {
			return err
		}
		compared, err := ledger.IsReconciled(tx)
		if err == nil && !compared {
			return errNotReconciled
		}
		return err
	})
	return at, err
}

// reopen opens one network, if it may be.
func reopen(ctx context.Context, db ledger.DB, r rail.Rail, since time.Time, dry bool) (Reopened, error) {
	info := r.Info()
	s := Reopened{Network: info.Network}
	err := view(ctx, db, func(tx ledger.Tx) error {
		shut, err := ledger.IsClosed(tx, info.Network)
		s.Open = !shut
		return err
	})
	if err != nil || s.Open {
		return s, err
	}
	until := since.Add(info.Timeout + rail.Longer + reopenMargin)
	s.WaitUntil = until.UTC().Format(time.RFC3339)
	if err := r.Check(ctx); err != nil {
		s.Reason = "its node is not seen to be on the configured chain"
		return s, err
	}
	final, err := r.Final(ctx)
	if err != nil {
		s.Reason = "the network cannot be read"
		return s, fmt.Errorf("reading its final block: %w", err)
	}
	s.Final = final.Time.UTC().Format(time.RFC3339)
	if !final.Time.After(until) {
		s.Reason = fmt.Sprintf("%v: no authorization of then is valid after %s, and the newest final block is of %s. "+
			"Try again when one is later", ErrNotYet, s.WaitUntil, s.Final)
		return s, fmt.Errorf("%w: no authorization of then is valid after %s, and the newest final block is of %s; "+
			"try again when one is later, or wait with -wait",
			ErrNotYet, s.WaitUntil, s.Final)
	}
	if dry {
		return s, nil
	}
	rec, err := reconcile(ctx, db, r)
	if err != nil {
		s.Reason = "the network cannot be read"
		return s, fmt.Errorf("reading it once more: %w", err)
	}
	s.FromChain = rec.FromChain
	err = update(ctx, db, func(tx ledger.Tx) error {
		// Payers may have spent more than the backup knows.
		return errors.Join(ledger.ReopenNetwork(tx, info.Network), channels.Doubt(tx, info.Network))
	})
	if err != nil {
		return s, err
	}
	s.Open = true
	return s, nil
}
