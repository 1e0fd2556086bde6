package till

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// A restored ledger is closed, and is opened again network by network (M13):
//
//	meta/closed            when it was restored; there until every configured network is open
//	meta/open:<network>    a network that was opened meanwhile
//
// What was claimed and sent after the backup is known to nobody but the chain. It may land for as
// long as its authorization is valid, so a network waits until none of them can, by the time of a
// block that is final, and is then read once more.

// reopenMargin is what is added to the longest validity, for a ledger's clock that is behind the
// one that judged it.
const reopenMargin = time.Minute

func openedKey(network string) []byte { return ledger.MetaKey(openedPrefix + network) }

const openedPrefix = "open:"

// Shut closes a ledger that is being restored, in the restore's own transaction: no purchase is
// taken until Reopen (M13). What the backup says of an earlier restore counts no more.
func Shut(tx ledger.Tx) error {
	if err := forgetRestore(tx); err != nil {
		return err
	}
	at := []byte(tx.Now().Format(time.RFC3339))
	return errors.Join(tx.Set(ledger.ClosedKey(), at), tx.Set(metaRestored, at))
}

// metaRestored is when the ledger was restored last, also once it is open again.
var metaRestored = ledger.MetaKey("restored")

// nonceVoid is how long after a restore no signed instruction is taken: one that was taken before,
// and forgotten, may be dated that far ahead (M13).
const nonceVoid = 600 * time.Second

// AccountsOpen is when orders on account are taken again after a restore; zero where they are.
func AccountsOpen(tx ledger.Tx) (until time.Time, err error) {
	shut, err := isClosed(tx, NetworkAccount)
	if err != nil {
		return until, err
	}
	v, err := tx.Get(metaRestored)
	if err != nil && !errors.Is(err, errNotFound) {
		return until, err
	}
	if err == nil {
		at, err := time.Parse(time.RFC3339, string(v))
		if err != nil {
			return until, err
		}
		until = at.Add(nonceVoid)
	}
	now := tx.Now()
	switch {
	case now.Before(until):
		return until, nil
	case shut: // nobody knows when it is opened
		return now.Add(nonceVoid), nil
	}
	return time.Time{}, nil
}

// forgetRestore removes what is noted of a restore.
func forgetRestore(tx ledger.Tx) error {
	var keys [][]byte
	for e, err := range tx.Scan(ledger.Prefix(ledger.Key("meta"))) {
		if err != nil {
			return err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return err
		}
		if strings.HasPrefix(parts[1], openedPrefix) {
			keys = append(keys, e.Key)
		}
	}
	keys = append(keys, ledger.ClosedKey(), metaReconciled)
	for _, k := range keys {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// isClosed reports a network of a restored store that was not reopened yet.
func isClosed(tx ledger.Tx, network string) (bool, error) {
	for _, k := range []struct {
		key  []byte
		open bool // what its absence says
	}{{ledger.ClosedKey(), true}, {openedKey(network), false}} {
		_, err := tx.Get(k.key)
		switch {
		case errors.Is(err, errNotFound) && k.open:
			return false, nil
		case errors.Is(err, errNotFound):
			return true, nil
		case err != nil:
			return false, err
		}
	}
	return false, nil
}

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

// ReopenOptions says what to reopen.
type ReopenOptions struct {
	Network string // CAIP-2; empty is every network
	Dry     bool   // says how things stand and changes nothing
}

// Reopen opens a restored and reconciled ledger for business on the networks on which nothing that
// was sent before the restore can land any more, and says of each how it stands. The error is
// ErrNotYet where one has to wait.
func Reopen(ctx context.Context, db ledger.DB, rails []rail.Rail, o ReopenOptions) ([]Reopened, error) {
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
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = db.Update(lctx, func(tx ledger.Tx) error {
		for _, r := range rails {
			if shut, err := isClosed(tx, r.Info().Network); err != nil || shut {
				return err
			}
		}
		return forgetRestore(tx)
	})
	return out, errors.Join(append(late, err)...)
}

// restoredAt is when the ledger was restored; zero for one that is open. One that was not compared
// with the chains is an error.
func restoredAt(ctx context.Context, db ledger.DB) (at time.Time, err error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = db.View(ctx, func(tx ledger.Tx) error {
		at = time.Time{}
		v, err := tx.Get(ledger.ClosedKey())
		if errors.Is(err, errNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.Get(metaReconciled); errors.Is(err, errNotFound) {
			return errNotReconciled
		} else if err != nil {
			return err
		}
		at, err = time.Parse(time.RFC3339, string(v))
		return err
	})
	return at, err
}

// reopen opens one network, if it may be.
func reopen(ctx context.Context, db ledger.DB, r rail.Rail, since time.Time, dry bool) (Reopened, error) {
	info := r.Info()
	s := Reopened{Network: info.Network}
	lctx, cancel := ledgerContext(ctx)
	err := db.View(lctx, func(tx ledger.Tx) error {
		shut, err := isClosed(tx, info.Network)
		s.Open = !shut
		return err
	})
	cancel()
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
	lctx, cancel = ledgerContext(ctx)
	defer cancel()
	err = db.Update(lctx, func(tx ledger.Tx) error {
		// Payers may have spent more than the backup knows.
		return errors.Join(tx.Set(openedKey(info.Network), nil), channels.Doubt(tx, info.Network))
	})
	if err != nil {
		return s, err
	}
	s.Open = true
	return s, nil
}

// Closed are the networks of a restored ledger that were not opened yet, and when it was restored.
func (t *Till) Closed(ctx context.Context) (networks []string, since time.Time, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		networks = nil
		for _, r := range t.cfg.Rails {
			shut, err := isClosed(tx, r.Info().Network)
			if err != nil {
				return err
			}
			if !shut {
				continue
			}
			networks = append(networks, r.Info().Network)
			at, err := tx.Get(ledger.ClosedKey())
			if err != nil {
				return err
			}
			since, _ = time.Parse(time.RFC3339, string(at)) // a mark of another form is closed all the same
		}
		return nil
	})
	return networks, since, err
}
