package roster_test

import (
	"context"
	"testing"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
)

// declared are declarations that may grow.
type declared []census.Declaration

func (d *declared) Declared(context.Context) ([]census.Declaration, error) { return *d, nil }

func TestDeclaredHostsAreWalkedWithinTheHour(t *testing.T) {
	w := newWorld(t)
	fresh := &declared{}
	sources := append([]census.Source{census.Declared("declared", fresh)}, lists(urls("ready-many")...)...)
	walkers := w.config(sources...)
	walkers.Writer = nil
	if r := w.run(walkers); r.Outcome != census.OutcomeWalked || r.Due != 1 {
		t.Fatalf("walk only: %+v", r)
	}
	for _, name := range []string{"ready-bare", "ready-many", "post-by-discovery"} {
		*fresh = append(*fresh, census.Declaration{Host: hostOf(name),
			Doors: []string{urls(name)[0], "https://foreign.example/paid"}, Methods: []string{"POST", ""}})
	}
	for i, want := range []int{2, 0} {
		hour, err := census.Hourly(t.Context(), w.config(sources...))
		if err != nil || hour.Outcome != census.OutcomeWalked || hour.Added != want || hour.Due != 3 {
			t.Fatalf("firing %d: %+v, %v", i, hour, err)
		}
	}
	w.run(w.config(sources...))
	w.verify()
	rows := w.rows(1)
	for _, name := range []string{"ready-bare", "post-by-discovery"} {
		if r := rows[hostOf(name)]; r.Source != record.SourceWellKnown || r.Verdict != record.VerdictReady ||
			w.street.Visits(hostOf(name)) != 1 {
			t.Errorf("%s: %+v, walked %d times", name, r, w.street.Visits(hostOf(name)))
		}
	}
	if m := rows[hostOf("post-by-discovery")].ProbeMethod; m == nil || m.Used != "POST" ||
		m.DeclaredBy != "well-known" {
		t.Errorf("the declared method: %+v", m)
	}
	if got := w.round(1).Roster.Sources[0].Hosts; got != 2 {
		t.Errorf("the round counts %d declared hosts", got)
	}
	if late, err := census.Hourly(t.Context(), w.config(sources...)); err != nil ||
		late.Outcome != census.OutcomeNotOpen || late.Sequence != 1 {
		t.Errorf("after the round: %+v, %v", late, err)
	}
}

// TestTheHourBeginsTheWeek: who declares before anybody read the sources is walked at the next
// firing, with the lists that the firing reads, and rides the round that is sealed later; after
// that one the next firing of a new week does it.
func TestTheHourBeginsTheWeek(t *testing.T) {
	w := newWorld(t)
	fresh := &declared{}
	declare := func(name string) {
		*fresh = append(*fresh, census.Declaration{Host: hostOf(name),
			Doors: urls(name), Methods: []string{""}})
	}
	config := func() census.Config {
		return w.config(append([]census.Source{census.Declared("declared", fresh)}, lists(urls("ready-many")...)...)...)
	}
	fire := func(outcome string, due, walked int64) {
		t.Helper()
		cfg := config()
		cfg.Writer = nil // a server may hold no key of the record
		r, err := census.Hourly(t.Context(), cfg)
		if err != nil || r.Outcome != outcome || r.Due != due || r.Walked != walked {
			t.Fatalf("%s: %+v, %v", record.ISOWeek(w.now), r, err)
		}
	}
	declare("ready-bare")
	fire(census.OutcomeWalked, 2, 2)
	declare("ready-dual")
	fire(census.OutcomeWalked, 3, 1)
	if r := w.run(config()); r.Outcome != census.OutcomeSealed || r.Rows != 3 || r.Walked != 0 {
		t.Fatalf("%+v", r)
	}
	w.verify()
	for name, source := range map[string]string{"ready-bare": record.SourceWellKnown,
		"ready-dual": record.SourceWellKnown} {
		if r := w.rows(1)[hostOf(name)]; r.Source != source || r.Verdict != record.VerdictReady ||
			w.street.Visits(hostOf(name)) != 1 {
			t.Errorf("%s: %+v, walked %d times", name, r, w.street.Visits(hostOf(name)))
		}
	}
	declare("post-by-discovery")
	fire(census.OutcomeNotOpen, 3, 0)
	// A new ledger does not know that the round of the week is sealed, and the record does.
	held := w.store
	w.store = roster.New(ledger.NewMem(ledger.MemOptions{}))
	fire(census.OutcomeStood, 3, 0)
	w.store = held
	w.now = w.now.AddDate(0, 0, 7)
	fire(census.OutcomeWalked, 4, 4)
	for name, visits := range map[string]int{"ready-bare": 2, "post-by-discovery": 1} {
		if got := w.street.Visits(hostOf(name)); got != visits {
			t.Errorf("%s was walked %d times, want %d", name, got, visits)
		}
	}
}

// TestDeclaredHostsHaveQuotas adds declared hosts one by one to a week with a cap: at first a
// quarter of it, in the week one more, and the others are told that the quota is used up. The
// roster of the next week is dealt anew.
func TestDeclaredHostsHaveQuotas(t *testing.T) {
	w := newWorld(t)
	fresh := &declared{}
	declare := func(name string) {
		*fresh = append(*fresh, census.Declaration{Host: hostOf(name),
			Doors: urls(name)})
	}
	config := func() census.Config {
		cfg := w.config(census.Declared("declared", fresh))
		cfg.Cap = 8
		return cfg
	}
	states := func() map[string]int {
		out := map[string]int{}
		for _, d := range *fresh {
			why, err := w.store.Why(t.Context(), record.ISOWeek(w.now), d.Host)
			if err != nil {
				t.Fatal(err)
			}
			if out[why.ThisWeek.State]++; why.ThisWeek.State == census.StateOverQuota && why.ThisWeek.Reason == "" {
				t.Errorf("%s: no reason", d.Host)
			}
		}
		return out
	}
	for _, name := range []string{"ready-bare", "ready-many", "ready-dual"} {
		declare(name)
	}
	walkers := config()
	walkers.Writer = nil
	if r := w.run(walkers); r.Due != 2 || r.Capped {
		t.Fatalf("walk only: %+v", r)
	}
	if got := states(); got[census.StateWalked] != 2 || got[census.StateOverQuota] != 1 {
		t.Errorf("at first %v", got)
	}
	for i, name := range []string{"post-by-discovery", "put-only"} {
		declare(name)
		hour, err := census.Hourly(t.Context(), config())
		if err != nil || hour.Capped || hour.Added != 1-i || hour.Due != 3 {
			t.Fatalf("with %s: %+v, %v", name, hour, err)
		}
		if got := states(); got[census.StateOverQuota] != 1+i {
			t.Errorf("with %s: %v", name, got)
		}
	}
	if r := w.run(config()); r.Outcome != census.OutcomeSealed || r.Rows != 3 {
		t.Fatalf("%+v", r)
	}
	w.now = w.now.AddDate(0, 0, 7)
	if r := w.run(config()); r.Rows != 2 {
		t.Errorf("the week after: %+v", r)
	}
	w.verify()
}
