package filetree

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

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/attesttest"
)

var testMeta = Meta{BaseURL: "https://store.example", ContentDigest: strings.Repeat("ab", 32)}

// seal brings a sealed tree's files into fsys and returns what was written.
func seal(t testing.TB, tree *Tree, fsys fstest.MapFS) Sealed {
	t.Helper()
	s := attesttest.Must[Sealed](t)(tree.Seal(attesttest.Key(1), testMeta))
	for _, f := range s.Write {
		fsys[f.Path] = &fstest.MapFile{Data: f.Body, Mode: 0o644}
	}
	return s
}

func covered(t testing.TB, fsys fstest.MapFS) fstest.MapFS {
	t.Helper()
	seal(t, attesttest.Must[*Tree](t)(BuildManifest(t.Context(), fsys, attest.PublicLayout())), fsys)
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

func verify(t testing.TB, fsys fs.FS) attest.Report {
	t.Helper()
	ring := attesttest.Ring(t)
	return attesttest.Must[attest.Report](t)(attest.VerifyTree(t.Context(), fsys, attest.PublicLayout(), ring))
}

func TestManifestCoversATree(t *testing.T) {
	fsys := covered(t, smallTree())
	r := verify(t, fsys)
	if len(r.Problems) > 0 {
		t.Fatalf("problems in an untouched tree: %v", r.Problems)
	}
	if r.Files != 7 || r.Manifest.Files != 7 || r.Signer.Status != attest.SignerCurrent {
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
	fsys := covered(t, smallTree())
	for _, name := range slices.Sorted(maps.Keys(fsys)) {
		body := fsys[name].Data
		for i := range body {
			changed := bytes.Clone(body)
			changed[i] ^= byte(1 + i%255)
			fsys[name].Data = changed
			r := verify(t, fsys)
			if len(r.Problems) != 1 || r.Problems[0].Path != name || r.Problems[0].Kind != attest.ProblemChanged {
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
	covered(t, fsys)
	attesttest.EveryByteChange(t, fsys[attest.PublicLayout().Head()].Data, func(raw []byte) bool {
		_, err := attest.ParseManifest(raw, attest.PublicLayout())
		return err == nil
	})
}

func TestProblemsOfATree(t *testing.T) {
	other := attesttest.Must[*Tree](t)(BuildManifest(t.Context(), smallTree(), attest.PublicLayout()))
	stranger := attesttest.Must[Sealed](t)(other.Seal(attesttest.Key(9), testMeta))
	logKey := attesttest.Must[Sealed](t)(other.Seal(attesttest.Key(2), testMeta))
	head := attest.PublicLayout().Head()
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
			[]string{head + ": unsigned: signed by " + attesttest.Key(9).KID() +
				", which is no published identity key"}},
		{"another purpose", func(f fstest.MapFS) { f[head].Data = logKey.Write[len(logKey.Write)-1].Body },
			[]string{head + ": unsigned: signed by " + attesttest.Key(2).KID() +
				", which is no published identity key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := covered(t, smallTree())
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
	l := attest.PublicLayout()
	l.LeavesOut = []attest.LeftOut{{Path: "var/", Why: "private"}, {Path: "note.txt", Why: "unsigned on purpose"}}
	fsys := smallTree()
	for _, name := range []string{"var/a", "var/b/c", "note.txt", l.Cosignatures()} {
		fsys[name] = &fstest.MapFile{Data: []byte(name)}
	}
	seal(t, attesttest.Must[*Tree](t)(BuildManifest(t.Context(), fsys, l)), fsys)
	r := attesttest.Must[attest.Report](t)(attest.VerifyTree(t.Context(), fsys, l, attesttest.Ring(t)))
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
	tree, fsys := NewTree(attest.PublicLayout()), fstest.MapFS{}
	for i := range attest.PartFiles + 1 {
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
	tree := NewTree(attest.PublicLayout())
	for _, name := range []string{"", ".", "/a", "a/../b", "a//b", "bad\xffname", "a.json/b",
		".well-known/manifest.json", ".well-known/manifest/menu/all.json"} {
		if err := tree.Put(name, 0, attest.Digest{}); err == nil {
			t.Errorf("Put(%q) is accepted", name)
		}
	}
}

func TestIrregularFilesAreNotCovered(t *testing.T) {
	fsys := smallTree()
	fsys["link"] = &fstest.MapFile{Data: []byte("menu.json"), Mode: fs.ModeSymlink | 0o777}
	if _, err := BuildManifest(t.Context(), fsys, attest.PublicLayout()); err == nil ||
		!strings.Contains(err.Error(), `"link"`) {
		t.Errorf("a link in the tree: %v", err)
	}
}

func TestManifestOnDisk(t *testing.T) {
	dir := t.TempDir()
	root := attesttest.Must[*os.Root](t)(os.OpenRoot(dir))
	defer root.Close()
	for name, f := range covered(t, smallTree()) {
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
		for e, err := range verify(t, fsys).Manifest.Entries(fsys, attest.PublicLayout()) {
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
	fsys := covered(t, smallTree())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := attest.VerifyTree(ctx, fsys, attest.PublicLayout(), attesttest.Ring(t)); err == nil {
		t.Error("a cancelled verification says nothing")
	}
}

func FuzzParsePart(f *testing.F) {
	fsys := fstest.MapFS{"a/b": {Data: []byte("b")}, "a/c": {}}
	tree, err := BuildManifest(context.Background(), fsys, attest.PublicLayout())
	if err != nil {
		f.Fatal(err)
	}
	s, err := tree.Seal(attesttest.Key(1), testMeta)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.Write[0].Body)
	f.Add([]byte(`{"format":"store-manifest-part/v1","directory":"a","bucket":"all","files":[]}`))
	ref := s.Manifest.Parts[0]
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := ref
		r.SHA256 = sha256.Sum256(raw)
		if entries, err := attest.ParsePart(raw, attest.PublicLayout(), r); err == nil {
			again, _, err := attest.EncodePart(attest.PublicLayout(), r.Directory, r.Bucket, entries)
			if err != nil || !bytes.Equal(raw, again) {
				t.Errorf("%q is accepted but written %q, %v", raw, again, err)
			}
		}
	})
}

func BenchmarkSeal300000(b *testing.B) {
	for b.Loop() {
		tree := NewTree(attest.PublicLayout())
		for i := range 300_000 {
			if err := tree.Put(fmt.Sprintf("host/h%06d.example/index.html", i), 1, attest.Digest{1}); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := tree.Seal(attesttest.Key(1), testMeta); err != nil {
			b.Fatal(err)
		}
	}
}
