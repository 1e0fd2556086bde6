package audit

import (
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"agentstore/corpus/attest"
	"agentstore/corpus/ots"
	"agentstore/corpus/record"
	"agentstore/corpus/record/recordtest"
	"agentstore/corpus/tlog"
)

// covered is a small record with a proof of time and a cosignature, covered by its manifest.
func covered(t testing.TB) (*record.Writer, fstest.MapFS) {
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
	tree := slices.Concat([]byte{0xf0, 1, 'x', 0x08, 0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e, 17, 16}, []byte("http://c.example"))
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
	if _, err := w.Cosign(t.Context(), recordtest.Cosign(k, "w.example", recordtest.Open(t, w).Log.Head(), 1), []tlog.Witness{{Name: "w.example", Public: k.Public()}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Cover(t.Context(), attest.Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	return w, recordtest.MapFS(t, w.Dir)
}

func verify(t testing.TB, tree fs.FS, o CloneOptions) CloneReport {
	t.Helper()
	r, err := Clone(t.Context(), tree, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func names(r CloneReport, name string) bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Path == name })
}

// kind is what a file of a record is one of.
func kind(name string) string {
	switch parts := strings.Split(name, "/"); {
	case strings.HasPrefix(name, "log/") && len(parts) > 2:
		return strings.Join(parts[:3], "/")
	case strings.HasPrefix(name, "rounds/"):
		return parts[0] + "/" + strings.Join(parts[2:], "/")
	case strings.HasPrefix(name, "manifest/"), len(parts) < 2:
		return name
	default:
		return parts[0] + filepath.Ext(name) + parts[1]
	}
}

func TestEveryByteOfAFileOfEachKindOfARecord(t *testing.T) {
	_, tree := covered(t)
	if r := verify(t, tree, CloneOptions{}); len(r.Problems) > 0 || r.Record.Rounds != 2 || r.Record.Rows != 3 || r.Record.Leaves != 8 || len(r.Record.Proofs) != 1 {
		t.Fatalf("%+v", r)
	}
	smallest := map[string]string{}
	for name, f := range tree {
		if held, ok := smallest[kind(name)]; !ok || len(f.Data) < len(tree[held].Data) {
			smallest[kind(name)] = name
		}
	}
	total := 0
	for _, name := range smallest {
		f := tree[name]
		for at := range f.Data {
			old := f.Data[at]
			f.Data[at] = old ^ byte(1+at%255)
			r := verify(t, tree, CloneOptions{})
			f.Data[at] = old
			// A changed head or key file leaves nothing else to be judged by.
			if !names(r, name) {
				t.Fatalf("%s, byte %d: changed, and the problems are %v", name, at, r.Problems)
			}
			total++
		}
	}
	t.Logf("%d bytes in %d kinds of files", total, len(smallest))
}

// TestRecordWithoutItsManifest changes random bytes of what is signed or logged by itself: the manifest is one cover, not
// the only one.
func TestRecordWithoutItsManifest(t *testing.T) {
	w, tree := covered(t)
	maps := []string{}
	for name := range tree {
		if strings.HasPrefix(name, "rounds/") || strings.HasPrefix(name, "observations/") || strings.HasPrefix(name, "log/") && !strings.Contains(name, "cosign") {
			maps = append(maps, name)
		}
	}
	slices.Sort(maps)
	r := rand.New(rand.NewPCG(4, 2))
	for range 1500 {
		name := maps[r.IntN(len(maps))]
		f := tree[name]
		at := r.IntN(len(f.Data))
		old := f.Data[at]
		f.Data[at] ^= byte(1 + r.IntN(255))
		report, err := Record(t.Context(), tree, w.Ring, RecordOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Path == name }) {
			t.Fatalf("%s, byte %d changed to %#02x: %v", name, at, f.Data[at], report.Problems)
		}
		f.Data[at] = old
	}
	for _, name := range maps {
		f := tree[name]
		delete(tree, name)
		report, err := Record(t.Context(), tree, w.Ring, RecordOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// A missing observation shows at the round or the checkpoint behind it; an older partial tile may be missing.
		named := slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Path == name })
		older := strings.Contains(name, ".p/") && !strings.HasSuffix(name, ".p/8") && strings.HasPrefix(name, "log/")
		between := strings.HasPrefix(name, "observations/") || name == "log/checkpoints/6"
		if !named && !older && !(between && len(report.Problems) > 0) && name != "log/checkpoints/5" {
			t.Errorf("%s is missing: %v", name, report.Problems)
		}
		tree[name] = f
	}
	for _, name := range []string{"rounds/2/part-0002.jsonl", "rounds/x", "rounds/1/hosts/tile/0/001", "log/tile/0/009", "log/tile/0/000.p/9", "observations/000000009.json", "proofs/2/x.ots", "keys/x", "log/.checkpoint.new"} {
		tree[name] = &fstest.MapFile{Data: []byte("x")}
		report, err := Record(t.Context(), tree, w.Ring, RecordOptions{})
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
	for _, name := range []string{"rounds/9/x", "proofs/1/x.ots", "log/x", "keys/other", "manifest/x.json", "observations/.x"} {
		tree[name] = &fstest.MapFile{Data: []byte("x")}
		if r := verify(t, tree, CloneOptions{}); !names(r, name) {
			t.Errorf("%s is added: %v", name, r.Problems)
		}
		delete(tree, name)
	}
	// Swapped: the rounds' parts, and whole rounds.
	a, b := tree["rounds/1/part-0001.jsonl"], tree["rounds/2/part-0001.jsonl"]
	tree["rounds/1/part-0001.jsonl"], tree["rounds/2/part-0001.jsonl"] = b, a
	if r := verify(t, tree, CloneOptions{}); !names(r, "rounds/1/part-0001.jsonl") || !names(r, "rounds/2/part-0001.jsonl") {
		t.Errorf("parts changed places: %v", r.Problems)
	}
}

// TestMovedRowsAreRefused has the store itself sign a round that holds rows of another place.
func TestMovedRowsAreRefused(t *testing.T) {
	k := recordtest.Key(t, 1)
	row := recordtest.SignRow(t, recordtest.UnprobedRow(), k)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: k.Public(), attest.PurposeLog: recordtest.Key(t, 2).Public()})
	if err != nil {
		t.Fatal(err)
	}
	part, p, err := record.EncodePart([][]byte{row})
	if err != nil {
		t.Fatal(err)
	}
	first := recordtest.Round(p)
	first.Sequence, first.PreviousDigest, first.FirstLeaf, first.Week = 1, attest.Digest{}, 0, "2026-W46"
	_, header := recordtest.SignRound(t, first, k)
	encoded, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{"rounds/1/header.json": {Data: header}, "rounds/1/part-0001.jsonl": {Data: part}, record.RingFile: {Data: encoded}}
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
	o := CloneOptions{RecordOptions: RecordOptions{Remembered: remembered}}
	if r := verify(t, tree, o); len(r.Problems) > 0 || r.Record.Remembered != 8 {
		t.Errorf("the same record: %v", r.Problems)
	}
	// It goes on.
	recordtest.Observe(t, seen, "more")
	if err := seen.Cover(t.Context(), attest.Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, os.DirFS(seen.Dir), o); len(r.Problems) > 0 || r.Record.Remembered != 8 {
		t.Errorf("the record went on: %v", r.Problems)
	}
	// The same store writes another history, with all its keys: shorter, as long, and longer.
	for _, more := range []int{0, 1, 5} {
		w := recordtest.Writer(t)
		recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady), recordtest.Walked("b.example", record.VerdictReady)))
		recordtest.Observe(t, w, "word")
		if more > 0 {
			recordtest.Seal(t, w, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady)))
		}
		for range more - 1 {
			recordtest.Observe(t, w, "word")
		}
		if err := w.Cover(t.Context(), attest.Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("0", 64)}); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, os.DirFS(w.Dir), CloneOptions{}); len(r.Problems) > 0 {
			t.Fatalf("a stranger sees nothing: %v", r.Problems)
		}
		if r := verify(t, os.DirFS(w.Dir), o); len(r.Problems) != 1 || r.Problems[0].Kind != "rewritten" || r.Problems[0].Path != "log/checkpoint" {
			t.Errorf("rewritten with %d more: %v", more, r.Problems)
		}
	}
}

