package verify

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// covered is a small record with a proof of time and a cosignature, covered by its manifest.
func covered(t testing.TB) (*seal.Writer, fstest.MapFS) {
	t.Helper()
	w := recordtest.Writer(t)
	first := recordtest.Judged(t, 1, "a.example")
	for row := range first.Rows {
		first.Rows = recordtest.Each(row, recordtest.Walked("b.example", record.VerdictNotProbed))
	}
	recordtest.Seal(t, w, first)
	recordtest.Observe(t, w, "word")
	second := recordtest.Seal(t, w, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictUnreachable)))
	// A pending proof: append, SHA-256, pending at http://c.example.
	tree := slices.Concat([]byte{0xf0, 1, 'x', 0x08, 0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, 17, 16},
		[]byte("http://c.example"))
	p, err := ots.FromAnswer(second.Digest, tree)
	if err != nil {
		t.Fatal(err)
	}
	proof := filepath.Join(w.Dir, "proofs", "2", "c.example-1.ots")
	if err := os.MkdirAll(filepath.Dir(proof), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(proof, p.Encode(), 0o444); err != nil {
		t.Fatal(err)
	}
	k := recordtest.Key(t, 7)
	if _, err := w.Cosign(t.Context(), recordtest.Cosign(k, "w.example", recordtest.Open(t, w).Log.Head(), 1),
		[]tlog.Witness{{Name: "w.example", Public: k.Public()}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	return w, recordtest.MapFS(t, w.Dir)
}

func verify(t testing.TB, tree fs.FS, o CloneOptions) CloneReport {
	t.Helper()
	o.Judge = rejudge.Batteries{}
	r, err := Clone(t.Context(), tree, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func names(r CloneReport, name string) bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Path == name })
}

// further is a record with what covered lacks: kept walks to the control door, a kept refresh, and
// a proof of time that leads to a block.
func further(t *testing.T) fstest.MapFS {
	t.Helper()
	w := controlled(t, nil)
	round := recordtest.Open(t, w).Rounds()[0]
	proof, header := inBlock(t, round.Digest, 7)
	if _, err := w.AddProof(t.Context(), 1, "c.example", proof, map[int64]ots.Header{7: header}); err != nil {
		t.Fatal(err)
	}
	const host = "h00001.example"
	url := "https://" + host + "/paid"
	report, judgement := recordtest.Look(t, url, practice.All()[0].Answer(url), exchange.Error{}, recordtest.LookedAt)
	refresh, err := rejudge.RefreshFrom(host, report, judgement)
	if err != nil {
		t.Fatal(err)
	}
	refresh.At = "2026-09-22T00:00:00Z"
	if _, err := w.Observe(t.Context(), refresh); err != nil {
		t.Fatal(err)
	}
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	return recordtest.MapFS(t, w.Dir)
}

// published is a site of one page, with its keys and its manifest.
func published(t *testing.T) fstest.MapFS {
	t.Helper()
	keys, err := attest.SigningKeyDocument("store.example", attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{"a.html": {Data: []byte("<p>What is sold here.</p>\n"), Mode: 0o644},
		".well-known/store-signing-key": {Data: keys, Mode: 0o644}}
	m, err := filetree.BuildManifest(t.Context(), tree, attest.PublicLayout())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := m.Seal(attest.SpecimenKey(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sealed.Write {
		tree[f.Path] = &fstest.MapFile{Data: f.Body, Mode: 0o644}
	}
	return tree
}

// TestEveryByteOfAFileOfEachKind changes each byte of the smallest file of each kind, one at a
// time, in records and in a published site.
func TestEveryByteOfAFileOfEachKind(t *testing.T) {
	_, tree := covered(t)
	if r := verify(t, tree, CloneOptions{}); len(r.Problems) > 0 || r.Record.Rounds != 2 || r.Record.Rows != 3 ||
		r.Record.Leaves != 8 || len(r.Record.Proofs) != 1 {
		t.Fatalf("%+v", r)
	}
	done, total := map[string]bool{}, 0
	for _, tree := range []fstest.MapFS{tree, further(t), published(t)} {
		folders := list(t, tree)
		if r := verify(t, folders, CloneOptions{}); len(r.Problems) > 0 {
			t.Fatalf("%v", r.Problems)
		}
		smallest := map[string]string{}
		for name, f := range tree {
			k := recordtest.Kind(name)
			if held, ok := smallest[k]; !done[k] && (!ok || len(f.Data) < len(tree[held].Data)) {
				smallest[k] = name
			}
		}
		for k, name := range smallest {
			done[k] = true
			f := tree[name]
			for at := range f.Data {
				old := f.Data[at]
				f.Data[at] = old ^ byte(1+at%255)
				r := verify(t, folders, CloneOptions{})
				f.Data[at] = old
				// A changed head or key file leaves nothing else to be judged by.
				if !names(r, name) {
					t.Fatalf("%s, byte %d: changed, and the problems are %v", name, at, r.Problems)
				}
				total++
			}
		}
	}
	t.Logf("%d bytes of %q", total, slices.Sorted(maps.Keys(done)))
}

// TestRecordWithoutItsManifest changes random bytes of what is signed or logged by itself: the
// manifest is one cover, not the only one.
func TestRecordWithoutItsManifest(t *testing.T) {
	w, tree := covered(t)
	files := []string{}
	for name := range tree {
		if strings.HasPrefix(name, "rounds/") || strings.HasPrefix(name, "observations/") ||
			strings.HasPrefix(name, "log/") && !strings.Contains(name, "cosign") {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	r := rand.New(rand.NewPCG(4, 2))
	for range 300 {
		name := files[r.IntN(len(files))]
		f := tree[name]
		at := r.IntN(len(f.Data))
		old := f.Data[at]
		f.Data[at] ^= byte(1 + r.IntN(255))
		report, err := Record(t.Context(), tree, w.Ring, judging)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Path == name }) {
			t.Fatalf("%s, byte %d changed to %#02x: %v", name, at, f.Data[at], report.Problems)
		}
		f.Data[at] = old
	}
	for _, name := range files {
		f := tree[name]
		delete(tree, name)
		report, err := Record(t.Context(), tree, w.Ring, judging)
		if err != nil {
			t.Fatal(err)
		}
		// A missing observation shows at the round or the checkpoint behind it; an older partial
		// tile may be missing.
		named := slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Path == name })
		older := strings.Contains(name, ".p/") && !strings.HasSuffix(name, ".p/8") && strings.HasPrefix(name, "log/")
		between := strings.HasPrefix(name, "observations/") || name == "log/checkpoints/6"
		if !named && !older && !(between && len(report.Problems) > 0) && name != "log/checkpoints/5" {
			t.Errorf("%s is missing: %v", name, report.Problems)
		}
		tree[name] = f
	}
	for _, name := range []string{"rounds/2/part-0002.jsonl", "rounds/x", "rounds/1/hosts/tile/0/001", "log/tile/0/009",
		"log/tile/0/000.p/9", "observations/000000009.json", "proofs/2/x.ots", "keys/x", "log/.checkpoint.new"} {
		tree[name] = &fstest.MapFile{Data: []byte("x")}
		report, err := Record(t.Context(), tree, w.Ring, judging)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Path == name }) {
			t.Errorf("%s is added: %v", name, report.Problems)
		}
		delete(tree, name)
	}
}

