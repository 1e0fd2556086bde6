package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// planted are bugs, and for each a rule that must notice it.
var planted = []struct{ bug, rule string }{
	{"empty is absent", "entries"},
	{"nil for empty", "entries"},
	{"first value stays", "entries"},
	{"does not delete", "entries"},
	{"deleting an absent key fails", "entries"},
	{"no limits", "limits"},
	{"View swallows writes", "read-only"},
	{"View turns errors into its own", "read-only"},
	{"an error commits", "rollback"},
	{"Update turns errors into its own", "rollback"},
	{"an error commits", "counter"},
	{"a panic commits", "panic"},
	{"a panic is swallowed", "panic"},
	{"a panic keeps the turn", "panic"},
	{"lives on", "over"},
	{"Get misses own writes", "own-writes"},
	{"Scan misses own writes", "own-writes"},
	{"a scan stops after a page", "own-writes"},
	{"Scan is prepared", "writes-ahead"},
	{"order of a dictionary", "order"},
	{"ScanDown goes up", "order"},
	{"to is included", "ranges"},
	{"from is left out", "ranges"},
	{"no upper bound", "ranges"},
	{"0xFF prefix ends early", "ranges"},
	{"fails after a scan was left", "break-then-write"},
	{"keeps values", "keeps-no-memory"},
	{"keeps keys", "keeps-no-memory"},
	{"Get lends values", "lends-no-memory"},
	{"a scan lends values", "lends-no-memory"},
	{"loses a write", "model"},
	{"does not delete", "model"},
	{"local time", "clock"},
	{"clock an hour off", "clock"},
	{"clock stands still", "lease"},
	{"writes of an earlier call stay", "increments"},
	{"read committed", "increments"},
	{"read committed", "one-winner"},
	{"read committed", "lease-race"},
	{"snapshot isolation", "write-skew"},
	{"snapshot isolation", "phantoms"},
	{"Update ignores its context", "cancelled"},
	{"View ignores its context", "cancelled"},
	{"waits without its context", "cancelled-while-waiting"},
	{"a failure is the next one's, too", "neighbours"},
	{"an error commits", "neighbours"},
	{"a panic commits", "neighbours"},
	{"a panic is swallowed", "neighbours"},
	{"writes of an earlier call stay", "neighbours"},
	{"View reads what is there now", "snapshot"},
	{"a commit is seen in halves", "transfers"},
	{"read committed", "transfers"},
	{"View sees the state before the last commit", "history"},
	{"read committed", "history"},
	{"a scan stops after a page", "backup"},
	{"works after Close", "closed"},
	{"closing twice fails", "closed"},
}

// check runs a rule against a toy; a hang and a crash are findings, too.
func check(t *testing.T, r rule, bug string) (err error) {
	patience := patience
	if bug == "clock stands still" || bug == "a panic keeps the turn" || bug == "waits without its context" {
		patience = time.Second // these hang
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return r.check(ctx, func() ledger.DB { return newToy(bug) })
}

func TestSuiteAcceptsAnHonestEngine(t *testing.T) {
	for _, r := range rules {
		if err := check(t, r, ""); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestSuiteCatchesPlantedBugs(t *testing.T) {
	byName := map[string]rule{}
	for _, r := range rules {
		byName[r.name] = r
	}
	tried := map[string]bool{}
	for _, p := range planted {
		r, ok := byName[p.rule]
		if !ok {
			t.Fatalf("no rule %s", p.rule)
		}
		tried[p.rule] = true
		t.Run(p.rule+"/"+p.bug, func(t *testing.T) {
			err := check(t, r, p.bug)
			// What only some interleavings show, a busy machine may not show at once.
			for range 30 {
				if err != nil {
					break
				}
				err = check(t, r, p.bug)
			}
			if err == nil {
				t.Fatalf("rule %s did not notice: %s", p.rule, p.bug)
			}
			t.Log(err)
		})
	}
	for _, r := range rules {
		if !tried[r.name] {
			t.Errorf("rule %s has no planted bug that it must notice", r.name)
		}
	}
}
