package record_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// entriesOf are the entries of a round's host index by host, which are sorted.
func entriesOf(t *testing.T, r *record.Record, sequence int64) map[string]record.HostEntry {
	t.Helper()
	out := map[string]record.HostEntry{}
	last := ""
	for e, err := range r.HostEntries(sequence) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Host <= last {
			t.Errorf("%s stands behind %s", e.Host, last)
		}
		last, out[e.Host] = e.Host, e
	}
	return out
}

// TestHostIndexIsTheFoldOfAllRows folds the rows of each round anew and compares, over more hosts
// than a bundle of entries has, which come and go.
func TestHostIndexIsTheFoldOfAllRows(t *testing.T) {
	w := recordtest.Writer(t)
	rng := rand.New(rand.NewPCG(5, 17))
	for sequence := range int64(5) {
		var rows []record.Row
		for i := range 700 {
			if rng.IntN(3) > 0 && (sequence != 2 || i < 3) {
				rows = append(rows, recordtest.Walked(fmt.Sprintf("h%03d.example", i), record.VerdictReady))
			}
		}
		if sequence == 3 {
			rows = nil // nothing was walked
		}
		recordtest.Seal(t, w, recordtest.Draft(sequence+1, rows...))
	}
	r := recordtest.Open(t, w)
	want := map[string]record.HostEntry{}
	for _, round := range r.Rounds() {
		for row, err := range r.Rows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			e, seen := want[row.Host]
			if !seen {
				e.Host, e.FirstSequence = row.Host, round.Sequence
			}
			sum := sha256.Sum256(row.Raw)
			e.Head = sha256.Sum256(append(e.Head[:], sum[:]...))
			e.LastLeaf, e.Rows = row.Leaf, e.Rows+1
			want[row.Host] = e
		}
		if diff := cmp.Diff(want, entriesOf(t, r, round.Sequence)); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", round.Sequence, diff)
		}
		var first []string
		for i, host := range slices.Sorted(maps.Keys(want)) {
			if i%256 == 0 {
				first = append(first, host)
			}
		}
		table, err := os.ReadFile(filepath.Join(w.Dir, record.HostsPath(round.Sequence, "first.txt")))
		if err != nil || string(table) != strings.Join(first, "\n")+"\n" {
			t.Errorf("round %d: the table is %q: %v", round.Sequence, table, err)
		}
	}
	if report := audited(t, w); len(report.Problems) > 0 {
		t.Error(report.Problems)
	}
}

// TestASealRefusesADamagedHostIndex because what it makes of it would be signed.
func TestASealRefusesADamagedHostIndex(t *testing.T) {
	for _, c := range []struct{ name, from, to string }{
		{"tile/entries/000.p/3", `"rows":1`, `"rows":2`},
		{"tile/entries/000.p/3", `"first_sequence":1`, `"first_sequence":0`},
		{"tile/entries/000.p/3", "b.example", "b.exampme"},
		{"tile/entries/000.p/3", "a.example", "z.example"},
		{"tile/entries/000.p/3", "", ""}, // not there
	} {
		w := recordtest.Writer(t)
		rows := []record.Row{recordtest.Walked("a.example", record.VerdictReady),
			recordtest.Walked("b.example", record.VerdictReady), recordtest.Walked("c.example", record.VerdictReady)}
		recordtest.Seal(t, w, recordtest.Draft(1, rows...))
		file := filepath.Join(w.Dir, record.HostsPath(1, c.name))
		raw, err := os.ReadFile(file)
		if err := errors.Join(err, os.Remove(file)); err != nil {
			t.Fatal(err)
		}
		if c.from != "" {
			if err := os.WriteFile(file, []byte(strings.Replace(string(raw), c.from, c.to, 1)), 0o444); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Seal(t.Context(), recordtest.Draft(2, rows[1:]...)); err == nil ||
			!strings.Contains(err.Error(), "host index of round 1") {
			t.Errorf("%q for %q: %v", c.to, c.from, err)
		}
		if _, err := os.Stat(filepath.Join(w.Dir, record.HeaderPath(2))); err == nil {
			t.Errorf("%q for %q: it is sealed", c.to, c.from)
		}
		// Put back, the same seal goes through.
		if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, raw, 0o444)); err != nil {
			t.Fatal(err)
		}
		recordtest.Seal(t, w, recordtest.Draft(2, rows[1:]...))
		if report := audited(t, w); len(report.Problems) > 0 {
			t.Error(report.Problems)
		}
	}
}

