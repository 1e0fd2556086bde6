package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/google/go-cmp/cmp"

	"agentstore/corpus/attest"
)

const testOrigin = "store.example/corpus"

func testWriter(t testing.TB) *Writer {
	t.Helper()
	return &Writer{Dir: t.TempDir(), Origin: testOrigin, Identity: attest.SpecimenKey(), LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
}

// each yields values without an error.
func each[T any](values ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// walked is a row as a walk hands it in.
func walked(host, verdict string) Row {
	r := readyRow()
	r.Host, r.URL, r.Verdict, r.PreviousLeaf, r.Sequence, r.Origin, r.Week = host, "https://"+host+"/", verdict, nil, 0, "", ""
	if verdict == VerdictNotProbed {
		u := unprobedRow()
		u.Host, u.URL, u.Sequence, u.Origin, u.Week = host, r.URL, 0, "", ""
		return u
	}
	if verdict != VerdictReady {
		r.ReachedLevel, r.Failed, r.Fault = "L1", []string{"status-402"}, FaultDoor
	}
	return r
}

func draft(sequence int64, rows ...Row) Draft {
	at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
	return Draft{
		Sequence: sequence, Week: ISOWeek(at.Add(-time.Hour)), TakenAt: at, Battery: "v2", Rows: each(rows...),
		Roster:  Roster{Listed: int64(len(rows)), Sources: []RosterSource{{Name: "bazaar", Kind: SourceDiscovery, Hosts: int64(len(rows)), Complete: true}}},
		Control: Control{Walks: 1},
		Inflows: Inflows{From: at.AddDate(0, 0, -7).Format(secondLayout), To: at.Format(secondLayout), Networks: []NetworkInflow{}},
	}
}

func seal(t testing.TB, w *Writer, d Draft) Round {
	t.Helper()
	r, err := w.Seal(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// smallRecord has three rounds, two observations and a host that comes and goes.
func smallRecord(t testing.TB) *Writer {
	t.Helper()
	w := testWriter(t)
	seal(t, w, draft(1, walked("a.example", VerdictReady), walked("b.example", VerdictNotReady), walked("c.example", VerdictNotProbed)))
	observe(t, w, "first")
	seal(t, w, draft(2, walked("a.example", VerdictReady), walked("c.example", VerdictUnreachable)))
	observe(t, w, "second")
	seal(t, w, draft(3, walked("b.example", VerdictReady), walked("d.example", VerdictReady)))
	return w
}

func observe(t testing.TB, w *Writer, word string) {
	t.Helper()
	if _, err := w.Observe(t.Context(), Observation{At: "2026-11-20T00:00:00Z", Kind: ObservationRetiredWord, Word: &Said{Text: word}}); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, w *Writer) *Record {
	t.Helper()
	r, err := Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSealedRecordReadsBack(t *testing.T) {
	w := smallRecord(t)
	r := open(t, w)
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
			if _, err := VerifyRow(row.Raw, w.Identity.Public()); err != nil {
				t.Error(err)
			}
		}
	}
	want := map[string][]int64{"a.example": {1, 2}, "b.example": {1, 3}, "c.example": {1, 2}, "d.example": {3}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("histories (-want +got):\n%s", diff)
	}
	third, _ := r.Round(3)
	if diff := cmp.Diff(Coverage{Due: 2, Probed: 2, PreviousProbed: 2}, third.Coverage); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
	all, err := r.Observations()
	if err != nil || len(all) != 2 || all[1].Word.Text != "second" {
		t.Errorf("observations %v, %v", all, err)
	}
}

func TestASealedRoundIsNeverReplaced(t *testing.T) {
	w := smallRecord(t)
	before := readAll(t, w.Dir)
	held, err := w.Seal(t.Context(), draft(3, walked("x.example", VerdictReady)))
	if !errors.Is(err, ErrSealed) || held.Rows != 2 {
		t.Errorf("a second seal: %v, %v", held.Rows, err)
	}
	if _, err := w.Seal(t.Context(), draft(5)); err == nil || errors.Is(err, ErrSealed) {
		t.Errorf("a seal out of turn: %v", err)
	}
	if diff := cmp.Diff(before, readAll(t, w.Dir)); diff != "" {
		t.Errorf("the record changed:\n%s", diff)
	}
	for _, bad := range [][]Row{{walked("b.example", VerdictReady), walked("a.example", VerdictReady)}, {walked("a.example", VerdictReady), walked("a.example", VerdictReady)}} {
		if _, err := w.Seal(t.Context(), draft(4, bad...)); !errors.Is(err, ErrOrder) {
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

func readAll(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockFile {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCrashesAtEveryWrite copies the record as it stands after each single file operation of a seal, and demands that
// sealing there again gives the very same record, or says that it is sealed.
func TestCrashesAtEveryWrite(t *testing.T) {
	whole := testWriter(t)
	seal(t, whole, draft(1, walked("a.example", VerdictReady)))
	observe(t, whole, "word")
	base := readAll(t, whole.Dir)
	second := draft(2, walked("a.example", VerdictReady), walked("b.example", VerdictReady))
	seal(t, whole, second)
	want := readAll(t, whole.Dir)
	// The order in which a seal writes: parts, index, header, then log bottom up, checkpoint last.
	var written []string
	for name, body := range want {
		if base[name] != body {
			written = append(written, name)
		}
	}
	rank := func(name string) int {
		for i, p := range []string{"rounds/2/part", "rounds/2/hosts", "rounds/2/header", "log/tile/entries", "log/tile", "log/checkpoints", "log/checkpoint"} {
			if strings.HasPrefix(name, p) {
				return i
			}
		}
		t.Fatalf("%s is written, which this test does not know", name)
		return 0
	}
	slices.SortFunc(written, func(a, b string) int { return rank(a) - rank(b) })
	for n := range len(written) + 1 {
		w := testWriter(t)
		put := func(name, body string) {
			file := filepath.Join(w.Dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.RemoveAll(file), os.WriteFile(file, []byte(body), 0o444)); err != nil {
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
		if sealed != errors.Is(err, ErrSealed) || !sealed && err != nil {
			t.Fatalf("after %v: %v", written[:n], err)
		}
		if diff := cmp.Diff(want, readAll(t, w.Dir)); diff != "" && !strings.Contains(diff, ".p/") {
			t.Fatalf("after %v the record differs:\n%s", written[:n], diff)
		}
		if report := check(t, w); len(report.Problems) > 0 {
			t.Fatalf("after %v: %v", written[:n], report.Problems)
		}
	}
}

func TestTwoProcessesSealOnce(t *testing.T) {
	w := testWriter(t)
	results := make(chan error)
	for i := range 4 {
		go func() {
			other := *w
			_, err := other.Seal(context.WithoutCancel(t.Context()), draft(1, walked(fmt.Sprintf("h%d.example", i), VerdictReady)))
			results <- err
		}()
	}
	won := 0
	for range 4 {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, ErrSealed) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d seals of one round", won)
	}
	if report := check(t, w); len(report.Problems) > 0 {
		t.Error(report.Problems)
	}
}

func TestLogProofs(t *testing.T) {
	w := smallRecord(t)
	r := open(t, w)
	for _, size := range []int64{5, 6, 10, 11, 15} {
		for index := range size {
			p, err := r.Log.Prove(index, size, w.Ring)
			if err != nil {
				t.Fatal(err)
			}
			back, err := ParseProof(p.Text())
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := r.Log.Entry(index)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := back.Verify(leaf, w.Ring); err != nil || c.Size != size {
				t.Errorf("leaf %d of %d: %v", index, size, err)
			}
			if _, err := back.Verify(append(leaf, ' '), w.Ring); err == nil {
				t.Errorf("another leaf is proved at %d", index)
			}
		}
		old, err := r.Log.Checkpoint(size, w.Ring)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := r.Log.Consistency(size, 15)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckConsistency(proof, old, r.Log.Head()); err != nil {
			t.Error(err)
		}
		old.Root[0] ^= 1
		if err := CheckConsistency(proof, old, r.Log.Head()); err == nil {
			t.Error("another history is consistent")
		}
	}
	p, err := r.Log.Prove(7, 15, w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := r.Log.Entry(7)
	everyByteChange(t, p.Text(), func(raw []byte) bool {
		p, err := ParseProof(raw)
		if err == nil {
			_, err = p.Verify(leaf, w.Ring)
		}
		return err == nil
	})
}

func TestCheckpointsAreStrict(t *testing.T) {
	w := smallRecord(t)
	head := open(t, w).Log.Head()
	everyByteChange(t, head.Raw, func(raw []byte) bool {
		_, others, err := OpenCheckpoint(raw, w.Ring)
		return err == nil && len(others) == 0
	})
	// What x/mod's own verifier says of the same bytes.
	v, err := note.NewVerifier(VerifierKey(testOrigin, w.LogKey.Public()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(head.Raw, note.VerifierList(v)); err != nil {
		t.Error(err)
	}
	line := head.Raw[len(head.Text)+1:]
	if _, _, err := OpenCheckpoint(append(slices.Clone(head.Raw), line...), w.Ring); err == nil {
		t.Error("a checkpoint that the log signed twice opens")
	}
	alien := []byte("— witness.example AAAAAAAA\n")
	c, others, err := OpenCheckpoint(append(slices.Clone(head.Raw), alien...), w.Ring)
	if err != nil || !bytes.Equal(others, alien) || !bytes.Equal(c.Raw, head.Raw) {
		t.Errorf("a line of somebody else: %q, %v", others, err)
	}
}

func TestHostProofs(t *testing.T) {
	w := smallRecord(t)
	r := open(t, w)
	for _, test := range []struct {
		host    string
		present bool
		places  int
	}{
		{"a.example", true, 1}, {"b.example", true, 1}, {"c.example", true, 1},
		{"0.example", false, 1}, {"aa.example", false, 2}, {"bb.example", false, 2}, {"z.example", false, 1},
	} {
		p, err := r.ProveHost(1, test.host)
		if err != nil {
			t.Fatal(err)
		}
		if p.Present != test.present || len(p.Places) != test.places {
			t.Errorf("%s: present %v with %d places", test.host, p.Present, len(p.Places))
		}
		if c, err := p.Verify(w.Ring); err != nil || c.Size != 5 {
			t.Errorf("%s: %v", test.host, err)
		}
		if p.Claim != "all rows in the index committed at size 5; a clone recomputes it" {
			t.Errorf("claim %q", p.Claim)
		}
		for name, change := range map[string]func(*HostProof){
			"host": func(p *HostProof) { p.Host = "b0.example" }, "round": func(p *HostProof) { p.Sequence = 2 }, "size": func(p *HostProof) { p.Size++ },
			"root": func(p *HostProof) { p.Root[3] ^= 1 }, "present": func(p *HostProof) { p.Present = !p.Present },
			"position": func(p *HostProof) { p.Places[0].Position ^= 1 }, "entry": func(p *HostProof) { p.Places[0].Entry.SHA256[0] ^= 1 },
			"leaf": func(p *HostProof) { p.Places[0].Entry.Leaf++ }, "none": func(p *HostProof) { p.Places = nil }, "claim": func(p *HostProof) { p.Claim = "all" },
		} {
			if test.host == "bb.example" && name == "host" {
				continue // b0 is absent by the same neighbours
			}
			bad := p
			bad.Places = slices.Clone(p.Places)
			change(&bad)
			if _, err := bad.Verify(w.Ring); err == nil {
				t.Errorf("%s: with another %s it is proved", test.host, name)
			}
		}
	}
	// Two that are not neighbours would hide who stands between them.
	a, errA := r.ProveHost(1, "a.example")
	c, errC := r.ProveHost(1, "c.example")
	if err := errors.Join(errA, errC); err != nil {
		t.Fatal(err)
	}
	a.Host, a.Present, a.Places = "b.example", false, append(a.Places, c.Places...)
	if _, err := a.Verify(w.Ring); err == nil {
		t.Error("a host that is present is proved absent")
	}
	if _, err := r.ProveHost(4, "a.example"); err == nil {
		t.Error("a proof in a round that is not there")
	}
}

func check(t testing.TB, w *Writer) RecordReport {
	t.Helper()
	report, err := VerifyRecord(t.Context(), os.DirFS(w.Dir), w.Ring, RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestPartialTilesStayUntilTheFullOneExists: whoever holds any checkpoint that was signed reads its tree, by its own
// partial tiles or by the full ones that took their places.
func TestPartialTilesStayUntilTheFullOneExists(t *testing.T) {
	w := testWriter(t)
	seal(t, w, judged(t, 1, hosts(230)...))
	fsys := os.DirFS(w.Dir)
	there := func(name string) bool {
		_, err := fs.Stat(fsys, name)
		return err == nil
	}
	var sizes []int64
	for i := range 40 {
		observe(t, w, fmt.Sprintf("word%d", i))
		sizes = append(sizes, open(t, w).Log.head.Size)
		now := sizes[len(sizes)-1]
		for _, size := range sizes {
			for _, name := range partialFiles(size) {
				full := strings.TrimSuffix(path.Dir(name), ".p")
				if !there(name) && !there(full) {
					t.Fatalf("at size %d, %s of size %d is gone, and there is no %s", now, name, size, full)
				}
				// Whoever reads while the head moves still finds his.
				if len(sizes) > 1 && size == sizes[len(sizes)-2] && !there(name) {
					t.Errorf("at size %d, %s of the head before is gone", now, name)
				}
			}
		}
	}
	// What a full tile has made needless goes.
	left := 0
	for _, size := range sizes {
		for _, name := range partialFiles(size) {
			if there(name) && there(strings.TrimSuffix(path.Dir(name), ".p")) {
				left++
			}
		}
	}
	if last := sizes[len(sizes)-1]; last < tileWidth+10 || left > 0 {
		t.Errorf("%d partial files are left beside full ones at size %d", left, last)
	}
	if report := check(t, w); len(report.Problems) > 0 {
		t.Error(report.Problems)
	}
}

// partialFiles are the tiles and the bundle that are not full in a log of a size.
func partialFiles(size int64) (names []string) {
	for level := 0; size>>(tileHeight*level) > 0; level++ {
		n := size >> (tileHeight * level)
		w := int(n % tileWidth)
		if w == 0 {
			continue
		}
		names = append(names, inLog(tilePath(tlog.Tile{H: tileHeight, L: level, N: n / tileWidth, W: w})))
		if level == 0 {
			names = append(names, inLog(bundlePath(n/tileWidth, w)))
		}
	}
	return names
}
