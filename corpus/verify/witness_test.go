package verify

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/tlog"
)

// TestWitnessesThatAStrangerKnows: what they signed is checked and counted; what others signed is
// theirs.
func TestWitnessesThatAStrangerKnows(t *testing.T) {
	w := recordtest.Small(t)
	k := recordtest.Key(t, 7)
	known, silent := tlog.Witness{Name: "witness.example", Public: k.Public()},
		tlog.Witness{Name: "silent.example", Public: recordtest.Key(t, 9).Public()}
	first := recordtest.Open(t, w).Log.Head()
	sign := func(at uint64) {
		t.Helper()
		head := recordtest.Open(t, w).Log.Head()
		lines := append(recordtest.Cosign(recordtest.Key(t, 8), "stranger.example", head, 1),
			recordtest.Cosign(k, known.Name, head, at)...)
		if _, err := w.Cosign(t.Context(), lines,
			[]tlog.Witness{known, {Name: "stranger.example", Public: recordtest.Key(t, 8).Public()}}); err != nil {
			t.Fatal(err)
		}
	}
	sign(1_791_000_000)
	recordtest.Observe(t, w, "synergy")
	sign(1_791_000_060)
	tree := recordtest.MapFS(t, w.Dir)
	report, err := Record(t.Context(), tree, w.Ring,
		RecordOptions{Judge: rejudge.Batteries{}, Witnesses: []tlog.Witness{known, silent}})
	if err != nil {
		t.Fatal(err)
	}
	want := []CosignedReport{{Witness: known.Name, Checkpoints: 2, Size: first.Size + 1,
		At: time.Unix(1_791_000_060, 0).UTC()}, {Witness: silent.Name}}
	if diff := cmp.Diff(want, report.Cosigned); diff != "" || len(report.Problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", report.Problems, diff)
	}
	// The lines of one checkpoint stand under the other, or were made for another log.
	a, b := fmt.Sprintf("log/cosignatures/%d", first.Size), fmt.Sprintf("log/cosignatures/%d", first.Size+1)
	tree[a], tree[b] = tree[b], tree[a]
	for _, witnesses := range [][]tlog.Witness{nil, {silent}, {known}} {
		report, err := Record(t.Context(), tree, w.Ring, RecordOptions{Judge: rejudge.Batteries{},
			Witnesses: witnesses})
		if err != nil {
			t.Fatal(err)
		}
		if found := len(report.Problems) == 2 && report.Problems[0].Path == a &&
			report.Problems[1].Path == b; found != (len(witnesses) == 1 && witnesses[0].Name == known.Name) {
			t.Errorf("moved cosignatures, by %v: %v", witnesses, report.Problems)
		}
	}
}
