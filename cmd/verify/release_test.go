package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
)

// TestReleasesByCommand asks of archives in which version they were released, by a clone and by a
// proof of one leaf.
func TestReleasesByCommand(t *testing.T) {
	p := provable(t)
	archive := p.put(t, "store-v1.0.0-linux-amd64.tar.gz", []byte("an archive"))
	d := fmt.Sprintf("%x", sha256.Sum256([]byte("an archive")))
	name := filepath.Base(archive)
	code, out := checkWith(p.w.Dir, "-release", archive)
	if code != 4 || !strings.Contains(out, "UNPROVEN: no release") {
		t.Errorf("before it is told: exit %d: %s", code, out)
	}
	told, err := p.w.Observe(t.Context(), record.Observation{At: "2026-12-30T00:00:00Z",
		Number: 1, Kind: record.ObservationRelease, Release: &record.Release{Version: "v1.0.0",
			Commit: strings.Repeat("c", 40), Files: []record.ReleaseFile{{Name: name, SHA256: d}}}})
	if err != nil || len(told) != 1 {
		t.Fatal(told, err)
	}
	// The record alone, which its manifest does not cover any more.
	if err := errors.Join(os.Remove(filepath.Join(p.w.Dir, "manifest.json")),
		os.RemoveAll(filepath.Join(p.w.Dir, "manifest"))); err != nil {
		t.Fatal(err)
	}
	says := name + ": released as v1.0.0 of commit cccc"
	proof, _ := p.prove(t, "11") // the newest leaf
	row, _ := p.prove(t, "@2")
	sums := p.put(t, "SHA256SUMS", []byte(d+"  "+name+"\n"))
	wrong := filepath.Join(t.TempDir(), name)
	p.put(t, "other", nil)
	if err := os.WriteFile(wrong, []byte("another archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, file string
		flags    []string
		code     int
		says     string
	}{
		{p.w.Dir, archive, nil, 0, says},
		{p.w.Dir, sums, nil, 0, says},
		{proof, archive, []string{"-ring", p.ring}, 0, says},
		{proof, sums, []string{"-policy", p.policy}, 4, says}, // no witness saw its head
		{p.w.Dir, wrong, nil, 3, "NOT what was released as v1.0.0"},
		{proof, wrong, []string{"-ring", p.ring}, 3, "NOT what was released as v1.0.0"},
		{p.w.Dir, filepath.Join(p.dir, "other"), nil, 4, "other: UNPROVEN: no release"},
		{row, archive, []string{"-ring", p.ring}, 1, "is no release: prove the leaf of its observation"},
		{p.w.Dir, filepath.Join(p.dir, "nowhere"), nil, 1, "no such file"},
		{p.w.Dir, archive, []string{"-proof", "11"}, 2, "usage"},
	} {
		if code, out := checkWith(c.in, append(c.flags, "-release", c.file)...); code != c.code ||
			!strings.Contains(out, c.says) {
			t.Errorf("%s in %s: exit %d, want %d and %q: %s", c.file, c.in, code, c.code, c.says, out)
		}
	}
}
