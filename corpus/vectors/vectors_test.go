package vectors

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/verify"
)

// tree is a record as a verifier meets it.
func tree(base, changed map[string][]byte, links map[string]string) fstest.MapFS {
	all := maps.Clone(base)
	maps.Copy(all, changed)
	out := make(fstest.MapFS)
	for name, data := range all {
		if data != nil {
			out[name] = &fstest.MapFile{Data: data, Mode: 0o444}
		}
	}
	for name, target := range links {
		out[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
	}
	return out
}

// TestVectors holds the vectors to the verifier in Go: the good ones are verified, each bad one is
// refused by its rule alone, and no rule is without one.
func TestVectors(t *testing.T) {
	good, all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	held := make(map[string]map[string][]byte)
	for _, g := range good {
		held[g.Name] = g.Files
		r, err := verify.Clone(t.Context(), tree(g.Files, nil, nil),
			verify.CloneOptions{Judge: rejudge.Batteries{}})
		if err != nil || !r.Sound() {
			t.Errorf("%s: %v %v", g.Name, r.Problems, err)
		}
	}
	names, of := make(map[string]bool), make(map[rule.Rule]int)
	for _, b := range all {
		if names[b.Name] {
			t.Errorf("two vectors named %s", b.Name)
		}
		names[b.Name] = true
		of[b.Rule]++
		r, err := verify.Clone(t.Context(), tree(held[b.Base], b.Files, b.Links), verify.CloneOptions{Ring: b.Keys,
			Judge: rejudge.Batteries{}, Remembered: b.Seen})
		var rules []rule.Rule
		for _, p := range r.Problems {
			rules = append(rules, p.Rule)
		}
		slices.Sort(rules)
		if rules = slices.Compact(rules); err != nil || !slices.Equal(rules, []rule.Rule{b.Rule}) {
			t.Errorf("%s: refused by %v: %v %v", b.Name, rules, r.Problems, err)
		}
	}
	for _, e := range rule.RuleTable() {
		if of[e.Rule] == 0 {
			t.Errorf("no vector breaks %s", e.Rule)
		}
	}
	t.Logf("%d good, %d bad", len(good), len(all))
}

// TestFilesAreTheSameForEver holds the published files to their digest: a vector is never changed
// unseen, and comes out the same everywhere.
func TestFilesAreTheSameForEver(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	sum, size := sha256.New(), 0
	for _, f := range files {
		fmt.Fprintf(sum, "%s %x\n", f.Path, sha256.Sum256(f.Body))
		size += len(f.Body)
	}
	const want = "2b087a5a6fa0de7f1cfd69da012f09c5b10c00e5da31cdb01fc5f835e4d730d3"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("%d files of %d bytes with the digest %s, want %s", len(files), size, got, want)
	}
	if size > 3_100_000 {
		t.Errorf("%d bytes", size)
	}
}
