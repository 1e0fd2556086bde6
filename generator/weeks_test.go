package generator

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/generator/pages"
)

// recordInput is a site with a record of so many weeks, and the record's writer.
func recordInput(t *testing.T, plain, weeks int) (Input, *seal.Writer) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	corpustest.Append(t, w, plain, weeks)
	dir := t.TempDir()
	in := specimenInput(t, dir)
	in.Corpus, in.Cache, in.TwinsDir = os.DirFS(w.Dir), filepath.Join(dir, "record"), ""
	return in, w
}

// kindsOfHappenings is how many kinds of observations happens knows.
const kindsOfHappenings = 9

// happens puts an observation of a kind on the record.
func happens(t *testing.T, rng *rand.Rand, w *seal.Writer, kind, step int) string {
	t.Helper()
	at := time.Date(2026, 12, 1, 0, step, 0, 0, time.UTC).Format(time.RFC3339)
	host := []string{"standing.example", "gone.example", "moved.example", "elsewhere.example"}[rng.IntN(4)]
	digest := strings.Repeat("cd", 32)
	o := []record.Observation{
		{Kind: record.ObservationRetiredWord, Word: &record.Said{Text: fmt.Sprintf("word%d", step)},
			Epitaph: "It rests."},
		{Kind: record.ObservationPaidRefresh, Refresh: &record.Refresh{Host: host, URL: "https://" + host + "/paid",
			Verdict:      record.VerdictReady,
			ReachedLevel: "L4", Failed: []string{}, Battery: "v2", Fault: record.FaultNone, EvidenceDigest: digest}},
		{Kind: record.ObservationPaidWalk, Walk: &record.PaidWalk{Host: host, URL: "https://" + host + "/paid",
			Network: "eip155:8453", Transaction: "0x" + digest, USDC: "0.01"}},
		{Kind: record.ObservationDeclaration, Declaration: &record.Declaration{Host: host, Shape: "x402-v1",
			Doors: []string{"https://" + host + "/paid"}}},
		{Kind: record.ObservationStandingNote, Note: &record.StandingNote{Host: host, Lane: "host",
			Statement: record.Said{Text: fmt.Sprintf("Note %d.", step)}, SignedAt: at}},
		{Kind: record.ObservationPublishedTip, Tip: &record.Tip{ID: fmt.Sprintf("tip-%d", step),
			Title: record.Said{Text: "A tip"}, Text: record.Said{SHA256: digest}}},
		{Kind: record.ObservationArtifactsIssued, Issued: &record.Issued{Total: int64(step),
			Classes: []record.IssuedClass{{Class: "certificate", Total: int64(step)}}}},
		{Kind: record.ObservationErratum, Erratum: &record.Erratum{Leaf: rng.Int64N(20), Reason: "the path was down",
			VerdictNow: record.VerdictNotProbed}},
		{Kind: record.ObservationErratum, Erratum: &record.Erratum{Leaf: rng.Int64N(20), Reason: "it was asked wrongly",
			VerdictNow: record.VerdictReady, EvidenceDigest: digest}},
	}[kind]
	o.At = at
	told, err := w.Observe(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := told[0].Note; n != nil && rng.IntN(2) == 0 {
		gone := record.Observation{At: at, Kind: record.ObservationWithdrawn,
			Withdrawn: &record.Withdrawn{SHA256: n.Statement.SHA256, Reason: "its author asked for it"}}
		if _, err := w.Observe(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		return o.Kind + " of " + host + ", and its withdrawal"
	}
	return o.Kind + " of " + host
}

// TestWeeksIncrementalEqualsFull adds weeks and observations of each kind and compares, after each
// step, the tree that was brought up to date with one made from nothing, byte by byte.
func TestWeeksIncrementalEqualsFull(t *testing.T) {
	weeksIncrementalEqualsFull(t, 5, kindsOfHappenings/2)
}

func TestSoakWeeksIncrementalEqualsFull(t *testing.T) {
	soak(t)
	weeksIncrementalEqualsFull(t, 2*kindsOfHappenings+1, 1)
}

// weeksIncrementalEqualsFull adds weeks in every other step, and in the rest so many observations,
// of one kind after the other.
func weeksIncrementalEqualsFull(t *testing.T, steps, observations int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(20261120, 5))
	in, w := recordInput(t, 20, 1)
	weeks, partial, happened := 1, 0, 0
	kinds := rng.Perm(kindsOfHappenings)
	for step := range steps {
		what := "the first week"
		switch {
		case step == 0:
		case step%2 == 1:
			weeks = min(weeks+1+rng.IntN(2), corpustest.Weeks)
			corpustest.Append(t, w, 20, weeks)
			what = fmt.Sprintf("%d weeks", weeks)
		default:
			what = ""
			for range observations {
				what += happens(t, rng, w, kinds[happened%len(kinds)], happened) + "; "
				happened++
			}
		}
		r := mustBuild(t, in)
		full := in
		full.OutDir, full.Cache = filepath.Join(t.TempDir(), "public"), ""
		whole := mustBuild(t, full)
		if d := diffTrees(readTree(t, full.OutDir), readTree(t, in.OutDir)); d != "" {
			t.Fatalf("step %d, %s: incremental differs from full:\n%s", step, what, d)
		}
		if r.Root != whole.Root || r.Files != whole.Files {
			t.Fatalf("step %d, %s: %+v, want %+v", step, what, r, whole)
		}
		if r.Rendered < whole.Rendered/2 {
			partial++
		}
	}
	if weeks < 1+steps/3 || partial < steps/3 {
		t.Errorf("%d weeks, %d steps rendered less than half: the test or the record does not work", weeks, partial)
	}
}

// contentRows are the rows of the table that do not read the record, or of it only the register of
// words.
func contentRows() map[string]bool {
	rows := map[string]bool{}
	for _, r := range pages.Table() {
		rows[r.Name] = true
	}
	for _, r := range pages.RecordRows() {
		delete(rows, r.Name)
	}
	for _, name := range []string{"sitemap", "sitemap_parts", "round", "round_parts", "log_checkpoint", "log_tiles",
		"log_checkpoints", "log_cosignatures", "round_headers", "host_index", "key_ring",
		"evidence_packs", "evidence_indexes", "words", "home"} {
		delete(rows, name)
	}
	return rows
}

// rowOf is the row of the table that makes a file; "" for the manifest.
func rowOf(t *testing.T, rows []pages.Output, file string) (string, api.Cache) {
	t.Helper()
	if strings.HasPrefix(file, ".well-known/manifest") {
		return "", api.Checked
	}
	for pass := range 2 { // exact paths before families
		for i := range rows {
			for _, f := range rows[i].Files {
				before, rest, family := strings.Cut(f.Path, "{")
				name, after, _ := strings.Cut(rest, "}")
				value, ok := strings.CutPrefix(file, before)
				if family {
					value, _ = strings.CutSuffix(value, after)
					ok = ok && strings.HasSuffix(file, after) &&
						(strings.HasSuffix(name, "...") || !strings.Contains(value, "/"))
				}
				if family != (pass == 1) || !ok || !family && f.Path != file {
					continue
				}
				return rows[i].Name, pages.Documents[rows[i].Name].Cache
			}
		}
	}
	t.Fatalf("no row makes %s", file)
	return "", ""
}

// TestAWeekRewritesOnlyWhatItChanges adds one week. The rule: a file is written if and only if its
// bytes differ. No file of an immutable document differs, nor any page of the store's own content.
// What differs is the pages of hosts, as each has a line for every round, what is derived from all
// rounds, the log's head and unfilled tiles, the sitemap, and the manifest; what is new is the
// week's own files.
func TestAWeekRewritesOnlyWhatItChanges(t *testing.T) {
	in, w := recordInput(t, 300, 9)
	mustBuild(t, in)
	before, stood := readTree(t, in.OutDir), stats(t, in.OutDir)
	corpustest.Append(t, w, 300, 10)
	report := mustBuild(t, in)
	after, stands := readTree(t, in.OutDir), stats(t, in.OutDir)

	rows, err := pages.Prepare(pages.Table())
	if err != nil {
		t.Fatal(err)
	}
	content := contentRows()
	written, hosts := 0, 0
	for _, name := range slices.Sorted(keysOf(after)) {
		body, was := before[name]
		untouched := was && os.SameFile(stood[name], stands[name]) &&
			stood[name].ModTime().Equal(stands[name].ModTime())
		differs := !was || body != after[name]
		if differs == untouched {
			t.Errorf("%s: its bytes differ is %v, it was written is %v", name, differs, !untouched)
		}
		if !differs {
			continue
		}
		written++
		row, cache := rowOf(t, rows, name)
		if was && cache == api.Immutable {
			t.Errorf("%s of %s was there and may never change", name, row)
		}
		if content[row] {
			t.Errorf("%s of %s is content and changed with a week", name, row)
		}
		if row == "host" {
			hosts++
		}
	}
	if report.Written != written {
		t.Errorf("%d files reported as written, %d were", report.Written, written)
	}
	for name := range before {
		if _, there := after[name]; !there {
			row, _ := rowOf(t, rows, name)
			filled := row == "log_tiles" && strings.Contains(name, ".p/")
			if !filled && !strings.HasPrefix(name, "corpus/hosts/8/") { // those of rounds 9 and 10 stand
				t.Errorf("%s of %s went with a week", name, row)
			}
		}
	}
	for _, name := range []string{"corpus/hosts/9/first.txt", "corpus/hosts/10/first.txt"} {
		if _, ok := after[name]; !ok {
			t.Errorf("%s is not published", name)
		}
	}
	if _, ok := after["corpus/10.json"]; !ok || hosts < 3*300 {
		t.Errorf("the week is published: %v; %d files of hosts changed", ok, hosts)
	}
	if again := mustBuild(t, in); again.Written != 0 || again.Rendered != 0 {
		t.Errorf("built again: %+v", again)
	}
}

// stats are the files of a tree as the file system knows them.
func stats(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	out := make(map[string]os.FileInfo)
	for name := range readTree(t, dir) {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = info
	}
	return out
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
