package generator

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator/tree"
)

func mustBuildTree(t *testing.T, in Input, dir string) TreeReport {
	t.Helper()
	r, err := BuildTree(t.Context(), in, dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func inode(t *testing.T, name string) uint64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestBuildTreeMovesThePointer follows a site through three builds: what did
// not change is shared, what was served before stays as it was.
func TestBuildTreeMovesThePointer(t *testing.T) {
	dir := t.TempDir()
	in := smallInput(t, t.TempDir())
	first := mustBuildTree(t, in, dir)
	if !first.Moved || first.Linked != 0 || first.Rendered == 0 {
		t.Errorf("first build: %+v", first)
	}
	before := readTree(t, first.Dir)

	again := mustBuildTree(t, in, dir)
	if again.Moved || again.Dir != first.Dir || again.Rendered != 0 {
		t.Errorf("building the same again: %+v", again)
	}

	src := sourceTree(t)
	src["shelf/hello.md"].Data = append(src["shelf/hello.md"].Data, "\n\nOne more line.\n"...)
	site, err := content.Load(content.Sources{Content: src})
	if err != nil {
		t.Fatal(err)
	}
	in.Site = site
	second := mustBuildTree(t, in, dir)
	if !second.Moved || second.Dir == first.Dir || second.Linked != first.Files || second.Rendered != 3 {
		t.Errorf("second build: %+v", second)
	}
	if current, err := tree.Current(dir); err != nil || current != second.Dir {
		t.Errorf("the pointer names %s, %v; want %s", current, err, second.Dir)
	}
	if d := diffTrees(before, readTree(t, first.Dir)); d != "" {
		t.Errorf("the tree before was changed:\n%s", d)
	}
	if inode(t, filepath.Join(first.Dir, "style.css")) != inode(t, filepath.Join(second.Dir, "style.css")) {
		t.Error("a file that did not change is not shared")
	}
	found, err := attest.VerifyTree(t.Context(), os.DirFS(second.Dir), attest.PublicLayout(), in.Ring)
	if err != nil || len(found.Problems) > 0 {
		t.Errorf("VerifyTree: %v, %v", err, found.Problems)
	}
	full := in
	full.OutDir = filepath.Join(t.TempDir(), "public")
	mustBuild(t, full)
	if d := diffTrees(readTree(t, full.OutDir), readTree(t, second.Dir)); d != "" {
		t.Errorf("differs from a full build:\n%s", d)
	}
}

// TestBuildTreeSurvivesAnInterruption leaves what a killed build would leave.
func TestBuildTreeSurvivesAnInterruption(t *testing.T) {
	dir := t.TempDir()
	in := smallInput(t, t.TempDir())
	first := mustBuildTree(t, in, dir)
	writeFile(t, filepath.Join(dir, "trees", ".next-killed", "index.html"), "half")
	writeFile(t, filepath.Join(dir, "current.new"), "half")
	// Somebody edited the tree that is served: a build makes it right.
	if err := os.Remove(filepath.Join(first.Dir, "what.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "record")); err != nil {
		t.Fatal(err)
	}
	r := mustBuildTree(t, in, dir)
	if _, err := os.Stat(filepath.Join(r.Dir, "what.md")); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "trees"))
	if err != nil || len(entries) != 1 {
		t.Errorf("trees: %v, %v", entries, err)
	}
}

func TestBuildTreeKeepsFewOldTrees(t *testing.T) {
	dir := t.TempDir()
	in := smallInput(t, t.TempDir())
	src := sourceTree(t)
	for range 5 {
		src["shelf/hello.md"].Data = append(src["shelf/hello.md"].Data, "\n\nOne more line.\n"...)
		site, err := content.Load(content.Sources{Content: src})
		if err != nil {
			t.Fatal(err)
		}
		in.Site = site
		mustBuildTree(t, in, dir)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "trees"))
	if err != nil || len(entries) != 1+tree.KeepTrees {
		t.Errorf("%d trees, want %d: %v", len(entries), 1+tree.KeepTrees, err)
	}
}

func TestCurrentRefusesAPointerOutOfTheSite(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("../elsewhere", filepath.Join(dir, "current")); err != nil {
		t.Fatal(err)
	}
	if to, err := tree.Current(dir); err == nil || !strings.Contains(err.Error(), "no tree") {
		t.Errorf("Current = %s, %v", to, err)
	}
}

// A server that has not followed the pointer keeps its tree for as long as it has it open, and two
// builds of one site do not meet.
func TestBuildTreeLeavesAHeldTreeAlone(t *testing.T) {
	dir := t.TempDir()
	in := smallInput(t, t.TempDir())
	first := mustBuildTree(t, in, dir)
	held, err := os.Open(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	src := sourceTree(t)
	edit := func() {
		src["shelf/hello.md"].Data = append(src["shelf/hello.md"].Data, "\n\nOne more line.\n"...)
		if in.Site, err = content.Load(content.Sources{Content: src}); err != nil {
			t.Fatal(err)
		}
		mustBuildTree(t, in, dir)
	}
	for range 2 + tree.KeepTrees {
		edit()
	}
	if _, err := os.Stat(filepath.Join(first.Dir, "index.html")); err != nil {
		t.Errorf("the tree that a server has open: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	edit()
	if _, err := os.Stat(first.Dir); !isMissing(err) {
		t.Errorf("a tree that nobody has open stays: %v", err)
	}
	other, err := tree.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := BuildTree(t.Context(), in, dir); !errors.Is(err, tree.ErrBusy) {
		t.Errorf("beside another build: %v", err)
	}
}

// A folder that holds one tree by itself becomes one of trees. What a server has open of it stays
// until the next build, and what a build did not make stays for ever.
func TestBuildTreeTakesAFlatTreeOver(t *testing.T) {
	in := smallInput(t, t.TempDir())
	dir := in.OutDir
	mustBuild(t, in)
	if err := os.WriteFile(filepath.Join(dir, "CNAME"), []byte("store.example\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustBuildTree(t, in, dir)
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Errorf("what a server may have open is gone: %v", err)
	}
	mustBuildTree(t, in, dir)
	entries, err := os.ReadDir(dir)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"CNAME", "current", "record", "trees"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v, %v", left, want, err)
	}
}

// A new site has a pointer before it has a tree.
func TestInitTrees(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	if err := tree.InitTrees(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Current(dir); err != nil {
		t.Error(err)
	}
	if r := mustBuildTree(t, smallInput(t, t.TempDir()), dir); !r.Moved || r.Linked != 0 {
		t.Errorf("the first build: %+v", r)
	}
}
