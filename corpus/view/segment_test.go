package view

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

func TestSpans(t *testing.T) {
	for rounds, want := range map[int64]string{0: "", 1: "1-1", 3: "1-1 2-2 3-3", 4: "1-4", 6: "1-4 5-5 6-6",
		15: "1-4 5-8 9-12 13-13 14-14 15-15", 16: "1-16", 21: "1-16 17-20 21-21"} {
		var got []string
		for _, s := range spans(rounds) {
			got = append(got, fmt.Sprintf("%d-%d", s.First, s.Last))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("of %d rounds: %s, want %s", rounds, got, want)
		}
	}
	most := 0
	for rounds := range int64(521) {
		most = max(most, len(spans(rounds)))
	}
	if most != 13 {
		t.Errorf("of ten years, a look-up asks up to %d segments", most)
	}
}

// extend seals a round more of a record of sharedRecord, of other hosts and of hosts that it has.
func extend(t *testing.T, w *seal.Writer, sequence int64) {
	t.Helper()
	var rows []record.Row
	for i := range int64(60) {
		if (i+sequence)%3 > 0 {
			rows = append(rows, recordtest.Walked(fmt.Sprintf("h%03d.example", i*2), record.VerdictReady))
		}
	}
	rows = append(rows, recordtest.Walked(fmt.Sprintf("new%d.example", sequence), record.VerdictReady),
		recordtest.Walked(strings.Repeat("z", int(sequence))+strings.Repeat(".long", 45), record.VerdictReady))
	recordtest.Seal(t, w, recordtest.Draft(sequence, rows...))
}

// views are the files of the view in force and what names it.
func views(t *testing.T, dir string) map[string]string {
	t.Helper()
	v, err := Open(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	out := recordtest.ReadAll(t, filepath.Join(dir, v.name))
	current, err := os.ReadFile(filepath.Join(dir, pointerName))
	if err != nil {
		t.Fatal(err)
	}
	out[pointerName] = string(current)
	return out
}

// TestUpdatedViewsAreThoseMadeAnew follows a record for eighteen rounds: each view is byte for byte
// the one that is made without another, and only what is new is written.
func TestUpdatedViewsAreThoseMadeAnew(t *testing.T) {
	w, dir := sharedRecord(t, 1, 80), t.TempDir()
	var before *View
	for sequence := int64(1); sequence <= 18; sequence++ {
		if sequence > 1 {
			extend(t, w, sequence)
		}
		now, anew := buildTiny(t, w, dir), t.TempDir()
		buildTiny(t, w, anew)
		if diff := cmp.Diff(views(t, anew), views(t, dir)); diff != "" {
			t.Fatalf("round %d (-anew +updated):\n%s", sequence, diff)
		}
		kept := 0
		for _, s := range now.segments {
			same := func(o segment) bool { return o.First == s.First && o.Last == s.Last }
			if before == nil || !slices.ContainsFunc(before.segments, same) {
				continue
			}
			for _, sh := range slices.Concat(s.HostFiles, s.DoorFiles, s.NameFiles, s.NetFiles) {
				a, err := os.Stat(filepath.Join(dir, before.name, sh.File))
				if err != nil {
					t.Fatal(err)
				}
				b, err := os.Stat(filepath.Join(dir, now.name, sh.File))
				if err != nil || !os.SameFile(a, b) {
					t.Errorf("round %d: %s was written again: %v", sequence, sh.File, err)
				}
				kept++
			}
		}
		if want := sequence > 1 && sequence%segmentsOfASize != 0; want && kept == 0 {
			t.Errorf("round %d: nothing of the view before was kept", sequence)
		}
		before = now
	}
}

// TestDamagedSegmentsAreMadeAnew damages each file of a view, or takes it away: the next view is
// right nevertheless wherever the file is read for it.
func TestDamagedSegmentsAreMadeAnew(t *testing.T) {
	w := sharedRecord(t, 2, 40)
	old := t.TempDir()
	first := buildTiny(t, w, old)
	extend(t, w, 3)
	anew := t.TempDir()
	buildTiny(t, w, anew)
	want := views(t, anew)
	for name := range recordtest.ReadAll(t, filepath.Join(old, first.name)) {
		for _, gone := range []bool{false, true} {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(old)); err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(dir, first.name, name)
			raw, err := os.ReadFile(at)
			if err == nil {
				err = os.Remove(at)
			}
			if err == nil && !gone {
				raw[len(raw)/3] ^= 1
				err = os.WriteFile(at, raw, 0o444)
			}
			if err != nil {
				t.Fatal(err)
			}
			buildTiny(t, w, dir)
			if got := views(t, dir); got[name] == string(raw) && !gone {
				// What nothing of the new view was made from is checked where it is looked up.
				if kind, _, _ := strings.Cut(name, "-"); kind != "hosts" && kind != "names" {
					t.Errorf("%s: the damaged one stands in the new view", name)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, gone %v (-want +got):\n%s", name, gone, diff)
			}
		}
	}
}
