package generator

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/generator/pages"
)

// bulkInput is a site with a record of three weeks, and its writer.
func bulkInput(t *testing.T) (Input, *seal.Writer) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	corpustest.Append(t, w, 3, 3)
	in := specimenInput(t, t.TempDir())
	in.Corpus, in.Cache = os.DirFS(w.Dir), filepath.Join(t.TempDir(), "record")
	in.Bulk = &pages.Bulk{Signer: attest.NewSSHSigner(attest.SpecimenKeyFor(attest.PurposeGit)),
		Name:  "The General Store",
		Email: "keeper@store.example"}
	return in, w
}

// verified demands that every file of the tree is covered.
func verified(t *testing.T, in Input) {
	t.Helper()
	found, err := attest.VerifyTree(t.Context(), os.DirFS(in.OutDir), attest.PublicLayout(), in.Ring)
	if err != nil || len(found.Problems) > 0 {
		t.Fatalf("VerifyTree: %v, %v", err, found.Problems)
	}
}

// inBulk are the files of a tree that package bulk makes.
func inBulk(tree map[string]string) map[string]string {
	out := make(map[string]string)
	for name, body := range tree {
		if strings.HasPrefix(name, bulkFolder+"/") || strings.HasPrefix(name, gitFolder+"/") {
			out[name] = body
		}
	}
	return out
}

// TestBulkFilesAreKeptAndCovered builds a site with bulk files, again without a change, without the
// build record, a week later, and without bulk.
func TestBulkFilesAreKeptAndCovered(t *testing.T) {
	in, w := bulkInput(t)
	in.outputs = only(append(small, "bulk*", "git_*", "allowed_signers")...)
	first := mustBuild(t, in)
	verified(t, in)
	before := inBulk(readTree(t, in.OutDir))
	if signers := readTree(t, in.OutDir)["corpus/allowed-signers"]; !strings.Contains(signers,
		"keeper@store.example namespaces=\"git\"") {
		t.Errorf("allowed signers: %s", signers)
	}
	for _, name := range []string{bulkFolder + "/rows-2026.sqlite", bulkFolder + "/digests.json",
		gitFolder + "/info/refs", gitFolder + "/HEAD"} {
		if before[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for _, record := range []string{in.Cache, ""} {
		again := in
		again.Cache = record
		if r := mustBuild(t, again); r.Written != 0 || r.Deleted != 0 || r.Root != first.Root {
			t.Errorf("built again with record %q: %+v", record, r)
		}
	}

	// Somebody puts a file of their own there and says that it belongs.
	name := filepath.Join(in.OutDir, bulkFolder, "rows-2026.sqlite")
	digests := filepath.Join(in.OutDir, bulkFolder, "digests.json")
	text := before[bulkFolder+"/digests.json"]
	was, is := sha256.Sum256([]byte(before[bulkFolder+"/rows-2026.sqlite"])), sha256.Sum256([]byte("theirs"))
	text = strings.ReplaceAll(text, hex.EncodeToString(was[:]), hex.EncodeToString(is[:]))
	text = strings.ReplaceAll(text, fmt.Sprintf(`"bytes":%d`, len(before[bulkFolder+"/rows-2026.sqlite"])), `"bytes":6`)
	for file, body := range map[string]string{name: "theirs", digests: text} {
		if err := errors.Join(os.Remove(file), os.WriteFile(file, []byte(body), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if r := mustBuild(t, in); r.Root != first.Root || !maps.Equal(inBulk(readTree(t, in.OutDir)), before) {
		t.Error("what somebody put there was taken for ours")
	}

	corpustest.Append(t, w, 3, 4)
	mustBuild(t, in)
	verified(t, in)
	after := inBulk(readTree(t, in.OutDir))
	for name, body := range before {
		once := strings.Contains(name, "/pack-") || strings.Contains(name, "/rows-2026-W")
		if once && after[name] != body {
			t.Errorf("%s was rewritten", name)
		}
	}
	if len(after) <= len(before) {
		t.Errorf("a week later there are %d files, and were %d", len(after), len(before))
	}

	// Whoever builds the same record at one go has the same rows and the same commits, as packs go
	// by rounds.
	whole := in
	whole.OutDir, whole.Cache = filepath.Join(t.TempDir(), "public"), ""
	mustBuild(t, whole)
	if got := inBulk(readTree(t, whole.OutDir)); got[bulkFolder+"/digests.json"] != after[bulkFolder+"/digests.json"] ||
		got[gitFolder+"/info/refs"] != after[gitFolder+"/info/refs"] {
		t.Error("built at one go, rows or commits differ")
	}

	in.Bulk = nil
	mustBuild(t, in)
	verified(t, in)
	if left := inBulk(readTree(t, in.OutDir)); len(left) > 0 {
		t.Errorf("without bulk there are %v", slices.Sorted(maps.Keys(left)))
	}
}

// TestBulkFilesAreSharedByTrees builds trees beside each other.
func TestBulkFilesAreSharedByTrees(t *testing.T) {
	in, w := bulkInput(t)
	in.outputs = only(append(small, "bulk*", "git_*", "allowed_signers")...)
	site := t.TempDir()
	first, err := BuildTree(t.Context(), in, site)
	if err != nil {
		t.Fatal(err)
	}
	held := inBulk(readTree(t, first.Dir))
	corpustest.Append(t, w, 3, 4)
	second, err := BuildTree(t.Context(), in, site)
	if err != nil {
		t.Fatal(err)
	}
	if now := inBulk(readTree(t, first.Dir)); !maps.Equal(now, held) {
		t.Error("the tree before was changed")
	}
	for name := range held {
		a, err := os.Stat(filepath.Join(first.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.Stat(filepath.Join(second.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		once := strings.Contains(name, "/pack-") || strings.Contains(name, "/rows-2026-W")
		if once && !os.SameFile(a, b) {
			t.Errorf("%s is not shared", name)
		}
	}
	in.OutDir = second.Dir
	verified(t, in)
}
