package verify

import (
	"crypto/ed25519"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// TestHandoverOfKeys checks a record begun under one identity and log key and continued under
// others.
func TestHandoverOfKeys(t *testing.T) {
	id, lk, id2, lk2 := recordtest.Key(t, 1), recordtest.Key(t, 2), recordtest.Key(t, 3), recordtest.Key(t, 4)
	ring, err := attest.NewRing("2026-01-01", map[attest.Purpose]ed25519.PublicKey{attest.PurposeIdentity: id.Public(),
		attest.PurposeLog: lk.Public()})
	if err != nil {
		t.Fatal(err)
	}
	w := &seal.Writer{Dir: t.TempDir(), Origin: recordtest.Origin, Identity: id, LogKey: lk, Ring: ring}
	recordtest.Seal(t, w, recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady)))
	old, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if ring, err = ring.Handover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-09-15",
		Reason: "yearly"}, id, id2.Public()); err != nil {
		t.Fatal(err)
	}
	w = &seal.Writer{Dir: w.Dir, Origin: recordtest.Origin, Identity: id2, LogKey: lk, Ring: ring}
	if ring, err = w.HandOver(t.Context(), lk2.Public(), "2026-09-15", "yearly"); err != nil {
		t.Fatal(err)
	}
	w = &seal.Writer{Dir: w.Dir, Origin: recordtest.Origin, Identity: id2, LogKey: lk2, Ring: ring}
	recordtest.Seal(t, w, recordtest.Draft(2, recordtest.Walked("a.example", record.VerdictReady)))
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
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
	late := &seal.Writer{Dir: w.Dir, Origin: recordtest.Origin, Identity: id, LogKey: lk2, Ring: ring}
	if _, err := late.Seal(t.Context(),
		recordtest.Draft(3, recordtest.Walked("a.example", record.VerdictReady))); err == nil {
		t.Error("a retired key seals")
	}
	word := record.Observation{Number: 1, At: "2026-09-15T23:59:59Z", Kind: record.ObservationRetiredWord,
		Word: recordtest.Said("synergy")}
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
	meta := filetree.Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("0", 64)}
	held := recordtest.MapFS(t, w.Dir)
	m, err := filetree.BuildManifest(t.Context(), record.FS{FS: held}, attest.CorpusLayout())
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
	if r := verify(t, site(t, id, before), CloneOptions{Ring: now}); len(r.Problems) > 0 ||
		r.Status != attest.SignerRetired {
		t.Errorf("a site of before the handover: %s, %v", r.Status, r.Problems)
	}
}
