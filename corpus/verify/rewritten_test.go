package verify

import (
	"crypto/ed25519"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestMovedRowsAreRefused has the store itself sign a round that holds rows of another place.
func TestMovedRowsAreRefused(t *testing.T) {
	k := recordtest.Key(t, 1)
	row := recordtest.SignRow(t, recordtest.UnprobedRow(), k)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: k.Public(),
		attest.PurposeLog: recordtest.Key(t, 2).Public()})
	if err != nil {
		t.Fatal(err)
	}
	part := append(row, '\n')
	first := recordtest.Round(record.Part{Rows: 1, SHA256: sha256.Sum256(part)})
	first.Sequence, first.PreviousDigest, first.FirstLeaf = 1, attest.Digest{}, 0
	first.Coverage.PreviousProbed = 0
	first.Week, first.TakenAt = "2026-W46", "2026-11-15T00:00:00Z"
	_, header := recordtest.SignRound(t, first, k)
	encoded, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{"rounds/1/header.json": {Data: header}, "rounds/1/part-0001.jsonl": {Data: part},
		record.RingFile: {Data: encoded}}
	report, err := Record(t.Context(), tree, ring, RecordOptions{})
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Path != "rounds/1/part-0001.jsonl" {
		t.Errorf("%v, %v", report.Problems, err)
	}
}

func TestRewrittenHistoryIsRefused(t *testing.T) {
	seen, tree := covered(t)
	file := filepath.Join(t.TempDir(), "remembered")
	r := verify(t, tree, CloneOptions{})
	if err := r.Record.Remember(file); err != nil {
		t.Fatal(err)
	}
	remembered, err := ReadRemembered(file)
	if err != nil {
		t.Fatal(err)
	}
	o := CloneOptions{Remembered: remembered}
	if r := verify(t, tree, o); len(r.Problems) > 0 || r.Record.Remembered != 8 {
		t.Errorf("the same record: %v", r.Problems)
	}
	// It goes on.
	recordtest.Observe(t, seen, "more")
	if err := seen.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, os.DirFS(seen.Dir), o); len(r.Problems) > 0 || r.Record.Remembered != 8 {
		t.Errorf("the record went on: %v", r.Problems)
	}
	// The same store writes another history, with all its keys: shorter, as long, and longer.
	for _, more := range []int{0, 1, 5} {
		w := recordtest.Writer(t)
		recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady),
			recordtest.Walked("b.example", record.VerdictReady)))
		recordtest.Observe(t, w, "word")
		if more > 0 {
			recordtest.Seal(t, w, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady)))
		}
		for range more - 1 {
			recordtest.Observe(t, w, "word")
		}
		if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
			ContentDigest: strings.Repeat("0", 64)}); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, os.DirFS(w.Dir), CloneOptions{}); len(r.Problems) > 0 {
			t.Fatalf("a stranger sees nothing: %v", r.Problems)
		}
		r := verify(t, os.DirFS(w.Dir), o)
		if more == 0 {
			// What is shorter may be an older copy of the same, which it does not show.
			if r.Refused() || len(r.Lacking()) != 1 || r.Forked() {
				t.Errorf("rewritten and shorter: %v, %v", r.Problems, r.Lacking())
			}
			continue
		}
		if len(r.Problems) != 1 || r.Problems[0].Kind != "rewritten" || r.Problems[0].Path != "log/checkpoint" ||
			!r.Forked() {
			t.Errorf("rewritten with %d more: %v", more, r.Problems)
		}
	}
}
