package record_test

import (
	"reflect"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestErrataCorrectRows: the last erratum of a row counts, what is signed stays beside it, and rows
// that are read once more into the same memory know nothing of it.
func TestErrataCorrectRows(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("b.example", record.VerdictNotReady), recordtest.Walked("c.example", record.VerdictReady),
		recordtest.Walked("d.example", record.VerdictReady)))
	digest := recordtest.Digest("judged again")
	var feed []record.Observation
	for i, e := range []record.Erratum{
		{Leaf: 0, Reason: "first", VerdictNow: record.VerdictNotReady, EvidenceDigest: digest},
		{Leaf: 1, Reason: "it was there", VerdictNow: record.VerdictReady, EvidenceDigest: digest},
		{Leaf: 2, Reason: "nothing answered", VerdictNow: record.VerdictUnreachable, EvidenceDigest: digest},
		{Leaf: 0, Reason: "second", VerdictNow: record.VerdictNotProbed},
		{Leaf: 99, Reason: "no row", VerdictNow: record.VerdictNotProbed},
	} {
		feed = append(feed, record.Observation{Number: int64(i + 1), At: "2026-09-20T00:00:00Z", Erratum: &e})
	}
	feed = append(feed, record.Observation{Number: 6, Withdrawn: &record.Withdrawn{}})
	var now, signed []record.StoredRow
	r := recordtest.Open(t, w)
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		record.ErrataOf(feed).Correct(h.Rows)
		now = append(now, h.Rows...)
	}
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		signed = append(signed, h.Rows...)
	}
	for i, want := range []struct {
		verdict, reason, fault, evidence string
		corrected                        *record.Correction
	}{
		{record.VerdictNotProbed, record.ReasonErratum, record.FaultNone, "", &record.Correction{Observation: 4,
			At: "2026-09-20T00:00:00Z", Signed: record.VerdictReady, Now: record.VerdictNotProbed, Reason: "second"}},
		{record.VerdictReady, "", record.FaultNone, digest, &record.Correction{Observation: 2,
			At: "2026-09-20T00:00:00Z", Signed: record.VerdictNotReady, Now: record.VerdictReady,
			Reason: "it was there", Evidence: digest}},
		{record.VerdictUnreachable, "", record.FaultDoor, digest, &record.Correction{Observation: 3,
			At: "2026-09-20T00:00:00Z", Signed: record.VerdictReady, Now: record.VerdictUnreachable,
			Reason: "nothing answered", Evidence: digest}},
		{record.VerdictReady, "", signed[3].Fault, signed[3].EvidenceDigest, nil},
	} {
		got := now[i]
		if got.Verdict != want.verdict || got.Reason != want.reason || got.Fault != want.fault ||
			got.EvidenceDigest != want.evidence || !reflect.DeepEqual(got.Corrected, want.corrected) {
			t.Errorf("row %d: %+v %+v", i, got.Row, got.Corrected)
		}
		row, err := record.ParseRow(got.Raw)
		if err != nil || row.Verdict == got.Verdict && want.corrected != nil || signed[i].Corrected != nil ||
			row.Verdict != signed[i].Verdict {
			t.Errorf("row %d is no longer what was signed: %v %+v %+v", i, err, row, signed[i])
		}
		if want.corrected != nil && (got.ReachedLevel != "" || len(got.Failed) > 0 ||
			(got.ObservedAt == "") != (got.Verdict == record.VerdictNotProbed)) {
			t.Errorf("row %d says how the verdict was reached that it should not have had: %+v", i, got.Row)
		}
	}
}

// TestWhereObservationsStand: between rounds and behind them, and in no other place of the log.
func TestWhereObservationsStand(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Observe(t, w, "synergy")
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady)))
	recordtest.Seal(t, w, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady)))
	recordtest.Observe(t, w, "leverage")
	recordtest.Observe(t, w, "holistic")
	r := recordtest.Open(t, w)
	for n := range int64(5) {
		leaf, ok := r.ObservationLeaf(n)
		if ok != (1 <= n && n <= 3) {
			t.Errorf("observation %d: %d %v", n, leaf, ok)
		}
		if !ok {
			continue
		}
		raw, err := r.Log.Entry(leaf)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := record.VerifyObservation(raw, r.Ring()); err != nil || o.Number != n {
			t.Errorf("leaf %d: observation %d, want %d: %v", leaf, o.Number, n, err)
		}
	}
}