// TestMissingAndAddedInAClone covers by the manifest what the record alone cannot know.
func TestMissingAndAddedInAClone(t *testing.T) {
	_, tree := covered(t)
	all := make([]string, 0)
	for name := range tree {
		all = append(all, name)
	}
	for _, name := range all {
		f := tree[name]
		delete(tree, name)
		if r := verify(t, tree, CloneOptions{}); !names(r, name) {
			t.Errorf("%s is missing: %v", name, r.Problems)
		}
		tree[name] = f
	}
	for _, name := range []string{"rounds/9/x", "proofs/1/x.ots", "log/x", "keys/other", "manifest/x.json",
		"observations/.x"} {
		tree[name] = &fstest.MapFile{Data: []byte("x")}
		if r := verify(t, tree, CloneOptions{}); !names(r, name) {
			t.Errorf("%s is added: %v", name, r.Problems)
		}
		delete(tree, name)
	}
	// Swapped: the rounds' parts, and whole rounds.
	a, b := tree["rounds/1/part-0001.jsonl"], tree["rounds/2/part-0001.jsonl"]
	tree["rounds/1/part-0001.jsonl"], tree["rounds/2/part-0001.jsonl"] = b, a
	if r := verify(t, tree, CloneOptions{}); !names(r, "rounds/1/part-0001.jsonl") ||
		!names(r, "rounds/2/part-0001.jsonl") {
		t.Errorf("parts changed places: %v", r.Problems)
	}
}

// TestLineEndsThatGitChanged: a clone of which nothing else is wrong says so, and no other does.
func TestLineEndsThatGitChanged(t *testing.T) {
	w := recordtest.Small(t)
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	tree := recordtest.MapFS(t, w.Dir)
	for _, f := range tree {
		if !bytes.Contains(f.Data, []byte{0}) {
			f.Data = bytes.ReplaceAll(f.Data, []byte("\n"), []byte("\r\n"))
		}
	}
	says := func() (string, CloneReport) {
		r, err := Clone(t.Context(), tree, CloneOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		r.Print(&out, "clone")
		return out.String(), r
	}
	const why = "line ends were changed by git: clone with git -c core.autocrlf=false clone"
	if out, r := says(); !r.Refused() || !r.LineEnds || !strings.Contains(out, why) {
		t.Errorf("%s", out)
	}
	name := record.PartPath(1, 0)
	tree[name].Data = bytes.Replace(tree[name].Data, []byte("a.example"), []byte("b.example"), 1)
	if out, r := says(); !r.Refused() || r.LineEnds || strings.Contains(out, why) {
		t.Errorf("with a changed row: %s", out)
	}
}
