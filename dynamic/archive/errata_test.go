package archive

import (
	"testing"
	"time"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// TestErrataMoveTiers: a host's history, its tier and the catalogue follow an erratum that comes
// while the record is held, and the row beside it is as it was signed.
func TestErrataMoveTiers(t *testing.T) {
	const host = "standing.example"
	w := writer(t)
	corpustest.Append(t, w, 1, corpustest.Weeks)
	a, _ := openArchive(t, w)
	now := func(s *State) (string, tier.History) {
		t.Helper()
		h, ok, err := s.History(host)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return tier.StandingOf(h).Tier, h
	}
	before, h := now(a.Now())
	newest := h.Entries[len(h.Entries)-1].Row
	c, err := newCatalogue(t.Context(), a.Now())
	if err != nil || before != tier.TierStanding {
		t.Fatal(before, err)
	}
	o := record.Observation{At: "2026-12-01T00:00:00Z", Kind: record.ObservationErratum,
		Erratum: &record.Erratum{Leaf: newest.Leaf, Reason: "asked wrongly", VerdictNow: record.VerdictNotReady,
			EvidenceDigest: newest.EvidenceDigest}}
	if _, err := w.Observe(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(); err != nil {
		t.Fatal(err)
	}
	after, h := now(a.Now())
	row := h.Entries[len(h.Entries)-1].Row
	if after != tier.TierBroken || row.Corrected == nil || row.Corrected.Signed != record.VerdictReady ||
		string(row.Raw) != string(newest.Raw) {
		t.Errorf("tier %s, row %+v, %+v", after, row.Row, row.Corrected)
	}
	if !c.stale(a.Now(), time.Now().Add(2*catalogueEvery)) {
		t.Error("the catalogue of before still counts")
	}
	c, err = newCatalogue(t.Context(), a.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.entries {
		if e.host == host && (e.tier != tier.TierBroken || e.verdict != record.VerdictNotReady) {
			t.Errorf("the catalogue has %s as %s, %s", host, e.tier, e.verdict)
		}
	}
}
