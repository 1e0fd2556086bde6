package kept_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/kept"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestKeptIsWhatRowsNameAndOpens reads all that is kept of a round, and nothing of a damaged pack.
func TestKeptIsWhatRowsNameAndOpens(t *testing.T) {
	w := recordtest.Writer(t)
	hosts := recordtest.Hosts(12)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, hosts...))
	rec := recordtest.Open(t, w)
	r := &kept.Reader{FS: os.DirFS(w.Dir), Record: rec}
	read := func() (opened int, failed error) {
		for k, err := range r.Round(1) {
			if err != nil {
				return opened, err
			}
			raw, err := r.Open(k)
			if err != nil {
				return opened, err
			}
			want, err := rec.RawEvidence(1, k.Host)
			if err != nil || !bytes.Equal(raw, want) {
				t.Errorf("%s: %d bytes, want %d: %v", k.Host, len(raw), len(want), err)
			}
			if signed, err := os.ReadFile(filepath.Join(w.Dir, k.Signed)); err != nil ||
				!bytes.Contains(signed, []byte(k.SHA256)) {
				t.Errorf("%s does not name %s: %v", k.Signed, k.SHA256, err)
			}
			opened++
		}
		return opened, nil
	}
	opened, err := read()
	named := 0
	for row, err := range rec.Rows(1) {
		if err != nil {
			t.Fatal(err)
		}
		named += len(row.JudgedBy())
	}
	if err != nil || opened != named || named == 0 {
		t.Fatalf("%d of %d opened: %v", opened, named, err)
	}
	for k, err := range r.Round(2) {
		if err == nil {
			t.Errorf("of a round that is not there: %+v", k)
		}
	}
	for _, path := range []string{record.EvidencePack(1, 0), record.EvidenceIndexPath(1, 0)} {
		name := filepath.Join(w.Dir, path)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		damaged := bytes.Clone(whole)
		damaged[len(damaged)/2] ^= 1
		if err := os.WriteFile(name, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if opened, err := read(); err == nil {
			t.Errorf("with %s damaged, %d opened", path, opened)
		}
		if err := os.WriteFile(name, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
