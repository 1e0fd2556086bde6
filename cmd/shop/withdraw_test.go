package shop

import (
	"os"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// TestEvidenceIsWithdrawn takes what a row was judged by out of the record, once: it is gone, what
// stood beside it is there, and the record is whole. Nobody's digest is taken for one.
func TestEvidenceIsWithdrawn(t *testing.T) {
	s, w := openRecorded(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(8)...))
	withdraw := func(digest string, dry bool) (feed.Withdrawal, error) {
		return s.withdraw(t.Context(), withdrawIn{digest, "its host asked for it"}, dry)
	}
	var row, other record.Row
	for r, err := range recordtest.Open(t, w).Rows(1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.EvidenceDigest != "" {
			other, row = row, r.Row
		}
	}
	if _, err := withdraw(recordtest.Digest("nobody's"), false); err == nil || !strings.Contains(err.Error(), "hint:") {
		t.Errorf("an unknown digest: %v", err)
	}
	if out, err := withdraw(row.EvidenceDigest, true); err != nil || out.Kind != feed.OfEvidence ||
		out.WithdrawnBy != 0 {
		t.Errorf("a rehearsal: %+v %v", out, err)
	}
	if out, err := withdraw(row.EvidenceDigest, false); err != nil || out.Already || out.WithdrawnBy != 1 {
		t.Errorf("%+v %v", out, err)
	}
	export := func(after int64) {
		t.Helper()
		var fresh []record.Observation
		if err := s.DB.View(t.Context(), func(tx ledger.Tx) (err error) {
			fresh, err = feed.Since(tx, after+1, 10)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Observe(t.Context(), fresh...); err != nil {
			t.Fatal(err)
		}
	}
	export(0)
	if out, err := withdraw(row.EvidenceDigest, false); err != nil || !out.Already || out.WithdrawnBy != 1 {
		t.Errorf("once more, where it is gone: %+v %v", out, err)
	}
	for digest, there := range map[string]bool{row.EvidenceDigest: false, other.EvidenceDigest: true} {
		if name, err := seal.Kept(os.DirFS(w.Dir), digest); err != nil || (name != "") != there {
			t.Errorf("%s is kept in %q, %v", digest, name, err)
		}
	}
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("%v %v", err, report.Problems)
	}
}
