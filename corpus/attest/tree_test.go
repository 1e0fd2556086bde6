package attest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var testMeta = FileMeta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("ab", 32)}

// seal brings a sealed tree's files into fsys and returns what was written.
func seal(t testing.TB, tree *Tree, fsys fstest.MapFS) SealedTree {
	t.Helper()
	s := must[SealedTree](t)(tree.Seal(testKey(1), testMeta))
	for _, f := range s.Write {
		fsys[f.Path] = &fstest.MapFile{Data: f.Body, Mode: 0o644}
	}
	return s
}

func treeCovered(t testing.TB, fsys fstest.MapFS) fstest.MapFS {
	t.Helper()
	seal(t, must[*Tree](t)(BuildManifest(t.Context(), fsys, PublicLayout())), fsys)
	return fsys
}

func smallTree() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, body := range map[string]string{
		"index.html":                    "<p>hello</p>",
		"menu/hello/index.html":         "<p>one</p>",
		"menu.json":                     `{"items":[]}`,
		".well-known/did.json":          "{}",
		"host/a.example/index.html":     "a",
		"host/b.example.json":           "",
		"host/<&>\u2028é/\"quoted\".md": "odd names",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(body), Mode: 0o644}
	}
	return fsys
}

func verify(t testing.TB, fsys fs.FS) Report {
	t.Helper()
	ring := testRing(t)
	return must[Report](t)(VerifyTree(t.Context(), fsys, PublicLayout(), ring))
}

func TestManifestCoversATree(t *testing.T) {
	fsys := treeCovered(t, smallTree())
	r := verify(t, fsys)
	if len(r.Problems) > 0 {
		t.Fatalf("problems in an untouched tree: %v", r.Problems)
	}
	if r.Files != 7 || r.Manifest.Files != 7 || r.Signer.Status != SignerCurrent {
		t.Errorf("%d files verified, manifest says %d, signer %+v", r.Files, r.Manifest.Files, r.Signer)
	}
	if r.Manifest.BaseURL != testMeta.BaseURL || r.Manifest.ContentDigest != testMeta.ContentDigest {
		t.Errorf("meta = %q, %q", r.Manifest.BaseURL, r.Manifest.ContentDigest)
	}
	if got, want := r.LeftOut, []string{".well-known/manifest.json"}; !slices.Equal(got, want) {
		t.Errorf("left out %q, want %q", got, want)
	}
}

// TestEveryChangedByteNamesItsFile changes each byte of each file, the
// manifest's own included, and demands that the file is named.
func TestEveryChangedByteNamesItsFile(t *testing.T) {
	t.Parallel()
	fsys := treeCovered(t, smallTree())
	for _, name := range slices.Sorted(maps.Keys(fsys)) {
		body := fsys[name].Data
		for i := range body {
			changed := bytes.Clone(body)
			changed[i] ^= byte(1 + i%255)
			fsys[name].Data = changed
			r := verify(t, fsys)
			if len(r.Problems) != 1 || r.Problems[0].Path != name || r.Problems[0].Kind != ProblemChanged {
				t.Fatalf("%s with byte %d changed: problems %v", name, i, r.Problems)
			}
		}
		fsys[name].Data = body
	}
	if r := verify(t, fsys); len(r.Problems) > 0 {
		t.Fatalf("restored tree: %v", r.Problems)
	}
}

func TestEveryChangeOfTheHeadIsRefused(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"a": {Data: []byte("a"), Mode: 0o644}}
	treeCovered(t, fsys)
	everyByteChange(t, fsys[PublicLayout().Head()].Data, func(raw []byte) bool {
		_, err := ParseManifest(raw, PublicLayout())
		return err == nil
	})
}