// TestHandoverOfKeys checks a record begun under one identity and log key and continued under others.
func TestHandoverOfKeys(t *testing.T) {
	id, lk, id2, lk2 := recordtest.Key(t, 1), recordtest.Key(t, 2), recordtest.Key(t, 3), recordtest.Key(t, 4)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: id.Public(), attest.PurposeLog: lk.Public()})
	if err != nil {
		t.Fatal(err)
	}
	w := &record.Writer{Dir: t.TempDir(), Origin: recordtest.Origin, Identity: id, LogKey: lk, Ring: ring}
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady)))
	old, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if ring, err = ring.Handover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-09-15", Reason: "yearly"}, id, id2.Public()); err != nil {
		t.Fatal(err)
	}
	w = &record.Writer{Dir: w.Dir, Origin: recordtest.Origin, Identity: id2, LogKey: lk, Ring: ring}
	if ring, err = w.HandOver(t.Context(), lk2.Public(), "2026-09-15", "yearly"); err != nil {
		t.Fatal(err)
	}
	w = &record.Writer{Dir: w.Dir, Origin: recordtest.Origin, Identity: id2, LogKey: lk2, Ring: ring}
	recordtest.Seal(t, w, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady)))
	if err := w.Cover(t.Context(), attest.Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, os.DirFS(w.Dir), CloneOptions{Ring: old}); len(r.Problems) > 0 || !r.Trusted {
		t.Errorf("by the first keys: %v", r.Problems)
	}
	stranger, err := attest.SpecimenRing().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if r := verify(t, os.DirFS(w.Dir), CloneOptions{Ring: stranger}); !names(r, record.RingFile) {
		t.Errorf("by a stranger's keys: %v", r.Problems)
	}
	// The old identity key signs once more, after it was handed over.
	late := &record.Writer{Dir: w.Dir, Origin: recordtest.Origin, Identity: id, LogKey: lk2, Ring: ring}
	if _, err := late.Seal(t.Context(), recordtest.Draft(3, recordtest.Walked("a.example", record.VerdictReady))); err == nil {
		t.Error("a retired key seals")
	}
	word := record.Observation{Number: 1, At: "2026-09-15T23:59:59Z", Kind: record.ObservationRetiredWord, Word: recordtest.Said("synergy")}
	for at, want := range map[string]bool{word.At: true, "2026-09-16T00:00:00Z": false} {
		word.At = at
		raw, err := record.SignObservation(word, id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := record.VerifyObservation(raw, ring); (err == nil) != want {
			t.Errorf("an observation of %s by a key retired on 2026-09-15: %v", at, err)
		}
	}
	// It signs a manifest over a tree whose own keys say that it was retired.
	meta := attest.Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("0", 64)}
	held := recordtest.MapFS(t, w.Dir)
	m, err := attest.BuildManifest(t.Context(), record.FS{FS: held}, attest.CorpusLayout())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := m.Seal(id, meta)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sealed.Write {
		held[f.Path] = &fstest.MapFile{Data: f.Body, Mode: 0o644}
	}
	if r := verify(t, held, CloneOptions{}); !names(r, "manifest.json") {
		t.Errorf("a manifest by a retired key: %v", r.Problems)
	}
	if r := verify(t, site(t, id, ring), CloneOptions{}); !names(r, attest.PublicLayout().Head()) {
		t.Errorf("a site by a retired key: %v", r.Problems)
	}
	// One that was signed before, by keys that did not know, is as good as it was.
	before, err := attest.ParseRing(old)
	if err != nil {
		t.Fatal(err)
	}
	now, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if r := verify(t, site(t, id, before), CloneOptions{Ring: now}); len(r.Problems) > 0 || r.Status != attest.SignerRetired {
		t.Errorf("a site of before the handover: %s, %v", r.Status, r.Problems)
	}
}

