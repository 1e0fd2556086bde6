package seal_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

var meta = filetree.Meta{BaseURL: "https://store.example", ContentDigest: recordtest.Digest("site")}

// Whatever a call came to, it lets the next process in when it returns.
func TestEveryCallLetsTheNextProcessIn(t *testing.T) {
	ready := recordtest.Walked("a.example", record.VerdictReady)
	word := record.Observation{At: "2026-11-20T00:00:00Z", Kind: record.ObservationRetiredWord,
		Word: recordtest.Said("word")}
	w := recordtest.Writer(t)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		call  func() error
		fails bool
	}{
		{"seal", func() error { _, err := w.Seal(t.Context(), recordtest.Draft(1, ready)); return err }, false},
		{"seal again", func() error { _, err := w.Seal(t.Context(), recordtest.Draft(1, ready)); return err }, true},
		{"observe", func() error { _, err := w.Observe(t.Context(), word); return err }, false},
		{"observe nothing", func() error { _, err := w.Observe(t.Context(), record.Observation{}); return err }, true},
		{"catch up", func() error { _, err := w.CatchUp(t.Context()); return err }, false},
		{"cosign", func() error { _, err := w.Cosign(t.Context(), nil, nil); return err }, false},
		{"cover", func() error { return w.Cover(t.Context(), meta) }, false},
		{"cover, given up", func() error { return w.Cover(done, meta) }, true},
		{"hand over to nobody", func() error {
			_, err := w.HandOver(t.Context(), nil, "2026-12-01", "")
			return err
		}, true},
	} {
		if err := c.call(); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		next, err := durable.Hold(w.Dir, durable.LockFile)
		if err != nil {
			t.Fatalf("%s: the next process: %v", c.name, err)
		}
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := attest.VerifyTree(t.Context(), record.FS{FS: os.DirFS(w.Dir)}, attest.CorpusLayout(), w.Ring)
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("what was covered: %v, %v", r.Problems, err)
	}
}

// A header that stands is never replaced, not even one that came while the rows were read, from a
// program that keeps to no lock.
func TestAHeaderThatStandsIsNeverReplaced(t *testing.T) {
	w := recordtest.Writer(t)
	header := filepath.Join(w.Dir, record.HeaderPath(1))
	d := recordtest.Draft(1)
	d.Rows = func(yield func(record.Row, error) bool) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(header), 0o755),
			os.WriteFile(header, []byte("another's"), 0o444)); err != nil {
			t.Fatal(err)
		}
		yield(recordtest.Walked("a.example", record.VerdictReady), nil)
	}
	if _, err := w.Seal(t.Context(), d); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("over a header that came meanwhile: %v", err)
	}
	if held, err := os.ReadFile(header); err != nil || string(held) != "another's" {
		t.Errorf("the header is now %q, %v", held, err)
	}
}

// What is withdrawn is taken out of its pack and its index, and nothing else is; with the last both
// are gone.
func TestAWithdrawalTakesOutOneJudgement(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(6)...))
	raw, err := os.ReadFile(filepath.Join(w.Dir, record.EvidenceIndexPath(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	index, err := record.ParseEvidenceIndex(raw)
	if err != nil || len(index.Entries) < 3 {
		t.Fatalf("%d entries, %v", len(index.Entries), err)
	}
	read := func() map[string]string {
		t.Helper()
		r := recordtest.Open(t, w)
		out := map[string]string{}
		for _, e := range index.Entries {
			raw, err := r.RawEvidence(1, e.Host)
			if err != nil {
				t.Fatal(err)
			}
			if raw != nil {
				out[e.Host] = string(raw)
			}
		}
		return out
	}
	kept := read() // by host
	if len(kept) != len(index.Entries) {
		t.Fatalf("%d of %d judgements are kept", len(kept), len(index.Entries))
	}
	for _, i := range []int{1, 0} { // from the middle, from the beginning
		withdraw(t, w, index.Entries[i].SHA256)
		delete(kept, index.Entries[i].Host)
		if got := read(); !maps.Equal(kept, got) {
			t.Errorf("without %s, %d judgements of %d are kept", index.Entries[i].Host, len(got), len(kept))
		}
		if name, err := seal.Kept(os.DirFS(w.Dir), index.Entries[i].SHA256); name != "" || err != nil {
			t.Errorf("what was withdrawn stands in %q, %v", name, err)
		}
	}
	for _, e := range index.Entries[2:] {
		withdraw(t, w, e.SHA256)
	}
	for _, name := range []string{record.EvidencePack(1, 0), record.EvidenceIndexPath(1, 0)} {
		if _, err := os.Stat(filepath.Join(w.Dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s without a judgement: %v", name, err)
		}
	}
}

// A pack that is gone takes its index with it; what cannot be removed is an error, so that the
// withdrawal is not logged before it is done.
func TestAWithdrawalThatFailsIsNotDone(t *testing.T) {
	w := recordtest.Writer(t)
	name := record.EvidenceIndexPath(1, 0)
	inside := filepath.Join(w.Dir, name, "file")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := durable.Open(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := seal.Rewrite(dir, name, record.EvidenceIndex{}, "digest"); err == nil {
		t.Error("what is not removed is said to be")
	}
	if err := os.Remove(inside); err != nil {
		t.Fatal(err)
	}
	if err := seal.Rewrite(dir, name, record.EvidenceIndex{}, "digest"); err != nil {
		t.Errorf("a pack that is gone: %v", err)
	}
}

func withdraw(t *testing.T, w *seal.Writer, digest string) {
	t.Helper()
	o := record.Observation{At: "2026-11-21T00:00:00Z", Kind: record.ObservationWithdrawn,
		Withdrawn: &record.Withdrawn{SHA256: digest, Reason: "the door's owner asked for it"}}
	if _, err := w.Observe(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
