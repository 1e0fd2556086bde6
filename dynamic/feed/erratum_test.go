package feed_test

import (
	"errors"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// TestARowIsCorrectedOnce: the same again changes nothing, also where only the record knows of it;
// what the row says already is no erratum, and what was said last counts.
func TestARowIsCorrectedOnce(t *testing.T) {
	row := record.Row{Host: "door.example", Week: "2026-W47", Verdict: record.VerdictReady}
	gone := record.Erratum{Leaf: 7, Reason: "the path was down", VerdictNow: record.VerdictNotProbed}
	back := record.Erratum{Leaf: 7, Reason: "it was not", VerdictNow: record.VerdictReady,
		EvidenceDigest: strings.Repeat("ab", 32)}
	db := ledger.NewMem(ledger.MemOptions{})
	tell := func(db ledger.DB, rec []record.Observation, e record.Erratum, dry bool) (out feed.Corrected, err error) {
		err = db.Update(t.Context(), func(tx ledger.Tx) (err error) {
			out, err = feed.Correct(tx, rec, feed.Correction{Row: row, Erratum: e, Judgement: []byte("judgement")}, dry)
			return err
		})
		return out, err
	}
	if _, err := tell(db, nil, back, false); !errors.Is(err, feed.ErrNoErratum) {
		t.Errorf("what the row says: %v", err)
	}
	if out, err := tell(db, nil, gone, true); err != nil || out.Observation != 0 || len(since(t, db, 1, 9)) != 0 ||
		out.Signed != record.VerdictReady || out.Now != record.VerdictNotProbed || out.Host != row.Host {
		t.Errorf("a rehearsal: %+v %v", out, err)
	}
	if out, err := tell(db, nil, gone, false); err != nil || out.Observation != 1 || out.Already {
		t.Errorf("%+v %v", out, err)
	}
	if out, err := tell(db, nil, gone, false); err != nil || out.Observation != 1 || !out.Already {
		t.Errorf("once more: %+v %v", out, err)
	}
	rec := since(t, db, 1, 9)
	if len(rec) != 1 || rec[0].Judgement != "judgement" {
		t.Fatalf("%+v", rec)
	}
	if out, err := tell(ledger.NewMem(ledger.MemOptions{}), rec, gone, false); err != nil || !out.Already {
		t.Errorf("beside the record: %+v %v", out, err)
	}
	if out, err := tell(db, nil, back, false); err != nil || out.Observation != 2 || out.Already ||
		out.Evidence != back.EvidenceDigest {
		t.Errorf("taken back: %+v %v", out, err)
	}
	// A ledger that is behind the record does not make what it holds the last word.
	behind := since(t, db, 1, 9)
	old := ledger.NewMem(ledger.MemOptions{})
	if _, err := tell(old, nil, gone, false); err != nil {
		t.Fatal(err)
	}
	if out, err := tell(old, behind, back, true); err != nil || !out.Already || out.Observation != 2 {
		t.Errorf("behind the record: %+v %v", out, err)
	}
	// What was said without a cause may be said once more with one, and never less.
	shown := gone
	shown.Kind, shown.Cause, shown.EvidenceDigest = record.ErratumError, record.CauseBotWall, back.EvidenceDigest
	kinds := ledger.NewMem(ledger.MemOptions{})
	for i, want := range []struct {
		e       record.Erratum
		already bool
	}{{gone, false}, {shown, false}, {shown, true}, {gone, true}} {
		if out, err := tell(kinds, nil, want.e, false); err != nil || out.Already != want.already {
			t.Errorf("%d: %+v %v", i, out, err)
		}
	}
	other := feed.Correction{Row: row, Erratum: shown, Once: true}
	other.Erratum.VerdictNow = record.VerdictUnreachable
	if err := kinds.Update(t.Context(), func(tx ledger.Tx) error {
		all, err := feed.CorrectAll(tx, nil, []feed.Correction{other}, false)
		if err == nil && !all[0].Already {
			t.Errorf("what was looked at by itself is gainsaid: %+v", all[0])
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	long := gone
	long.Reason = strings.Repeat("r", 501)
	if _, err := tell(db, nil, long, true); err == nil || !strings.Contains(err.Error(), "500 bytes") {
		t.Errorf("a reason that is too long: %v", err)
	}
}