func TestProblemsOfATree(t *testing.T) {
	other := must[*Tree](t)(BuildManifest(t.Context(), smallTree(), PublicLayout()))
	stranger := must[SealedTree](t)(other.Seal(testKey(9), testMeta))
	logKey := must[SealedTree](t)(other.Seal(testKey(2), testMeta))
	head := PublicLayout().Head()
	for _, c := range []struct {
		name   string
		change func(fstest.MapFS)
		want   []string
	}{
		{"added", func(f fstest.MapFS) { f["menu/new"] = &fstest.MapFile{} }, []string{"menu/new: added"}},
		{"added directory", func(f fstest.MapFS) { f["x/y/z"] = &fstest.MapFile{} }, []string{"x/y/z: added"}},
		{"added beside parts", func(f fstest.MapFS) { f[".well-known/manifest/menu/0.json"] = &fstest.MapFile{} },
			[]string{".well-known/manifest/menu/0.json: added: no part of the manifest"}},
		{"missing", func(f fstest.MapFS) { delete(f, "menu.json") }, []string{"menu.json: missing"}},
		{"missing part", func(f fstest.MapFS) { delete(f, ".well-known/manifest/host/all.json") },
			[]string{".well-known/manifest/host/all.json: missing"}},
		{"missing head", func(f fstest.MapFS) { delete(f, head) }, []string{head + ": missing"}},
		{"moved", func(f fstest.MapFS) { f["z"] = f["menu.json"]; delete(f, "menu.json") },
			[]string{"menu.json: missing", "z: added"}},
		{"longer", func(f fstest.MapFS) { f["host/b.example.json"].Data = []byte{0} },
			[]string{"host/b.example.json: changed: it has 1 bytes, and 0 were signed"}},
		{"link", func(f fstest.MapFS) {
			f["index.html"] = &fstest.MapFile{Data: []byte("menu.json"), Mode: fs.ModeSymlink | 0o777}
		}, []string{"index.html: changed: not a regular file"}},
		{"stranger", func(f fstest.MapFS) { f[head].Data = stranger.Write[len(stranger.Write)-1].Body },
			[]string{head + ": unsigned: signed by " + testKey(9).KID() +
				", which is no published identity key"}},
		{"another purpose", func(f fstest.MapFS) { f[head].Data = logKey.Write[len(logKey.Write)-1].Body },
			[]string{head + ": unsigned: signed by " + testKey(2).KID() +
				", which is no published identity key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := treeCovered(t, smallTree())
			c.change(fsys)
			var got []string
			for _, p := range verify(t, fsys).Problems {
				got = append(got, strings.TrimSuffix(p.Path+": "+p.Kind+": "+p.Detail, ": "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeftOutIsNamed(t *testing.T) {
	l := PublicLayout()
	l.LeavesOut = []LeftOut{{Path: "var/", Why: "private"}, {Path: "note.txt", Why: "unsigned on purpose"}}
	fsys := smallTree()
	for _, name := range []string{"var/a", "var/b/c", "note.txt", l.Cosignatures()} {
		fsys[name] = &fstest.MapFile{Data: []byte(name)}
	}
	seal(t, must[*Tree](t)(BuildManifest(t.Context(), fsys, l)), fsys)
	r := must[Report](t)(VerifyTree(t.Context(), fsys, l, testRing(t)))
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	want := []string{".well-known/manifest.cosignatures.json", ".well-known/manifest.json", "note.txt", "var/"}
	if !slices.Equal(r.LeftOut, want) {
		t.Errorf("left out %q, want %q", r.LeftOut, want)
	}
}

// A directory of many files stands in buckets, and is verified as one of few is.
func TestLargeDirectoryStandsInBuckets(t *testing.T) {
	tree, fsys := NewTree(PublicLayout()), fstest.MapFS{}
	for i := range PartFiles + 1 {
		name := fmt.Sprintf("host/h%05d.json", i)
		fsys[name] = &fstest.MapFile{Data: []byte(name)}
		if err := tree.Put(name, int64(len(name)), sha256.Sum256([]byte(name))); err != nil {
			t.Fatal(err)
		}
	}
	if s := seal(t, tree, fsys); len(s.Write) != 17 {
		t.Fatalf("%d files written for 16 buckets and a head", len(s.Write))
	}
	if r := verify(t, fsys); len(r.Problems) > 0 {
		t.Error(r.Problems)
	}
}

func TestNamesThatCannotBeCovered(t *testing.T) {
	tree := NewTree(PublicLayout())
	for _, name := range []string{"", ".", "/a", "a/../b", "a//b", "bad\xffname", "a.json/b",
		".well-known/manifest.json", ".well-known/manifest/menu/all.json"} {
		if err := tree.Put(name, 0, Digest{}); err == nil {
			t.Errorf("Put(%q) is accepted", name)
		}
	}
}

func TestIrregularFilesAreNotCovered(t *testing.T) {
	fsys := smallTree()
	fsys["link"] = &fstest.MapFile{Data: []byte("menu.json"), Mode: fs.ModeSymlink | 0o777}
	if _, err := BuildManifest(t.Context(), fsys, PublicLayout()); err == nil ||
		!strings.Contains(err.Error(), `"link"`) {
		t.Errorf("a link in the tree: %v", err)
	}
}

func TestManifestOnDisk(t *testing.T) {
	dir := t.TempDir()
	root := must[*os.Root](t)(os.OpenRoot(dir))
	defer root.Close()
	for name, f := range treeCovered(t, smallTree()) {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, fsys := range []fs.FS{root.FS(), os.DirFS(dir)} {
		if r := verify(t, fsys); len(r.Problems) > 0 || r.Files != 7 {
			t.Errorf("%d files, problems %v", r.Files, r.Problems)
		}
		n := 0
		for e, err := range verify(t, fsys).Manifest.Entries(fsys, PublicLayout()) {
			if err != nil {
				t.Fatal(err)
			}
			if info, err := fs.Stat(fsys, e.Path); err != nil || info.Size() != e.Size {
				t.Errorf("entry %v: %v, %v", e, info, err)
			}
			n++
		}
		if n != 7 {
			t.Errorf("%d entries", n)
		}
	}
}

func TestVerifyStops(t *testing.T) {
	fsys := treeCovered(t, smallTree())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := VerifyTree(ctx, fsys, PublicLayout(), testRing(t)); err == nil {
		t.Error("a cancelled verification says nothing")
	}
}

func FuzzParsePart(f *testing.F) {
	fsys := fstest.MapFS{"a/b": {Data: []byte("b")}, "a/c": {}}
	tree, err := BuildManifest(context.Background(), fsys, PublicLayout())
	if err != nil {
		f.Fatal(err)
	}
	s, err := tree.Seal(testKey(1), testMeta)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.Write[0].Body)
	f.Add([]byte(`{"format":"store-manifest-part/v1","directory":"a","bucket":"all","files":[]}`))
	ref := s.Manifest.Parts[0]
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := ref
		r.SHA256 = sha256.Sum256(raw)
		if entries, err := ParsePart(raw, PublicLayout(), r); err == nil {
			again, _, err := EncodePart(PublicLayout(), r.Directory, r.Bucket, entries)
			if err != nil || !bytes.Equal(raw, again) {
				t.Errorf("%q is accepted but written %q, %v", raw, again, err)
			}
		}
	})
}

func BenchmarkSeal300000(b *testing.B) {
	for b.Loop() {
		tree := NewTree(PublicLayout())
		for i := range 300_000 {
			if err := tree.Put(fmt.Sprintf("host/h%06d.example/index.html", i), 1, Digest{1}); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := tree.Seal(testKey(1), testMeta); err != nil {
			b.Fatal(err)
		}
	}
}
