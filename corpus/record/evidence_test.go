package record_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestEvidenceIsTheSameEveryTime seals a round twice and after a crash.
func TestEvidenceIsTheSameEveryTime(t *testing.T) {
	a, b := recordtest.Writer(t), recordtest.Writer(t)
	recordtest.Seal(t, a, recordtest.Judged(t, 1, recordtest.Hosts(20)...))
	stop := errors.New("stop")
	d := recordtest.Judged(t, 1, recordtest.Hosts(9)...)
	whole := d.Rows
	d.Rows = func(yield func(record.Row, error) bool) {
		for r, err := range whole {
			if !yield(r, err) {
				return
			}
		}
		yield(record.Row{}, stop)
	}
	if _, err := b.Seal(context.Background(), d); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	stale := filepath.Join(b.Dir, "evidence/000000001/000002.jsonl.gz")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	recordtest.Seal(t, b, recordtest.Judged(t, 1, recordtest.Hosts(20)...))
	if x, y := recordtest.ReadAll(t, a.Dir), recordtest.ReadAll(t, b.Dir); !maps.Equal(x, y) {
		t.Errorf("%d and %d files differ", len(x), len(y))
	}
}

func TestSealRefusesForeignEvidence(t *testing.T) {
	w := recordtest.Writer(t)
	d := recordtest.Judged(t, 1, recordtest.Hosts(3)...)
	all := d.Evidence
	d.Evidence = func(host, digest string) ([]byte, error) {
		raw, err := all(host, digest)
		return append(bytes.Clone(raw), '\n'), err
	}
	if _, err := w.Seal(t.Context(), d); err == nil {
		t.Error("evidence that a row does not name is kept")
	}
	large := bytes.Repeat([]byte{'x'}, probe.MaxJudgement+1)
	d = recordtest.Draft(1, recordtest.Walked("a.example", record.VerdictReady))
	row := recordtest.Walked("a.example", record.VerdictReady)
	row.EvidenceDigest = recordtest.Digest(string(large))
	d.Rows, d.Evidence = recordtest.Each(row), func(string, string) ([]byte, error) { return large, nil }
	recordtest.Seal(t, w, d)
	if v := audited(t, w); len(v.Problems) > 0 || v.Verdicts.Without != 1 {
		t.Errorf("what is too large: %+v %v", v.Verdicts, v.Problems)
	}
}

// What is read of a file are its own bytes, whether it can be read from the middle or not: a pack
// that was cut short is an error and never filled up.
func TestReadRangeReadsAllOrFails(t *testing.T) {
	whole := fstest.MapFS{"pack": {Data: []byte("0123456789")}}
	for name, fsys := range map[string]fs.FS{"whole": whole, "a stream": streams{whole}} {
		for _, c := range []struct {
			offset, n int64
			want      string
			fails     bool
		}{
			{0, 10, "0123456789", false}, {3, 4, "3456", false}, {6, 4, "6789", false}, {10, 0, "", false},
			{0, 0, "", false}, {6, 5, "", true}, {10, 1, "", true}, {11, 1, "", true},
		} {
			got, err := record.ReadRange(fsys, "pack", c.offset, c.n)
			if (err != nil) != c.fails || err == nil && string(got) != c.want {
				t.Errorf("%s: %d bytes from %d: %q, %v", name, c.n, c.offset, got, err)
			}
		}
		if _, err := record.ReadRange(fsys, "none", 0, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file that is not there: %v", name, err)
		}
	}
}

// streams is a file system whose files are read from their beginning alone.
type streams struct{ fs.FS }

func (s streams) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}

func FuzzParseEvidenceIndex(f *testing.F) {
	w := recordtest.Writer(f)
	recordtest.Seal(f, w, recordtest.Judged(f, 1, recordtest.Hosts(3)...))
	raw, err := os.ReadFile(filepath.Join(w.Dir, record.EvidenceIndexPath(1, 0)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := record.ParseEvidenceIndex(raw)
		if err != nil {
			return
		}
		if again, err := attest.Canonical(x); err != nil || string(again)+"\n" != string(raw) {
			t.Errorf("%q is written %q", raw, again)
		}
	})
}
