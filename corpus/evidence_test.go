package corpus

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"agentstore/corpus/attest"
	"agentstore/corpus/probe"
)

// TestEvidenceIsTheSameEveryTime seals a round twice and after a crash.
func TestEvidenceIsTheSameEveryTime(t *testing.T) {
	a, b := testWriter(t), testWriter(t)
	seal(t, a, judged(t, 1, hosts(20)...))
	stop := errors.New("stop")
	d := judged(t, 1, hosts(9)...)
	whole := d.Rows
	d.Rows = func(yield func(Row, error) bool) {
		for r, err := range whole {
			if !yield(r, err) {
				return
			}
		}
		yield(Row{}, stop)
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
	seal(t, b, judged(t, 1, hosts(20)...))
	if x, y := readAll(t, a.Dir), readAll(t, b.Dir); !maps.Equal(x, y) {
		t.Errorf("%d and %d files differ", len(x), len(y))
	}
}

func TestSealRefusesForeignEvidence(t *testing.T) {
	w := testWriter(t)
	d := judged(t, 1, hosts(3)...)
	all := d.Evidence
	d.Evidence = func(host, digest string) ([]byte, error) {
		raw, err := all(host, digest)
		return append(bytes.Clone(raw), '\n'), err
	}
	if _, err := w.Seal(t.Context(), d); err == nil {
		t.Error("evidence that a row does not name is kept")
	}
	large := bytes.Repeat([]byte{'x'}, probe.MaxJudgement+1)
	d = draft(1, walked("a.example", VerdictReady))
	row := walked("a.example", VerdictReady)
	row.EvidenceDigest = digest(string(large))
	d.Rows, d.Evidence = each(row), func(string, string) ([]byte, error) { return large, nil }
	seal(t, w, d)
	if v := audited(t, w); len(v.Problems) > 0 || v.Verdicts.Without != 1 {
		t.Errorf("what is too large: %+v %v", v.Verdicts, v.Problems)
	}
}

func FuzzParseEvidenceIndex(f *testing.F) {
	w := testWriter(f)
	seal(f, w, judged(f, 1, hosts(3)...))
	raw, err := os.ReadFile(filepath.Join(w.Dir, EvidenceIndexPath(1, 0)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := ParseEvidenceIndex(raw)
		if err != nil {
			return
		}
		if again, err := attest.Canonical(x); err != nil || string(again)+"\n" != string(raw) {
			t.Errorf("%q is written %q", raw, again)
		}
	})
}