// TestWhatStandsBesideARecordIsNamed: it is not looked at, and whoever asks is told so.
func TestWhatStandsBesideARecordIsNamed(t *testing.T) {
	_, tree := covered(t)
	for _, name := range []string{"extra.txt", "more/files", "manifest.json.bak", ".lock"} {
		tree[name] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	}
	want := []string{"extra.txt", "manifest.json.bak", "more"}
	r := verify(t, tree, CloneOptions{})
	if !r.Sound() || !slices.Equal(r.Beside, want) {
		t.Errorf("beside the record: %q, %v", r.Beside, r.Problems)
	}
	var text strings.Builder
	if r.Print(&text, "clone"); !strings.Contains(text.String(), "not looked at: extra.txt, manifest.json.bak, more\n") {
		t.Errorf("it says %s", text.String())
	}
}

// TestWhatNotEveryMachineCanHoldIsRefused puts names that differ in case alone, links, pipes and devices into a record, a
// published tree and a publication repository. Not every system can hold both of such names, and which one it keeps
// nobody signed.
func TestWhatNotEveryMachineCanHoldIsRefused(t *testing.T) {
	w, record := covered(t)
	published := site(t, w.Identity, w.Ring)
	repository := maps.Clone(record)
	for name, f := range published {
		repository[PublishedFolder+"/"+name] = f
	}
	for what, tree := range map[string]fstest.MapFS{"a record": record, "a published tree": published, "both": repository} {
		if r := verify(t, tree, CloneOptions{}); !r.Sound() {
			t.Fatalf("%s, unspoilt: %v", what, r.Problems)
		}
	}
	bytes := &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	for _, c := range []struct {
		tree      fstest.MapFS
		add, name string
		file      *fstest.MapFile
	}{
		{record, "Rounds/1/header.json", "Rounds", bytes},
		{record, "rounds/1/Header.json", "rounds/1/Header.json", bytes},
		{record, "rounds/1/HEADER.JSON", "rounds/1/HEADER.JSON", bytes},
		{record, "Manifest.json", "Manifest.json", bytes},
		{record, "Extra", "extra", bytes},
		{record, "escape", "escape", &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777}},
		{record, "log/escape", "log/escape", &fstest.MapFile{Data: []byte("../../secret"), Mode: fs.ModeSymlink | 0o777}},
		{record, "keys/pipe", "keys/pipe", &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}},
		{record, "device", "device", &fstest.MapFile{Mode: fs.ModeDevice | 0o644}},
		{record, "manifest.cosignatures.json", "manifest.cosignatures.json", &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}},
		{record, "manifest.cosignatures.json", "manifest.cosignatures.json", &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777}},
		{record, "manifest.cosignatures.json", "manifest.cosignatures.json", &fstest.MapFile{Mode: fs.ModeDir | 0o755}},
		{published, "INDEX.md", "index.md", bytes},
		{published, ".well-known/Manifest.json", ".well-known/manifest.json", bytes},
		{published, "link", "link", &fstest.MapFile{Data: []byte("index.md"), Mode: fs.ModeSymlink | 0o777}},
		{published, ".well-known/manifest.cosignatures.json", ".well-known/manifest.cosignatures.json", &fstest.MapFile{Mode: fs.ModeDir | 0o755}},
		{repository, "public/INDEX.md", "public/index.md", bytes},
		{repository, "Log/checkpoint", "Log", bytes},
		{repository, "public/.well-known/manifest.cosignatures.json", "public/.well-known/manifest.cosignatures.json", &fstest.MapFile{Mode: fs.ModeSocket | 0o644}},
	} {
		tree := maps.Clone(c.tree)
		tree["extra"] = bytes
		if _, beside := c.tree["index.md"]; beside {
			delete(tree, "extra") // a published tree has nothing beside it
		}
		tree[c.add] = c.file
		if r := verify(t, tree, CloneOptions{}); r.Sound() || !names(r, c.name) {
			t.Errorf("%s of mode %s: %v", c.add, c.file.Mode, r.Problems)
		}
	}
	// Others' signatures are nothing that the store signs for, as long as they are a file.
	record["manifest.cosignatures.json"] = bytes
	if r := verify(t, record, CloneOptions{}); !r.Sound() {
		t.Errorf("cosignatures: %v", r.Problems)
	}
}

