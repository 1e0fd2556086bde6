package main

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/verify"
)

// program builds the verifier for browsers and what starts it into a folder.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o",
		filepath.Join(dir, "verify.wasm"), ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	start, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wasm_exec.js"), start, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeRecord writes two rounds whose rows are judged and kept, and two bundles of one host: of all
// that there is, and of its second round alone.
func writeRecord(t *testing.T) (dir string, evidence, part []byte) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	for sequence := range int64(2) {
		at := time.Date(2026, 9, 13, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
		kept := make(map[string][]byte)
		var rows iter.Seq2[record.Row, error] = func(yield func(record.Row, error) bool) {
			for i, door := range practice.All() {
				host := fmt.Sprintf("door%02d.example", i)
				row, raw := recordtest.Kept(t, "https://"+host+"/", door, at.Add(-time.Hour))
				row.Host, row.Source = host, record.SourceWellKnown
				kept[host] = raw
				if !yield(row, nil) {
					return
				}
			}
		}
		if _, err := w.Seal(t.Context(), seal.Draft{Sequence: sequence + 1, Week: record.ISOWeek(at.Add(-time.Hour)),
			TakenAt: at, Battery: "v2", Rows: rows,
			Evidence: func(host, _ string) ([]byte, error) { return kept[host], nil }}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := fs.ReadFile(os.DirFS(w.Dir), record.RingFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		into  *[]byte
		wants []verify.Want
	}{{&evidence, []verify.Want{{Host: "door03.example"}, {Host: "nobody.example"}}},
		{&part, []verify.Want{{Host: "door03.example", Sequence: 2}}}} {
		b, err := verify.Export(r, keys, c.wants)
		if err != nil {
			t.Fatal(err)
		}
		if *c.into, err = b.Encode(); err != nil {
			t.Fatal(err)
		}
	}
	return w.Dir, evidence, part
}
