package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

// specimen copies the committed specimen to a folder that a test may spoil.
func specimen(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "public"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// judging is the program as `store verify` is.
func judging(args []string, stdout, stderr io.Writer) int {
	return kit.Run(context.Background(), kit.Program{Name: "verify", Judge: rejudge.Batteries{}}, args, stdout, stderr)
}

func check(dir string) (int, string) {
	var out, errs bytes.Buffer
	code := judging([]string{dir}, &out, &errs)
	return code, out.String() + errs.String()
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestSpecimenVerifies(t *testing.T) {
	if code, out := check(specimen(t)); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
}

// TestWalksThatAreKeptAreNotPassedOver: the program that knows no battery says so by its exit code,
// unless that was asked for; and still it refuses kept bytes that are not those the row names.
func TestWalksThatAreKeptAreNotPassedOver(t *testing.T) {
	dir := lived(t, 0).Dir
	for _, c := range []struct {
		args []string
		code int
		says string
	}{{[]string{dir}, 6, "NOT judged again"}, {[]string{"-no-judge", dir}, 0, "NOT judged again"}} {
		var out, errs bytes.Buffer
		if code := run(c.args, &out, &errs); code != c.code || !strings.Contains(out.String(), c.says) ||
			strings.Contains(errs.String(), "store verify") != (c.code == 6) {
			t.Errorf("%v: exit %d: %s%s", c.args, code, &out, &errs)
		}
	}
	if code, out := check(dir); code != 0 || strings.Contains(out, "NOT judged again") {
		t.Errorf("with the batteries: exit %d: %s", code, out)
	}
}

// refuses demands that the spoilt tree is refused and that the file is named.
func refuses(t *testing.T, dir, name, what string) {
	t.Helper()
	code, out := check(dir)
	if code != 3 {
		t.Fatalf("%s: exit %d, want 3: %s", what, code, out)
	}
	if !strings.Contains(out, name) {
		t.Fatalf("%s: the answer does not name %s: %s", what, name, out)
	}
}

// TestSoakEveryByteOfAFileOfEachKind changes each byte of the smallest published file of each kind,
// one at a time, and 20,000 random bytes elsewhere.
func TestSoakEveryByteOfAFileOfEachKind(t *testing.T) {
	soak(t)
	changeEveryByte(t)
	changeElsewhere(t, 20_000)
}

func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
}

// changeEveryByte has each file stand in a tree of its own, signed like the specimen, so that some
// hundred thousand checks are affordable.
func changeEveryByte(t *testing.T) {
	t.Helper()
	public := os.DirFS(filepath.Join("..", "..", "public"))
	smallest := make(map[string]string) // kind → its smallest file
	length := make(map[string]int64)
	err := fs.WalkDir(public, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, ".well-known/manifest") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		kind := filepath.Ext(name)
		if strings.HasPrefix(name, ".well-known/") || kind == "" {
			kind = recordtest.Kind(name)
		}
		if held, ok := smallest[kind]; !ok || info.Size() < length[held] {
			smallest[kind], length[name] = name, info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var total atomic.Int64
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range smallest {
		g.Go(func() error {
			b, err := fs.ReadFile(public, name)
			if err != nil {
				return err
			}
			n, err := changeAlone(t.Context(), name, b)
			total.Add(n)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of %d kinds of files", total.Load(), len(smallest))
}

// changeAlone signs a tree of one file and changes bytes of it and of its manifest, one at a time.
func changeAlone(ctx context.Context, name string, body []byte) (changes int64, err error) {
	tree := fstest.MapFS{name: {Data: body, Mode: 0o644}}
	keys, err := attest.SigningKeyDocument("store.example", attest.SpecimenRing())
	if err != nil {
		return 0, err
	}
	if tree[signingKey] == nil {
		tree[signingKey] = &fstest.MapFile{Data: keys, Mode: 0o644}
	}
	m, err := filetree.BuildManifest(ctx, tree, attest.PublicLayout())
	if err != nil {
		return 0, err
	}
	sealed, err := m.Seal(attest.SpecimenKey(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)})
	if err != nil {
		return 0, err
	}
	for _, f := range sealed.Write {
		tree[f.Path] = &fstest.MapFile{Data: f.Body, Mode: 0o644}
	}
	whole, err := verify.Clone(ctx, tree,
		verify.CloneOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(whole.Problems) > 0 {
		return 0, fmt.Errorf("%s, unspoilt: %v %w", name, whole.Problems, err)
	}
	for changed, f := range tree {
		if changed == signingKey && name != signingKey {
			continue // it is a file of the specimen too, and has its turn
		}
		for at, old := range f.Data {
			f.Data[at] = old ^ byte(1+at%255)
			r, err := verify.Clone(ctx, tree,
				verify.CloneOptions{Judge: rejudge.Batteries{}})
			f.Data[at] = old
			if err != nil {
				return changes, fmt.Errorf("%s, byte %d: %w", changed, at, err)
			}
			if !slices.ContainsFunc(r.Problems, func(p verify.Problem) bool { return p.Path == changed }) {
				return changes, fmt.Errorf("%s, byte %d: changed, and the problems are %v", changed, at, r.Problems)
			}
			changes++
		}
	}
	return changes, nil
}

// signingKey is where a tree has its keys.
const signingKey = ".well-known/store-signing-key"

// TestAByteOfEachPublishedFile changes a random byte of every file of the specimen.
func TestAByteOfEachPublishedFile(t *testing.T) { changeElsewhere(t, 0) }

// changeElsewhere changes so many random bytes all over the specimen, and at the least one of each
// file. Many files are spoilt at once, one byte each, and the answer must name every one of them.
func changeElsewhere(t *testing.T, changes int) {
	t.Helper()
	public := os.DirFS(filepath.Join("..", "..", "public"))
	tree := make(fstest.MapFS)
	var names []string
	err := fs.WalkDir(public, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(public, name)
		tree[name] = &fstest.MapFile{Data: b, Mode: 0o644}
		// While the head, a part or the keys are spoilt, the files under them are not judged: those
		// are changed alone, byte by byte, in package verify.
		if !strings.HasPrefix(name, ".well-known/manifest") && name != ".well-known/store-signing-key" && len(b) > 0 {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2026, 11))
	for changes = max(changes, len(names)); changes > 0; {
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		part := names[:min(len(names), changes)]
		changes -= len(part)
		undo := make(map[string][]byte)
		for _, n := range part {
			b := tree[n].Data
			undo[n] = b
			spoilt := slices.Clone(b)
			spoilt[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
			tree[n].Data = spoilt
		}
		report, err := verify.Clone(t.Context(), tree,
			verify.CloneOptions{Judge: rejudge.Batteries{}})
		if err != nil {
			t.Fatal(err)
		}
		named := make(map[string]bool)
		for _, p := range report.Problems {
			named[p.Path] = true
		}
		for _, n := range part {
			if !named[n] {
				t.Fatalf("a changed byte of %s is not named", n)
			}
			tree[n].Data = undo[n]
		}
	}
}

// TestAddedAndMissing takes every file away, many at a time, and demands that each is named; then
// it adds some.
func TestAddedAndMissing(t *testing.T) {
	dir := specimen(t)
	for some := range slices.Chunk(files(t, dir), 60) {
		held := make(map[string][]byte)
		for _, name := range some {
			// Without its keys, or without what is signed, a tree is refused before its files are
			// looked at.
			if name == signingKey || strings.HasPrefix(name, ".well-known/manifest") {
				lacks(t, dir, name)
				continue
			}
			held[name] = takeAway(t, dir, name)
		}
		code, out := check(dir)
		if code != 3 {
			t.Fatalf("%d files missing: exit %d, want 3: %s", len(held), code, out)
		}
		for name, b := range held {
			if !strings.Contains(out, name) {
				t.Errorf("missing %s: the answer does not name it", name)
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"extra.html", "menu/extra", ".hidden", ".well-known/manifest/extra.json", "a/b/c"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		refuses(t, dir, name, "added "+name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if code, out := check(dir); code != 0 {
		t.Fatalf("after all was put back: exit %d: %s", code, out)
	}
}

// lacks demands that a tree without this file is refused.
func lacks(t *testing.T, dir, name string) {
	t.Helper()
	b := takeAway(t, dir, name)
	refuses(t, dir, name, "missing "+name)
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func takeAway(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = os.Remove(filepath.Join(dir, name))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCalledWrongly(t *testing.T) {
	var out, errs bytes.Buffer
	if code := judging(nil, &out, &errs); code != 2 {
		t.Errorf("exit %d, want 2", code)
	}
	if code := judging([]string{filepath.Join(t.TempDir(), "nothing")}, &out, &errs); code == 0 {
		t.Error("a folder that is not there verified")
	}
	trees := t.TempDir() // as store build leaves it
	if err := errors.Join(os.MkdirAll(filepath.Join(trees, "trees", "one"), 0o755),
		os.Symlink(filepath.Join("trees", "one"), filepath.Join(trees, "current"))); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	errs.Reset()
	if code := judging([]string{trees}, &out, &errs); code != 1 ||
		!strings.Contains(errs.String(), filepath.Join(trees, "current")) {
		t.Errorf("of a folder of trees: exit %d, it says %s%s", code, &out, &errs)
	}
}