// TestAnUnpackedArchive checks what an archive of a clone by git unpacks to: the record without a manifest and without
// .git. It is checked as a clone by git is, and what could not be is said.
func TestAnUnpackedArchive(t *testing.T) {
	_, tree := covered(t)
	for name := range tree {
		if strings.HasPrefix(name, "manifest") {
			delete(tree, name)
		}
	}
	tree["README.md"] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	said := func(r CloneReport) string {
		var b strings.Builder
		r.Print(&b, "archive")
		return b.String()
	}
	r := verify(t, tree, CloneOptions{})
	if text := said(r); !r.Sound() || !r.Bare || len(r.NotChecked) != 2 || !strings.Contains(text, "not checked: the signatures of commits, because there is no .git here") || !strings.Contains(text, "not looked at: README.md") {
		t.Errorf("%v %s", r.Problems, text)
	}
	// As strict as a clone by git. A witness's signature is nobody's here, what an outgrown head had is not needed, and a
	// clone has none of the words.
	for name, f := range tree {
		if name == "README.md" || strings.HasPrefix(name, "log/cosignatures/") {
			continue
		}
		spoilt := slices.Clone(f.Data)
		spoilt[len(spoilt)/2] ^= 1
		tree[name] = &fstest.MapFile{Data: spoilt, Mode: f.Mode}
		if r := verify(t, tree, CloneOptions{}); r.Sound() {
			t.Errorf("%s changed, and it is accepted", name)
		}
		delete(tree, name)
		outgrown := strings.HasPrefix(name, "log/") && (strings.HasSuffix(name, "/5") || strings.HasSuffix(name, ".p/4"))
		spared := outgrown || strings.HasPrefix(name, "proofs/") || strings.HasPrefix(name, "words/")
		if r := verify(t, tree, CloneOptions{}); r.Sound() && !spared {
			t.Errorf("%s is taken away, and it is accepted", name)
		}
		tree[name] = f
	}
	// A part of a manifest is the sign of one.
	for _, name := range []string{"manifest/all.json", "manifest.cosignatures.json"} {
		tree[name] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
		if r := verify(t, tree, CloneOptions{}); !names(r, "manifest.json") {
			t.Errorf("with %s: %v", name, r.Problems)
		}
		delete(tree, name)
	}
	tree[".git/HEAD"] = &fstest.MapFile{Data: []byte("x"), Mode: 0o644}
	if text := said(verify(t, tree, CloneOptions{})); !strings.Contains(text, "not checked: the signatures of commits, which git verify-commit checks") {
		t.Errorf("by git: %s", text)
	}
}

