package generator

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// A build removes from its folder what is not the site's, so it must not begin in one that is
// somebody's: a slip in its name would cost sources and keys.
func TestBuildLeavesAFolderInUseAlone(t *testing.T) {
	for _, name := range []string{"store.toml", "var/keys/identity.pem", "content/site.toml",
		"corpus/rounds/1/round.json",
		".git/config", "corpus/observations/000000001.json", ".index.html", "index.html/notes"} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), "mine")
		in := specimenInput(t, "")
		in.OutDir = dir
		_, err := Build(t.Context(), in)
		if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: Build: %v", name, err)
		}
		if d := diffTrees(map[string]string{name: "mine"}, readTree(t, dir)); d != "" {
			t.Errorf("%s: the folder was changed:\n%s", name, d)
		}
	}
}

// A build that was cut off before there was a manifest is gone on with.
func TestBuildGoesOnAfterOneThatWasCutOff(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	dir := in.OutDir
	mustBuild(t, in)
	whole := readTree(t, dir)
	for _, gone := range []string{attest.PublicLayout().Head(), "menu.json"} {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(gone))); err != nil {
			t.Fatal(err)
		}
	}
	for _, left := range []string{".menu.json.new", "menu/.hello.md.new", "corpus/bulk/.making-1/rows.sqlite",
		"corpus.git/objects/pack/tmp_1"} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(left)), "half")
	}
	mustBuild(t, in)
	if d := diffTrees(whole, readTree(t, dir)); d != "" {
		t.Error(d)
	}
}

// What is no twin in the folder of twins is not the generator's to remove.
func TestTwinsLeaveOtherFilesAlone(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.TwinsDir = t.TempDir()
	old := strings.Repeat("ab", 32) + ".gz"
	for _, name := range []string{"keys/identity.pem", "ledger.bolt", "archive.gz", old, "." + old + ".new"} {
		writeFile(t, filepath.Join(in.TwinsDir, filepath.FromSlash(name)), "mine")
	}
	mustBuild(t, in)
	left := readTree(t, in.TwinsDir)
	maps.DeleteFunc(left, func(_, body string) bool { return body != "mine" })
	if d := diffTrees(map[string]string{"keys/identity.pem": "mine", "ledger.bolt": "mine", "archive.gz": "mine"},
		left); d != "" {
		t.Error(d)
	}
}
