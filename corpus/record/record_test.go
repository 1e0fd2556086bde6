package record_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

func TestSealedRecordReadsBack(t *testing.T) {
	w := recordtest.Small(t)
	r := recordtest.Open(t, w)
	if got := len(r.Rounds()); got != 3 {
		t.Fatalf("%d rounds", got)
	}
	// 3 rows and 2 leaves, an observation, 2 and 2, an observation, 2 and 2.
	if got := r.Log.Head().Size; got != 15 {
		t.Fatalf("the log holds %d leaves", got)
	}
	seen := map[string][]int64{}
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		previous := int64(-1)
		for _, row := range h.Rows {
			got := int64(-1)
			if row.PreviousLeaf != nil {
				got = *row.PreviousLeaf
			}
			if got != previous {
				t.Errorf("%s in round %d names leaf %d before it, want %d", h.Host, row.Sequence, got, previous)
			}
			previous = row.Leaf
			seen[h.Host] = append(seen[h.Host], row.Sequence)
			logged, err := r.Log.Entry(row.Leaf)
			if err != nil || !bytes.Equal(logged, row.Raw) {
				t.Errorf("leaf %d is not the row of %s: %v", row.Leaf, h.Host, err)
			}
			if _, err := record.VerifyRow(row.Raw, w.Identity.Public()); err != nil {
				t.Error(err)
			}
		}
	}
	want := map[string][]int64{"a.example": {1, 2}, "b.example": {1, 3}, "c.example": {1, 2}, "d.example": {3}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("histories (-want +got):\n%s", diff)
	}
	third, _ := r.Round(3)
	if diff := cmp.Diff(record.Coverage{Due: 2, Probed: 2, PreviousProbed: 2}, third.Coverage); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
	all, err := r.Observations()
	if err != nil || len(all) != 2 || all[1].Word.Text != "second" {
		t.Errorf("observations %v, %v", all, err)
	}
}

func TestASealedRoundIsNeverReplaced(t *testing.T) {
	w := recordtest.Small(t)
	before := recordtest.ReadAll(t, w.Dir)
	held, err := w.Seal(t.Context(), recordtest.Draft(3, recordtest.Walked("x.example", record.VerdictReady)))
	if !errors.Is(err, seal.ErrSealed) || held.Rows != 2 {
		t.Errorf("a second seal: %v, %v", held.Rows, err)
	}
	if _, err := w.Seal(t.Context(), recordtest.Draft(5)); err == nil || errors.Is(err, seal.ErrSealed) {
		t.Errorf("a seal out of turn: %v", err)
	}
	if diff := cmp.Diff(before, recordtest.ReadAll(t, w.Dir)); diff != "" {
		t.Errorf("the record changed:\n%s", diff)
	}
	for _, bad := range [][]record.Row{{recordtest.Walked("b.example", record.VerdictReady),
		recordtest.Walked("a.example", record.VerdictReady)}, {recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("a.example", record.VerdictReady)}} {
		if _, err := w.Seal(t.Context(), recordtest.Draft(4, bad...)); !errors.Is(err, record.ErrOrder) {
			t.Errorf("rows out of order: %v", err)
		}
	}
	if err := os.Link(filepath.Join(w.Dir, "rounds/3/header.json"), filepath.Join(w.Dir, "x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(w.Dir, "x")); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("a header may be written over: %v %v", info.Mode(), err)
	}
}

// TestCrashesAtEveryWrite copies the record as it stands after each single file operation of a
// seal, and demands that sealing there again gives the very same record, or says that it is sealed.
func TestCrashesAtEveryWrite(t *testing.T) {
	whole := recordtest.Writer(t)
	recordtest.Seal(t, whole, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady)))
	recordtest.Observe(t, whole, "word")
	base := recordtest.ReadAll(t, whole.Dir)
	second := recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady),
		recordtest.Walked("b.example", record.VerdictReady))
	recordtest.Seal(t, whole, second)
	want := recordtest.ReadAll(t, whole.Dir)
	// The order in which a seal writes: parts, index, header, then log bottom up, checkpoint last.
	var written []string
	for name, body := range want {
		if base[name] != body {
			written = append(written, name)
		}
	}
	rank := func(name string) int {
		for i, p := range []string{"rounds/2/part", "rounds/2/hosts", "rounds/2/header", "log/tile/entries", "log/tile",
			"log/checkpoints", "log/checkpoint"} {
			if strings.HasPrefix(name, p) {
				return i
			}
		}
		t.Fatalf("%s is written, which this test does not know", name)
		return 0
	}
	slices.SortFunc(written, func(a, b string) int { return rank(a) - rank(b) })
	for n := range len(written) + 1 {
		w := recordtest.Writer(t)
		put := func(name, body string) {
			file := filepath.Join(w.Dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.RemoveAll(file),
				os.WriteFile(file, []byte(body), 0o444)); err != nil {
				t.Fatal(err)
			}
		}
		for name, body := range base {
			put(name, body)
		}
		for _, name := range written[:n] {
			put(name, want[name])
		}
		if n < len(written) {
			// The file that was being written when the crash came.
			put(filepath.Join(filepath.Dir(written[n]), "."+filepath.Base(written[n])+".new"), "half")
		}
		sealed := slices.Contains(written[:n], "rounds/2/header.json")
		_, err := w.Seal(t.Context(), second)
		if sealed != errors.Is(err, seal.ErrSealed) || !sealed && err != nil {
			t.Fatalf("after %v: %v", written[:n], err)
		}
		if diff := cmp.Diff(want, recordtest.ReadAll(t, w.Dir)); diff != "" && !strings.Contains(diff, ".p/") {
			t.Fatalf("after %v the record differs:\n%s", written[:n], diff)
		}
		if report := audited(t, w); len(report.Problems) > 0 {
			t.Fatalf("after %v: %v", written[:n], report.Problems)
		}
	}
}

func TestTwoProcessesSealOnce(t *testing.T) {
	w := recordtest.Writer(t)
	results := make(chan error)
	for i := range 4 {
		go func() {
			other := *w
			_, err := other.Seal(context.WithoutCancel(t.Context()),
				recordtest.Draft(1, recordtest.Walked(fmt.Sprintf("h%d.example", i), record.VerdictReady)))
			results <- err
		}()
	}
	won := 0
	for range 4 {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, seal.ErrSealed) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d seals of one round", won)
	}
	if report := audited(t, w); len(report.Problems) > 0 {
		t.Error(report.Problems)
	}
}

// audited is what the check of a whole record says of one.
func audited(t testing.TB, w *seal.Writer) verify.RecordReport {
	t.Helper()
	report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil {
		t.Fatal(err)
	}
	return report
}