// site is a published tree of one page, signed by key under ring.
func site(t testing.TB, key *attest.Key, ring attest.Ring) fstest.MapFS {
	t.Helper()
	doc, err := attest.SigningKeyDocument("store.example", ring)
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{SigningKeyFile: {Data: doc, Mode: 0o644}, "index.md": {Data: []byte("# Store\n"), Mode: 0o644}}
	coverSite(t, key, tree)
	return tree
}

// coverSite covers a published tree by its manifest.
func coverSite(t testing.TB, key *attest.Key, tree fstest.MapFS) {
	t.Helper()
	m, err := attest.BuildManifest(t.Context(), tree, attest.PublicLayout())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := m.Seal(key, attest.Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("0", 64)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sealed.Write {
		tree[f.Path] = &fstest.MapFile{Data: f.Body, Mode: 0o644}
	}
}

// TestAProblemIsNamedOnce changes and takes away a file of each kind of a published tree that holds the record itself, so
// that two manifests cover it, and of a bare record: no file is named twice for one thing.
func TestAProblemIsNamedOnce(t *testing.T) {
	w, record := covered(t)
	both, bare := site(t, w.Identity, w.Ring), fstest.MapFS{".git/HEAD": {}}
	for name, f := range record {
		both["corpus/"+name] = f
		if !strings.HasPrefix(name, "manifest") {
			bare[name] = f
		}
	}
	coverSite(t, w.Identity, both)
	for what, tree := range map[string]fstest.MapFS{"both": both, "bare": bare} {
		if r := verify(t, tree, CloneOptions{}); !r.Sound() || r.Record == nil || r.Bare != (what == "bare") {
			t.Fatalf("%s, unspoilt: %+v", what, r)
		}
		for name, f := range tree {
			spoilt := maps.Clone(tree)
			delete(spoilt, name)
			once(t, what+" without "+name, verify(t, spoilt, CloneOptions{}))
			if len(f.Data) == 0 {
				continue
			}
			data := slices.Clone(f.Data)
			data[len(data)/2] ^= 1
			spoilt[name] = &fstest.MapFile{Data: data, Mode: f.Mode}
			r := verify(t, spoilt, CloneOptions{})
			if once(t, what+" with another "+name, r); what == "both" && !names(r, name) {
				t.Errorf("%s is changed: %v", name, r.Problems)
			}
		}
	}
	// The checkpoint of the newest round is also that of the whole log.
	head := recordtest.Open(t, w).Log.Head()
	delete(bare, fmt.Sprintf("log/checkpoints/%d", head.Size))
	if r := verify(t, bare, CloneOptions{}); len(r.Problems) != 1 {
		t.Errorf("one file is missing, and the problems are %v", r.Problems)
	}
	// A copy of it under another size does not make its cosignatures two.
	bare[fmt.Sprintf("log/checkpoints/%d", head.Size)] = bare["log/checkpoint"]
	bare["log/checkpoints/1"] = bare["log/checkpoint"]
	bare[fmt.Sprintf("log/cosignatures/%d", head.Size)] = &fstest.MapFile{Data: []byte("none"), Mode: 0o444}
	r := verify(t, bare, CloneOptions{})
	if once(t, "a copied checkpoint", r); len(r.Problems) != 2 {
		t.Errorf("a checkpoint is at the wrong size and a cosignature is none, and the problems are %v", r.Problems)
	}
}

// once demands that no file is named twice.
func once(t *testing.T, what string, r CloneReport) {
	t.Helper()
	seen := make(map[string]bool)
	for _, p := range r.Problems {
		if seen[p.Path] {
			t.Errorf("%s: %s is named twice: %v", what, p.Path, r.Problems)
			return
		}
		seen[p.Path] = true
	}
}

// A publication repository holds the published tree beside the record: both are checked, and that they are of one store.
func TestRepositoryIsCheckedWhole(t *testing.T) {
	w, record := covered(t)
	join := func(public fstest.MapFS) fstest.MapFS {
		out := fstest.MapFS{"README": {Data: []byte("x")}}
		for name, f := range public {
			out["public/"+name] = &fstest.MapFile{Data: f.Data, Mode: f.Mode}
		}
		for name, f := range record {
			out["corpus/"+name] = f
		}
		return out
	}
	tree := join(site(t, w.Identity, w.Ring))
	r := verify(t, tree, CloneOptions{})
	if !r.Sound() || r.Record == nil || r.Record.Rounds != 2 || !slices.Equal(r.Beside, []string{"README"}) || r.Trusted || r.Files != verify(t, record, CloneOptions{}).Files+2 {
		t.Fatalf("%+v", r)
	}
	var said strings.Builder
	r.Print(&said, "clone")
	if !strings.Contains(said.String(), "not looked at: README") {
		t.Errorf("what was not looked at is not said:\n%s", &said)
	}
	for name, f := range tree {
		if name == "README" || name == "public/.well-known/manifest.json" || name == "corpus/manifest.json" {
			continue
		}
		f.Data[len(f.Data)/2] ^= 1
		if r := verify(t, tree, CloneOptions{}); !names(r, name) {
			t.Errorf("%s is changed: %v", name, r.Problems)
		}
		f.Data[len(f.Data)/2] ^= 1
	}
	delete(tree, "public/"+SigningKeyFile)
	if r := verify(t, tree, CloneOptions{}); r.Sound() {
		t.Error("a published tree without its keys is sound")
	}
	other := recordtest.Key(t, 9)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: other.Public()})
	if err != nil {
		t.Fatal(err)
	}
	if r := verify(t, join(site(t, other, ring)), CloneOptions{}); !names(r, "public/"+SigningKeyFile) {
		t.Errorf("the published tree of another store: %v", r.Problems)
	}
	alone := fstest.MapFS{}
	for name, f := range site(t, w.Identity, w.Ring) {
		alone["public/"+name] = f
	}
	if r := verify(t, alone, CloneOptions{}); !r.Sound() || r.Record != nil || r.BaseURL != "https://store.example" {
		t.Errorf("a repository without a record: %+v", r)
	}
}
