package shop

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/corpus/audit"
	"store.example/agentstore/corpus/judge"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// TestErrata corrects rows of a record: one should have told of no observation, and what another
// was judged by gives something else by the other battery. What comes of it is exported, and passes
// the check of the record with every verdict judged again.
func TestErrata(t *testing.T) {
	s, w := openRecorded(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(len(practice.All()))...))
	correct := func(e Erratum, dry bool) (out feed.Corrected, err error) {
		t.Helper()
		var b bytes.Buffer
		if err = s.correct(t.Context(), e, dry, &b); err == nil {
			err = json.Unmarshal(b.Bytes(), &out)
		}
		return out, err
	}
	rec := recordtest.Open(t, w)
	other, alike := int64(-1), int64(-1) // leaves that the first battery judges in another way, and alike
	for leaf := range rec.Rounds()[0].Rows {
		out, err := correct(Erratum{leaf, "asked wrongly", "v1"}, true)
		switch {
		case err != nil:
			alike = leaf
		case out.Evidence != "" && out.Now != out.Signed && out.Observation == 0:
			other = leaf
		}
	}
	if other < 0 || alike < 0 {
		t.Fatalf("leaves %d and %d", other, alike)
	}
	for name, c := range map[string]struct {
		e    Erratum
		says string
	}{
		"a leaf that is no row": {Erratum{rec.Rounds()[0].RoundLeaf(), "wrong", ""}, "is no row; hint:"},
		"a leaf before all":     {Erratum{-1, "wrong", ""}, "is no row; hint:"},
		"an unknown battery":    {Erratum{other, "wrong", "v9"}, "v9"},
		"the battery of before": {Erratum{other, "wrong", "v2"}, feed.ErrNoErratum.Error()},
		"no reason":             {Erratum{other, "", ""}, "without a reason"},
	} {
		if _, err := correct(c.e, false); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	judged, err := correct(Erratum{other, "asked wrongly", "v1"}, false)
	if err != nil || judged.Observation != 1 {
		t.Fatalf("%+v %v", judged, err)
	}
	if again, err := correct(Erratum{other, "asked wrongly", "v1"}, false); err != nil || !again.Already {
		t.Errorf("once more: %+v %v", again, err)
	}
	if out, err := correct(Erratum{alike, "the path was down", ""}, false); err != nil || out.Observation != 2 ||
		out.Now != record.VerdictNotProbed || out.Evidence != "" {
		t.Fatalf("%+v %v", out, err)
	}
	var fresh []record.Observation
	if err := s.DB.View(t.Context(), func(tx ledger.Tx) (err error) {
		fresh, err = feed.Since(tx, 1, 10)
		return err
	}); err != nil || len(fresh) != 2 {
		t.Fatal(err, fresh)
	}
	lie := fresh[0]
	lie.Erratum = new(*lie.Erratum)
	lie.Erratum.VerdictNow = judged.Signed
	if _, err := w.Observe(t.Context(), lie); err == nil ||
		!strings.Contains(err.Error(), "what it was judged by gives") {
		t.Errorf("an erratum that is not what it was judged by gives: %v", err)
	}
	if _, err := w.Observe(t.Context(), fresh...); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Record(t.Context(), os.DirFS(w.Dir), w.Ring, audit.RecordOptions{Judge: judge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || report.Between.Again != 1 {
		t.Errorf("%v %v, %+v", err, report.Problems, report.Between)
	}
	if _, err := os.Stat(w.Dir + "/" + record.ObservedEvidence(judged.Evidence)); err != nil {
		t.Errorf("what it was judged by: %v", err)
	}
}
