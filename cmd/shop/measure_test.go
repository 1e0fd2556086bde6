package shop

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// measured are the gauges of some names, each with its last label.
func measured(t *testing.T, m *dynamic.Metrics, names ...string) map[string]float64 {
	t.Helper()
	all, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range all {
		for _, name := range names {
			if family.GetName() != name {
				continue
			}
			for _, one := range family.GetMetric() {
				var key strings.Builder
				key.WriteString(name)
				for _, label := range one.GetLabel() {
					key.WriteString(" " + label.GetValue())
				}
				got[key.String()] = one.GetGauge().GetValue()
			}
		}
	}
	return got
}

// A queue that was emptied is no longer measured, and a census is as far as it is.
func TestLedgerIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(thursday()))
		dir := t.TempDir()
		c := observingConfig(dir)
		c.Census = CensusConfig{List: filepath.Join(dir, "doors.txt")}
		if err := os.WriteFile(c.Census.List, []byte("https://a.door.test/paid\nhttps://b.door.test/paid\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		s := &Shop{Config: *c, DB: ledger.NewMem(ledger.MemOptions{Calm: true}), Ring: attest.SpecimenRing(),
			Log: slog.New(slog.DiscardHandler)}
		m := dynamic.NewMetrics()
		want := func(when string, want map[string]float64) {
			t.Helper()
			s.measureLedger(t.Context(), m)
			got := measured(t, m, "store_queue_length", "store_queue_late_seconds", "store_census_hosts",
				"store_census_sealed")
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		update := func(f func(ledger.Tx) error) {
			t.Helper()
			if err := s.DB.Update(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		census := func(o CensusOptions) {
			t.Helper()
			o.Log, o.Reach = s.Log, lost
			if _, err := runCensus(t.Context(), c, s.DB, o); err != nil {
				t.Fatal(err)
			}
		}
		update(func(tx ledger.Tx) error { return schedule.Put(tx, "work", "one", tx.Now().Add(-time.Minute)) })
		want("with work", map[string]float64{"store_queue_length work": 1, "store_queue_late_seconds work": 60,
			"store_census_hosts due": 0, "store_census_hosts done": 0, "store_census_sealed": 0})
		update(func(tx ledger.Tx) error { return schedule.Drop(tx, "work", "one") })
		census(CensusOptions{WalkOnly: true})
		want("walked", map[string]float64{"store_census_hosts due": 2, "store_census_hosts done": 2,
			"store_census_sealed": 0})
		census(CensusOptions{})
		want("sealed", map[string]float64{"store_census_hosts due": 2, "store_census_hosts done": 2,
			"store_census_sealed": 1})
		time.Sleep(7 * 24 * time.Hour)
		want("in another week", map[string]float64{"store_census_hosts due": 0, "store_census_hosts done": 0,
			"store_census_sealed": 0})
	})
}