func TestHostProofs(t *testing.T) {
	w := recordtest.Small(t)
	r := recordtest.Open(t, w)
	for _, test := range []struct {
		sequence int64
		host     string
		rows     int64 // 0 for a host that is absent
		places   int
		size     int64 // of the log
	}{
		{1, "a.example", 1, 1, 5}, {1, "b.example", 1, 1, 5}, {1, "c.example", 1, 1, 5},
		{1, "0.example", 0, 1, 5}, {1, "aa.example", 0, 2, 5}, {1, "bb.example", 0, 2, 5}, {1, "d.example", 0, 1, 5},
		{2, "a.example", 2, 1, 10}, {2, "b.example", 1, 1, 10}, {3, "a.example", 2, 1, 15}, {3, "b.example", 2, 1, 15},
		{3, "d.example", 1, 1, 15}, {3, "z.example", 0, 1, 15},
	} {
		p, err := r.ProveHost(test.sequence, test.host)
		if err != nil {
			t.Fatal(err)
		}
		e, seen := p.Entry()
		if seen != (test.rows > 0) || len(p.Places) != test.places || e.Rows != test.rows {
			t.Errorf("%s in round %d: %v with %d places", test.host, test.sequence, e, len(p.Places))
		}
		if c, err := p.Verify(w.Ring); err != nil || c.Size != test.size {
			t.Errorf("%s: %v", test.host, err)
		}
		if want := fmt.Sprintf("all rows in the index committed at size %d; a clone recomputes it",
			test.size); p.Claim != want {
			t.Errorf("claim %q", p.Claim)
		}
		for name, change := range map[string]func(*record.HostProof){
			"host":  func(p *record.HostProof) { p.Host = "b0.example" },
			"round": func(p *record.HostProof) { p.Sequence ^= 4 }, "size": func(p *record.HostProof) { p.Size++ },
			"root":          func(p *record.HostProof) { p.Root[3] ^= 1 },
			"position":      func(p *record.HostProof) { p.Places[0].Position ^= 1 },
			"head":          func(p *record.HostProof) { p.Places[0].Entry.Head[0] ^= 1 },
			"last leaf":     func(p *record.HostProof) { p.Places[0].Entry.LastLeaf++ },
			"rows":          func(p *record.HostProof) { p.Places[0].Entry.Rows++ },
			"first round":   func(p *record.HostProof) { p.Places[0].Entry.FirstSequence++ },
			"entry":         func(p *record.HostProof) { p.Places[0].Entry.Host = "b.exampld" },
			"none":          func(p *record.HostProof) { p.Places = nil },
			"claim":         func(p *record.HostProof) { p.Claim = "all" },
			"a place twice": func(p *record.HostProof) { p.Places = append(p.Places, p.Places[0]) },
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
	// Two that are not neighbours would hide who stands between them, and so would one end alone.
	a, errA := r.ProveHost(1, "a.example")
	c, errC := r.ProveHost(1, "c.example")
	if err := errors.Join(errA, errC); err != nil {
		t.Fatal(err)
	}
	for _, places := range [][]record.PlacedHost{slices.Concat(a.Places, c.Places), slices.Concat(c.Places, a.Places),
		a.Places, c.Places, nil} {
		hidden := a
		hidden.Host, hidden.Places = "b.example", places
		if _, err := hidden.Verify(w.Ring); err == nil {
			t.Errorf("a host that is present is proved absent by %v", places)
		}
	}
	// The leaf of a round under a later head than its own.
	second, _ := r.Round(2)
	later, err := r.Log.Prove(second.HostsLeaf(), r.Log.Head().Size, w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.ProveHost(2, "a.example")
	if err != nil {
		t.Fatal(err)
	}
	p.Log, p.Claim = string(later.Text()), record.HostClaim(r.Log.Head().Size)
	if _, err := p.Verify(w.Ring); err == nil {
		t.Error("proved under a later head")
	}
	for _, sequence := range []int64{-1, 0, 4} {
		if _, err := r.ProveHost(sequence, "a.example"); err == nil {
			t.Errorf("a proof in round %d, which is not there", sequence)
		}
	}
}

// TestHostProofInAnEmptyIndex is that of a record in which nothing was ever walked.
func TestHostProofInAnEmptyIndex(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Draft(1))
	p, err := recordtest.Open(t, w).ProveHost(1, "a.example")
	if err != nil || p.Size != 0 || p.Root != attest.MerkleRoot(nil) {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := p.Verify(w.Ring); err != nil {
		t.Error(err)
	}
	if report := audited(t, w); len(report.Problems) > 0 {
		t.Error(report.Problems)
	}
}

// TestASealBeginsTheHostIndexAnew where a crash left that of another draft, with more hosts and
// without.
func TestASealBeginsTheHostIndexAnew(t *testing.T) {
	rows := func(n int, hosts string) (out []record.Row) {
		for i := range n {
			out = append(out, recordtest.Walked(fmt.Sprintf("%s%03d.example", hosts, i), record.VerdictReady))
		}
		return out
	}
	for _, left := range []int{0, 1, 300} {
		w, crashed := recordtest.Writer(t), recordtest.Writer(t)
		for _, w := range []*seal.Writer{w, crashed} {
			recordtest.Seal(t, w, recordtest.Draft(1, rows(3, "a")...))
		}
		recordtest.Seal(t, crashed, recordtest.Draft(2, rows(left, "b")...))
		if err := os.Remove(filepath.Join(crashed.Dir, record.HeaderPath(2))); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(w.Dir, "rounds/2"),
			os.DirFS(filepath.Join(crashed.Dir, "rounds/2"))); err != nil {
			t.Fatal(err)
		}
		fresh := rows(2, "c")
		fresh[1].PreviousLeaf = new(int64(1)) // which is not for a draft to say
		recordtest.Seal(t, w, recordtest.Draft(2, fresh...))
		if report := audited(t, w); len(report.Problems) > 0 {
			t.Error(report.Problems)
		}
	}
}

// TestFilesOfAHostIndexAreItsOwn adds what would be a part of the log, of which beginnings stay.
func TestFilesOfAHostIndexAreItsOwn(t *testing.T) {
	for _, c := range []struct{ from, to string }{{"tile/entries/000.p/3", "tile/entries/000.p/2"},
		{"tile/0/000.p/3", "tile/0/000.p/2"}, {"first.txt", "second.txt"}} {
		w := recordtest.Small(t)
		raw, err := os.ReadFile(filepath.Join(w.Dir, record.HostsPath(1, c.from)))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(c.to, "entries"):
			raw = raw[:2*len(raw)/3]
		case strings.Contains(c.to, "tile"):
			raw = raw[:2*sha256.Size]
		}
		if err := os.WriteFile(filepath.Join(w.Dir, record.HostsPath(1, c.to)), raw, 0o444); err != nil {
			t.Fatal(err)
		}
		if report := audited(t, w); len(report.Problems) != 1 || report.Problems[0].Path != record.HostsPath(1, c.to) ||
			report.Problems[0].Kind != attest.ProblemAdded {
			t.Errorf("%s: %v", c.to, report.Problems)
		}
		// And one that is not there.
		if err := errors.Join(os.Remove(filepath.Join(w.Dir, record.HostsPath(1, c.to))),
			os.Remove(filepath.Join(w.Dir, record.HostsPath(1, c.from)))); err != nil {
			t.Fatal(err)
		}
		if report := audited(t, w); len(report.Problems) != 1 || report.Problems[0].Path != record.HostsPath(1,
			c.from) || report.Problems[0].Kind != attest.ProblemMissing {
			t.Errorf("without %s: %v", c.from, report.Problems)
		}
	}
}
