package shop

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
)

// TestAWalkerAtAnotherPlace goes the whole way with configurations of two places: the store begins
// a week, the other place walks the roster it was handed, and the sealed rows say so.
func TestAWalkerAtAnotherPlace(t *testing.T) {
	world, err := street.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	})
	o := CensusOptions{Log: slog.New(slog.DiscardHandler), Reach: func(f *fetch.Config) {
		own := f.OwnHosts
		*f = world.Config(*f)
		f.OwnHosts = own
	}}
	dir := t.TempDir()
	key, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	there := observingConfig(t.TempDir())
	there.Census.Key = filepath.Join(dir, WalkerKeyFile)
	if err := key.Store(there.Census.Key); err != nil {
		t.Fatal(err)
	}
	c := observingConfig(dir)
	c.Census = CensusConfig{List: filepath.Join(dir, "doors.txt"),
		Control: "https://99.ready-many.doors.street/paid", Walkers: []string{hex.EncodeToString(key.Public())}}
	c.Twins = filepath.Join(dir, "twins")
	ring := attest.SpecimenRing()
	if _, err := AdmitWalker(&ring, hex.EncodeToString(key.Public()), "2026-08-17"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Census.List, []byte("https://ready-bare.doors.street/paid\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(walkOnly, vantages bool) census.Report {
		t.Helper()
		o := o
		o.WalkOnly, o.Vantages = walkOnly, vantages
		report, err := Census(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	begun := run(true, false)
	if r := run(false, true); len(r.Vantages) != 1 || !strings.Contains(r.Vantages[0].Problem, "-admit") {
		t.Errorf("whom the ring does not name: %+v", r.Vantages)
	}
	// The ring of the specimen stands in its record.
	raw, err := ring.Encode()
	if err == nil {
		err = os.MkdirAll(filepath.Join(c.Record, "keys"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(c.Record, record.RingFile), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if begun.Outcome != census.OutcomeWalked {
		t.Fatalf("%+v", begun)
	}
	if r := run(false, true); len(r.Vantages) != 1 ||
		!strings.Contains(r.Vantages[0].Problem, "nothing was handed over") {
		t.Errorf("before: %+v", r.Vantages)
	}
	roster := filepath.Join(dir, "vantages", begun.Week+"-"+key.KID()+".roster")
	if _, err := Elsewhere(t.Context(), c, roster, SeenFile(roster), o); err == nil ||
		!strings.Contains(err.Error(), "key of its own") {
		t.Errorf("by no key: %v", err)
	}
	seen, err := Elsewhere(t.Context(), there, roster, SeenFile(roster), o)
	if err != nil || seen.Walks != 1 || seen.ID != key.KID() {
		t.Fatalf("%+v, %v", seen, err)
	}
	if r := run(false, true); len(r.Vantages) != 1 || r.Vantages[0].Problem != "" || r.Vantages[0].Walks != 1 {
		t.Errorf("handed over: %+v", r.Vantages)
	}
	sealed := run(false, false)
	if sealed.Outcome != census.OutcomeSealed || len(sealed.Vantages) != 1 || sealed.Vantages[0].Counted != 1 {
		t.Fatalf("%+v", sealed)
	}
	rec, err := record.Open(os.DirFS(c.Record), ring)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range rec.Rows(1) {
		if err != nil || len(row.Vantages) != 1 || row.Vantages[0].ID != key.KID() ||
			row.Verdict != record.VerdictReady {
			t.Errorf("%+v, %v", row.Row, err)
		}
	}
}

// A walker's key is admitted once and ends once.
func TestWalkersAreAdmitted(t *testing.T) {
	ring := attest.SpecimenRing()
	own := hex.EncodeToString(attest.SpecimenKey().Public())
	for _, bad := range []string{"", "zz", own[2:], own} {
		r := ring
		if kid, err := AdmitWalker(&r, bad, "2026-11-26"); err == nil {
			t.Errorf("%q is admitted as %s", bad, kid)
		}
	}
	key, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	kid, err := AdmitWalker(&ring, hex.EncodeToString(key.Public()), "2026-11-26")
	if err != nil || kid != key.KID() {
		t.Fatal(kid, err)
	}
	if err := RetireWalker(&ring, attest.SpecimenKey().KID(), "2026-11-27"); err == nil {
		t.Error("the identity is retired as a walker")
	}
	if err := RetireWalker(&ring, kid, "2026-11-27"); err != nil || ring.Walkers[0].RetiredOn != "2026-11-27" {
		t.Error(err)
	}
	if err := RetireWalker(&ring, kid, "2026-11-28"); err == nil {
		t.Error("it ends twice")
	}
}

// What walkers are configured by is checked before anything is walked.
func TestWalkersElsewhereAreChecked(t *testing.T) {
	own := hex.EncodeToString(attest.SpecimenKey().Public())
	good := hex.EncodeToString(attest.SpecimenKeyFor(attest.PurposeGit).Public())
	for want, change := range map[string]func(*Config){
		"store key walker":             func(c *Config) { c.Census.Walkers = []string{"abc"} },
		"census.walkers needs":         func(c *Config) { c.Twins = "" },
		"own path":                     func(c *Config) { c.Census.Control = "" },
		"is the key of this place":     func(c *Config) { c.Census.Walkers = []string{own} },
		"the store's own git key":      func(*Config) {},
		"walkers at other places, whe": func(c *Config) { c.Census.Walkers = []string{good, good, good, good, good} },
	} {
		c := observingConfig(t.TempDir())
		c.Census = CensusConfig{Control: "https://control.test/", Walkers: []string{good}}
		c.Twins = filepath.Join(t.TempDir(), "twins")
		change(c)
		err := c.checkCensus()
		if err == nil {
			_, err = Census(t.Context(), c, CensusOptions{WalkOnly: true, Reach: lost,
				Log: slog.New(slog.DiscardHandler)})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
