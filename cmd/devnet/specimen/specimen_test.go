package specimen

import (
	"bytes"
	"crypto/ed25519"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

// committed is where the repository has the record.
const committed = "../../../corpus"

// made writes the record anew.
func made(t *testing.T) string {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Write(t.Context(), dir, site.Config.BaseURL); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files reads every file of a record.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range Folders() {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			out[filepath.ToSlash(rel)], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// compare demands the same files with the same bytes.
func compare(t *testing.T, what string, got, want map[string][]byte) {
	t.Helper()
	differ := 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if b, there := got[name]; !there || !bytes.Equal(b, want[name]) {
			if differ++; differ <= 5 {
				t.Errorf("%s: %s is %.300q, want %.300q", what, name, b, want[name])
			}
		}
	}
	for name := range got {
		if _, wanted := want[name]; !wanted {
			t.Errorf("%s: %s is there", what, name)
		}
	}
}

// ring is the ring of the committed record.
func ring(t *testing.T) attest.Ring {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(committed, record.RingFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := attest.ParseRing(raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheRecordIsTheSameToTheByte(t *testing.T) {
	first := files(t, made(t))
	compare(t, "made again", files(t, made(t)), first)
	compare(t, "committed, which go run ./cmd/devnet specimen -out corpus -replace makes", files(t, committed), first)
}

func TestTheCommittedRecordIsGood(t *testing.T) {
	report, err := verify.Record(t.Context(), os.DirFS(committed), attest.SpecimenRingBefore(),
		verify.RecordOptions{Judge: rejudge.Batteries{}, Difficulty: 1e-12})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("%s: %s: %s", p.Path, p.Kind, p.Detail)
	}
	if report.Rounds != lastWeek-firstWeek+1 || report.FirstWeek != "2026-W35" || report.LastWeek != "2026-W46" {
		t.Errorf("%d rounds from %s to %s", report.Rounds, report.FirstWeek, report.LastWeek)
	}
	kinds := map[string]int{}
	r, err := record.Open(os.DirFS(committed), ring(t))
	if err != nil {
		t.Fatal(err)
	}
	judgedByV2(t, r, report)
	observed, err := r.Observations()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range observed {
		kinds[o.Kind]++
	}
	if len(kinds) != 11 {
		t.Errorf("observations of %d kinds: %v", len(kinds), kinds)
	}
}

// judgedByV2 demands that every round is of battery v2, and that the record holds what its verdicts
// rest on, which was judged again. That it gave their own words is what problems are reported of.
func judgedByV2(t *testing.T, r *record.Record, report verify.RecordReport) {
	t.Helper()
	for _, round := range r.Rounds() {
		if round.Battery != probe.V2 {
			t.Errorf("round %d is of battery %s", round.Sequence, round.Battery)
		}
	}
	if c := report.Verdicts; c.Again < 400 || c.Unjudged+c.NotKept > 0 {
		t.Errorf("%d rows are judged again, %d are kept only and %d are not kept", c.Again, c.Unjudged, c.NotKept)
	}
	const onSolana, week = "echo.mill.street", 5 // of a node's words among them
	raw, err := r.RawEvidence(week, onSolana)
	if err != nil || !bytes.Contains(raw, []byte(`"token_account":"fine"`)) {
		t.Errorf("what is kept of %s: %s, %v", onSolana, raw, err)
	}
}

// TestTheSpecimenIsSmall counts what a clone carries of the record and of the pages that are made
// of it. Files that are made in bulk and programs stand apart.
func TestTheSpecimenIsSmall(t *testing.T) {
	const public, limit = "../../../public", 11_700_000
	size := 0
	for _, b := range files(t, committed) {
		size += len(b)
	}
	err := filepath.WalkDir(public, func(name string, d fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(public, name); {
		case err != nil:
			return err
		case d.IsDir() && (rel == "corpus.git" || rel == filepath.Join("corpus", "bulk") || rel == "preview" ||
			rel == filepath.Join("spec", "vectors")): // which have a limit of their own
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) == ".wasm":
			return nil
		}
		info, err := d.Info()
		if err == nil {
			size += int(info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes", size); size > limit {
		t.Errorf("the record and its pages have %d bytes, more than %d", size, limit)
	}
}

// TestAnotherSiteHasTheRoundsAlone makes the record with which a store on chains of its own begins.
func TestAnotherSiteHasTheRoundsAlone(t *testing.T) {
	identity, log := attest.SpecimenKeyFor(attest.PurposeWebhook), attest.SpecimenKeyFor(attest.PurposeGit)
	ring, err := attest.NewRing(Begins(),
		map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: identity.Public(),
			attest.PurposeLog: log.Public()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := WriteFor(t.Context(), dir, Site{BaseURL: "http://127.0.0.1:4020", Identity: identity, Log: log,
		Ring: ring}); err != nil {
		t.Fatal(err)
	}
	report, err := verify.Record(t.Context(), os.DirFS(dir), ring, verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || report.Rounds != 12 || report.Observations != 0 ||
		report.Origin != "127.0.0.1:4020/corpus" {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestOnlyTheSpecimenIsRemoved(t *testing.T) {
	dir := t.TempDir()
	if err := Remove(dir); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	k, err := attest.Generate(&seeded{bytes.Repeat([]byte{1}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: k.Public()})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, record.RingFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err == nil {
		t.Error("a store's record was removed")
	}
	if err := Write(t.Context(), dir, "https://store.example"); err == nil {
		t.Error("a store's record was written over")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
