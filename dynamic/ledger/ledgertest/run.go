package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// patience is how long one rule may take, also on a slow and crowded machine.
const patience = 5 * time.Minute

// A rule is one part of the contract and how to see that an engine obeys it. It
// returns an error rather than failing a test, so that the suite can be tested.
type rule struct {
	name  string
	check func(ctx context.Context, open func() ledger.DB) error
}

// rules are all rules, simple ones first.
var rules = []rule{
	{"entries", checkEntries},
	{"limits", checkLimits},
	{"read-only", checkReadOnly},
	{"rollback", checkRollback},
	{"panic", checkPanic},
	{"over", checkOver},
	{"own-writes", checkOwnWrites},
	{"writes-ahead", checkWritesAhead},
	{"order", checkOrder},
	{"ranges", checkRanges},
	{"break-then-write", checkBreak},
	{"keeps-no-memory", checkKeeps},
	{"lends-no-memory", checkLends},
	{"model", checkModel},
	{"clock", checkClock},
	{"counter", checkCounter},
	{"increments", checkIncrements},
	{"one-winner", checkOneWinner},
	{"write-skew", checkWriteSkew},
	{"phantoms", checkPhantoms},
	{"cancelled", checkCancelled},
	{"cancelled-while-waiting", checkCancelledWaiting},
	{"neighbours", checkNeighbours},
	{"snapshot", checkSnapshot},
	{"transfers", checkTransfers},
	{"history", checkHistory},
	{"lease", checkLease},
	{"lease-race", checkLeaseRace},
	{"backup", checkBackup},
	{"closed", checkClosed},
}

// Run runs the conformance suite. Each call of open returns a new, empty ledger
// that is closed when the test it was given ends; closing it twice must be
// harmless.
func Run(t *testing.T, open func(t *testing.T) ledger.DB) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := r.check(ctx, func() ledger.DB { return open(t) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// set stores one entry in an Update of its own.
func set(ctx context.Context, db ledger.DB, key, value string) error {
	return db.Update(ctx, func(tx ledger.Tx) error { return tx.Set([]byte(key), []byte(value)) })
}

// expect demands that a View finds value at key; "-" means absent.
func expect(ctx context.Context, db ledger.DB, key, want string) error {
	return db.View(ctx, func(tx ledger.Tx) error { return expectTx(tx, key, want) })
}

func expectTx(tx ledger.Tx, key, want string) error {
	value, err := tx.Get([]byte(key))
	got := string(value)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		got = "-"
	case err != nil:
		return fmt.Errorf("Get(%q): %w", key, err)
	case value == nil:
		return fmt.Errorf("Get(%q) = nil without an error", key)
	}
	if got != want {
		return fmt.Errorf("Get(%q) = %.40q, want %.40q", key, got, want)
	}
	return nil
}

// list returns the entries of a range as key=value, both ways, and demands that
// the ways agree.
func list(tx ledger.Tx, from, to string) ([]string, error) {
	var up, down []string
	for e, err := range tx.Scan([]byte(from), []byte(to)) {
		if err != nil {
			return nil, err
		}
		up = append(up, string(e.Key)+"="+string(e.Value))
	}
	for e, err := range tx.ScanDown([]byte(from), []byte(to)) {
		if err != nil {
			return nil, err
		}
		down = append([]string{string(e.Key) + "=" + string(e.Value)}, down...)
	}
	if err := same(fmt.Sprintf("ScanDown(%q, %q), turned round", from, to), down, up); err != nil {
		return nil, err
	}
	return up, nil
}

func same(what string, got, want []string) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s gives %d entries %.300q, want %d %.300q", what, len(got), got, len(want), want)
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("%s: entry %d is %.60q, want %.60q", what, i, got[i], want[i])
		}
	}
	return nil
}

// fill stores 200 entries of 100 bytes, so that an engine does not treat the
// whole ledger as one small page.
func fill(ctx context.Context, db ledger.DB) error {
	return db.Update(ctx, func(tx ledger.Tx) error {
		for i := range 200 {
			if err := tx.Set(fmt.Appendf(nil, "fill/%03d", i), fmt.Appendf(nil, "%0100d", i)); err != nil {
				return err
			}
		}
		return nil
	})
}
