package roster_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// kept counts what the ledger holds of a week beside the word that it was.
func (w *world) kept(week string) (n int) {
	w.t.Helper()
	err := w.db.View(w.t.Context(), func(tx ledger.Tx) error {
		n = 0
		for e, err := range tx.Scan(ledger.Prefix(ledger.CensusKey())) {
			if err != nil {
				return err
			}
			if parts, err := ledger.Parts(e.Key); err != nil {
				return err
			} else if slices.Contains(parts[2:], week) && parts[1] != "week" {
				n++
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// A week that was walked and not sealed is kept until a later round is sealed, after which it never
// can be.
func TestUnsealedWeekIsDroppedWithTheNextRound(t *testing.T) {
	for _, closed := range []bool{false, true} {
		w := newWorld(t)
		cfg := w.config(lists(urls("ready-many", "ready-bare", "no-route")...)...)
		cfg.Writer = nil
		if r := w.run(cfg); r.Outcome != census.OutcomeWalked {
			t.Fatalf("report %+v", r)
		}
		missed := record.ISOWeek(w.now)
		if closed {
			lease, err := w.store.Take(t.Context(), missed, census.JobSeal, "a process that dies", time.Hour)
			if err == nil {
				err = w.store.Close(t.Context(), lease)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w.now = w.now.AddDate(0, 0, 7)
		cfg = w.config(lists(urls("ready-many")...)...)
		cfg.Writer = nil
		w.run(cfg)
		if w.kept(missed) == 0 {
			t.Fatalf("closed %v: nothing is kept of %s, which may still be sealed", closed, missed)
		}
		if left, err := w.store.Addresses(t.Context(), missed); err != nil || len(left) == 0 {
			t.Fatalf("no address was seen: %v", err)
		}
		cfg = w.config(lists(urls("ready-many")...)...)
		if r := w.run(cfg); r.Outcome != census.OutcomeSealed {
			t.Fatalf("report %+v", r)
		}
		if n := w.kept(missed); n > 0 {
			t.Errorf("closed %v: %d entries are kept of %s, which can never be sealed", closed, n, missed)
		}
		if week, err := w.store.Week(t.Context(), missed); err != nil || week.Phase != census.PhaseDropped {
			t.Errorf("closed %v: the missed week is %+v, %v", closed, week, err)
		}
		w.verify()
	}
}

// Without a round that is sealed, a week stays for as many weeks as it may be gone on with, and one
// that was closed longer: all that it lacks is the seal.
func TestOldRostersAreDropped(t *testing.T) {
	w := &world{t: t, db: ledger.NewMem(ledger.MemOptions{})}
	w.store = roster.New(w.db)
	monday := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	week := func(i int) string { return record.ISOWeek(monday.AddDate(0, 0, 7*i)) }
	list := func(i int, hosts ...string) {
		t.Helper()
		var known iter.Seq[census.Known] = func(yield func(census.Known) bool) {
			for _, h := range hosts {
				if !yield(census.Known{Host: h, Entry: &census.Entry{Host: h, URL: "https://" + h + "/"}}) {
					return
				}
			}
		}
		lease, err := w.store.Take(t.Context(), week(i), census.JobRoster, "a", time.Hour)
		if err == nil {
			err = w.store.List(t.Context(), lease, census.Week{Week: week(i), OpenedAt: monday}, known, time.Hour)
		}
		if err == nil {
			_, err = w.store.Draw(t.Context(), lease, record.Lot{Own: make([]byte, 32)})
		}
		if err == nil {
			err = w.store.Deal(t.Context(), lease, known, 2, time.Hour)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	finish := func(i int) {
		t.Helper()
		shard, err := w.store.TakeShard(t.Context(), week(i), "a", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var done []census.Result
		for _, e := range shard.Todo {
			done = append(done, census.Result{Row: record.Row{Host: e.Host, URL: e.URL,
				Verdict: record.VerdictNotProbed}})
		}
		if err := w.store.Commit(t.Context(), shard, census.Commit{Results: done}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	list(0, "a.test", "b.test", "c.test")
	list(1, "a.test", "b.test")
	finish(1)
	lease, err := w.store.Take(t.Context(), week(1), census.JobSeal, "a", time.Hour)
	if err == nil {
		err = w.store.Close(t.Context(), lease)
	}
	if err != nil {
		t.Fatal(err)
	}
	list(2, "a.test")
	finish(2)
	whole := []int{w.kept(week(0)), w.kept(week(1)), w.kept(week(2))}
	if slices.Contains(whole, 0) {
		t.Fatalf("kept %v", whole)
	}
	check := func(dropped ...int) {
		t.Helper()
		var want, got []string
		for i, n := range whole {
			phase := census.PhaseOpen
			if i == 1 {
				phase = census.PhaseClosed
			}
			if slices.Contains(dropped, i) {
				n, phase = 0, census.PhaseDropped
			}
			state, err := w.store.Week(t.Context(), week(i))
			if err != nil {
				t.Fatal(err)
			}
			want, got = append(want, fmt.Sprint(n, phase)), append(got, fmt.Sprint(w.kept(week(i)), state.Phase))
		}
		if !slices.Equal(got, want) {
			t.Errorf("kept %q, want %q", got, want)
		}
	}
	list(census.KeepWeeks, "d.test")
	check()
	list(census.KeepWeeks+1, "d.test")
	check(0)
	list(census.KeepWeeks+40, "d.test")
	check(0, 2)

	// Who still walks a week that was dropped is told, and nothing comes back of it.
	if _, err := w.store.TakeShard(t.Context(), week(0), "b", time.Hour); err != census.ErrDone {
		t.Fatalf("TakeShard: %v", err)
	}
	lease, err = w.store.Take(t.Context(), week(0), census.JobRoster, "b", time.Hour)
	if err == nil {
		err = w.store.List(t.Context(), lease, census.Week{Week: week(0)}, func(func(census.Known) bool) {}, time.Hour)
	}
	if err == nil {
		t.Error("a roster was written for it again")
	}
	cfg := census.Config{Week: week(0), Owner: "b", Store: w.store, Client: newWorld(t).client()}
	if _, err := census.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "not sealed in time") {
		t.Errorf("Run: %v", err)
	}
	check(0, 2)
}
