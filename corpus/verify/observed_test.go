package verify

import (
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
)

// TestRefreshHoldsWhatItWasJudgedBy: a refresh is judged again as a row is; its evidence is there,
// or withdrawn.
func TestRefreshHoldsWhatItWasJudgedBy(t *testing.T) {
	const url, at = "https://h00001.example/paid", "2026-09-22T00:00:00Z"
	report, judgement := recordtest.Look(t, url, practice.All()[0].Answer(url), exchange.Error{},
		recordtest.LookedAt)
	refresh, err := rejudge.RefreshFrom("h00001.example", report, judgement)
	if err != nil {
		t.Fatal(err)
	}
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(4)...))
	refresh.At = at
	lie, early := refresh, refresh
	said := *refresh.Refresh
	said.ReachedLevel = "L5"
	lie.Refresh, early.At = &said, "2026-09-01T00:00:00Z"
	for name, o := range map[string]record.Observation{"a lie": lie, "before it was looked": early} {
		if _, err := w.Observe(t.Context(), o); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	told, err := w.Observe(t.Context(), refresh)
	if err != nil || told[0].Judgement != "" {
		t.Fatalf("%+v %v", told, err)
	}
	name := record.ObservedEvidence(refresh.Refresh.EvidenceDigest)
	if r := check(t, w); len(r.Problems) > 0 || r.Between != (Rejudged{Again: 1}) {
		t.Fatalf("%+v %v", r.Between, r.Problems)
	}
	tree := recordtest.MapFS(t, w.Dir)
	held := tree[name]
	delete(tree, name)
	if r, err := Record(t.Context(), tree, w.Ring, judging); err != nil || len(r.Problems) != 1 ||
		r.Problems[0].Path != name || r.Problems[0].Kind != attest.ProblemMissing {
		t.Errorf("without it: %v %v", r.Problems, err)
	}
	for file := range tree {
		if strings.HasPrefix(file, "evidence/") {
			delete(tree, file)
		}
	}
	if r, err := Record(t.Context(), tree, w.Ring, judging); err != nil || len(r.Problems) > 0 ||
		r.Between != (Rejudged{NotKept: 1}) {
		t.Errorf("without any evidence: %+v %v %v", r.Between, r.Problems, err)
	}
	gone := record.Observation{At: "2026-09-28T00:00:00Z", Kind: record.ObservationWithdrawn,
		Withdrawn: &record.Withdrawn{SHA256: refresh.Refresh.EvidenceDigest, Reason: "asked for"}}
	if _, err := w.Observe(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if r := check(t, w); len(r.Problems) > 0 || r.Between != (Rejudged{Withdrawn: 1}) {
		t.Errorf("withdrawn: %+v %v", r.Between, r.Problems)
	}
	tree = recordtest.MapFS(t, w.Dir)
	tree[name] = held
	if r, err := Record(t.Context(), tree, w.Ring, judging); err != nil || len(r.Problems) != 1 ||
		r.Problems[0].Kind != attest.ProblemAdded {
		t.Errorf("put back: %v %v", r.Problems, err)
	}
}

// TestRefreshThatLiesIsRefused signs a refresh that says something else than what is kept of its
// walk.
func TestRefreshThatLiesIsRefused(t *testing.T) {
	const url = "https://h00001.example/paid"
	report, judgement := recordtest.Look(t, url, practice.All()[0].Answer(url), exchange.Error{},
		recordtest.LookedAt)
	refresh, err := rejudge.RefreshFrom("h00001.example", report, judgement)
	if err != nil {
		t.Fatal(err)
	}
	honest := recordtest.Writer(t)
	refresh.At = "2026-09-22T00:00:00Z"
	if _, err := honest.Observe(t.Context(), refresh); err != nil {
		t.Fatal(err)
	}
	name := record.ObservedEvidence(refresh.Refresh.EvidenceDigest)
	kept := recordtest.MapFS(t, honest.Dir)[name]
	refresh.Refresh.Fault, refresh.Judgement = record.FaultPath, ""
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(4)...))
	if _, err := w.Observe(t.Context(), refresh); err != nil {
		t.Fatal(err)
	}
	tree := recordtest.MapFS(t, w.Dir)
	tree[name] = kept
	if r, err := Record(t.Context(), tree, w.Ring, judging); err != nil || len(r.Problems) != 1 ||
		r.Problems[0].Kind != ProblemMisjudged {
		t.Errorf("%v %v", r.Problems, err)
	}
}

func TestErratumIsOfARow(t *testing.T) {
	for leaf, good := range map[int64]bool{0: true, 3: true, 4: false, 5: false, 99: false} {
		w := recordtest.Writer(t)
		recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(4)...))
		_, err := w.Observe(t.Context(), record.Observation{At: "2026-09-22T00:00:00Z", Kind: record.ObservationErratum,
			Erratum: &record.Erratum{Leaf: leaf, Reason: "the instrument was wrong",
				VerdictNow: record.VerdictNotProbed}})
		if err != nil {
			t.Fatal(err)
		}
		r := check(t, w)
		if (len(r.Problems) == 0) != good {
			t.Errorf("leaf %d: %v", leaf, r.Problems)
		}
		var says strings.Builder
		r.print(&says)
		if told := recordtest.Hosts(4)[leaf%4] + " of 2026-W37: signed "; good && !strings.Contains(says.String(),
			told) {
			t.Errorf("leaf %d: the report says nothing of %q:\n%s", leaf, told, says.String())
		}
	}
	digest := recordtest.Digest("x")
	for name, bad := range map[string]record.Erratum{
		"no reason":               {VerdictNow: record.VerdictReady, EvidenceDigest: digest},
		"no verdict":              {Reason: "r", EvidenceDigest: digest},
		"no evidence":             {Reason: "r", VerdictNow: record.VerdictReady},
		"evidence of nothing":     {Reason: "r", VerdictNow: record.VerdictNotProbed, EvidenceDigest: digest},
		"a leaf before the first": {Leaf: -1, Reason: "r", VerdictNow: record.VerdictNotProbed},
		"too long":                {Reason: strings.Repeat("r", 501), VerdictNow: record.VerdictNotProbed},
	} {
		o := record.Observation{Format: record.ObservationFormat, Number: 1, At: "2026-09-22T00:00:00Z",
			Kind: record.ObservationErratum, Erratum: &bad}
		if err := o.Check(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
