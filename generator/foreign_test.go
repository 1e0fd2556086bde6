package generator

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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
		in := smallInput(t, "")
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
	in := smallInput(t, t.TempDir())
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

// What a newer release wrote is refused and left as it is; a full build makes a tree anew.
func TestBuildRefusesWhatANewerReleaseWrote(t *testing.T) {
	in := smallInput(t, t.TempDir())
	in.Cache = filepath.Join(t.TempDir(), "record")
	mustBuild(t, in)
	head := filepath.Join(in.OutDir, filepath.FromSlash(attest.PublicLayout().Head()))
	for name, marks := range map[string][2]string{head: {"store-manifest/v1", "store-manifest/v2"},
		in.Cache: {"store-build-record/3\n", "store-build-record/10\n"}} {
		b, err := os.ReadFile(name)
		if err != nil || strings.Count(string(b), marks[0]) != 1 {
			t.Fatalf("%s does not hold %s: %v", name, marks[0], err)
		}
		writeFile(t, name, strings.Replace(string(b), marks[0], marks[1], 1))
		planted := readTree(t, in.OutDir)
		_, err = Build(t.Context(), in)
		if !errors.Is(err, ErrNewerRelease) || !strings.Contains(err.Error(), strings.TrimSpace(marks[1])) ||
			!strings.Contains(err.Error(), name[len(name)-6:]) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%q: Build: %v", marks[1], err)
		}
		if d := diffTrees(planted, readTree(t, in.OutDir)); d != "" {
			t.Errorf("%q: the tree was changed:\n%s", marks[1], d)
		}
		again := in
		again.Full = true
		mustBuild(t, again)
		mustBuild(t, in)
	}
	for name, mark := range map[string]string{"manifest.json": "store-manifest/v2",
		"rounds/000001/header.json": "store-round/v2"} {
		in.Corpus = fstest.MapFS{name: &fstest.MapFile{Data: []byte(`{"format":"` + mark + `","more":1}`)}}
		_, err := Build(t.Context(), in)
		if !errors.Is(err, ErrNewerRelease) || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), mark) {
			t.Errorf("%s: Build: %v", name, err)
		}
	}
}
