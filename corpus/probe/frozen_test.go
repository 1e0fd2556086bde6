package probe_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json/v2"
	"fmt"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/probe"
)

// frozenLine is all that v1 says that may never change: verdict, failed list and vector.
func frozenLine(t testing.TB, name string, r probe.Report) string {
	t.Helper()
	if r.Version != probe.V1 {
		t.Fatalf("%s was judged by %s", name, r.Version)
	}
	b, err := json.Marshal(r.ChecksVector)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s %.8x\n", name, r.Verdict, strings.Join(r.Reading().Failed, ","), sha256.Sum256(b))
}

// sameAsFrozen compares what v1 says now with what the program said before v2 was judged by the
// replayed client. UPDATE does not write it anew: v1 is frozen.
func sameAsFrozen(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	if len(was) != len(is) {
		t.Fatalf("%s has %d lines, and now there are %d", file, len(was), len(is))
	}
	different := 0
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		if different++; different <= 5 {
			t.Errorf("v1 said  %s\nand says %s", was[i], is[i])
		}
	}
	if different > 0 {
		t.Errorf("%d of %d judgements of the frozen battery have changed", different, len(was))
	}
}

// TestFrozenOnKeptRecordings judges what the record kept of doors again by v1.
func TestFrozenOnKeptRecordings(t *testing.T) {
	packed, err := os.ReadFile("testdata/frozen/kept.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	if _, err := all.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i, raw := range bytes.Split(bytes.TrimSpace(all.Bytes()), []byte("\n\n")) {
		j, err := probe.DecodeJudgement(append(raw, '\n'))
		if err != nil {
			t.Fatalf("kept judgement %d: %v", i, err)
		}
		j.Battery, j.Evidence = probe.V1, j.Evidence[:1]
		r, err := j.Judge()
		if err != nil {
			t.Fatalf("kept judgement %d: %v", i, err)
		}
		got.WriteString(frozenLine(t, fmt.Sprint(i), r))
	}
	sameAsFrozen(t, "testdata/frozen/kept.txt", got.String())
}

// TestFrozenOnMutants judges 5,000 spoilt doors by v1.
func TestFrozenOnMutants(t *testing.T) {
	var got strings.Builder
	for i := range uint64(5000) {
		m := corpustest.NewMutant(i)
		p, err := probe.NewPreflight(probe.V1, m.URL, m.Declared)
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := m.Recording(p)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := p.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(frozenLine(t, fmt.Sprint(i), r))
	}
	sameAsFrozen(t, "testdata/frozen/mutants.txt", got.String())
}
