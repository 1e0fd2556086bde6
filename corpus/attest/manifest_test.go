package attest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// covered is a tree with its manifest. Directories of it have one part, 16 and 256.
func covered(t *testing.T) (fstest.MapFS, Manifest) {
	t.Helper()
	l := PublicLayout()
	fsys := fstest.MapFS{}
	parts := map[[2]string][]Entry{} // by directory and bucket
	for dir, digits := range map[string]int{"few": 0, "many": 1, "more": 2} {
		for i := range 64 {
			name := fmt.Sprintf("%s/%02d", dir, i)
			fsys[name] = &fstest.MapFile{Data: []byte("body of " + name)}
			at := [2]string{dir, fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:digits]}
			if digits == 0 {
				at[1] = "all"
			}
			parts[at] = append(parts[at], Entry{Path: name, Size: int64(len(fsys[name].Data)),
				SHA256: sha256.Sum256(fsys[name].Data)})
		}
	}
	m := Manifest{Format: ManifestFormat, LeavesOut: l.Omitted()}
	byName := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, at := range slices.SortedFunc(maps.Keys(parts), byName) {
		raw, ref, err := EncodePart(l, at[0], at[1], parts[at])
		if err != nil {
			t.Fatal(err)
		}
		fsys[ref.Path] = &fstest.MapFile{Data: raw}
		m.Parts, m.Files, m.Bytes = append(m.Parts, ref), m.Files+ref.Files, m.Bytes+ref.Bytes
	}
	m.Root = must[Digest](t)(PartsRoot(m.Parts))
	if err := m.Sign(testKey(1)); err != nil {
		t.Fatal(err)
	}
	fsys[l.Head()] = &fstest.MapFile{Data: must[[]byte](t)(m.Encode())}
	return fsys, m
}

// A part holds the files whose path's SHA-256 begins as its bucket is called, in the one spelling
// of its format; other bytes are refused, though a head names their digest.
func TestPartsHoldWhatBelongsThere(t *testing.T) {
	l := PublicLayout()
	fsys, m := covered(t)
	files := 0
	for e, err := range m.Entries(fsys, l) {
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(fsys[e.Path].Data) != e.SHA256 {
			t.Errorf("%s: another digest", e.Path)
		}
		files++
	}
	if files != 3*64 {
		t.Errorf("%d files", files)
	}
	for _, ref := range m.Parts {
		raw := fsys[ref.Path].Data
		for what, other := range map[string][]byte{
			"of another format": bytes.Replace(raw, []byte("part/v1"), []byte("part/v2"), 1),
			"of another bucket": bytes.Replace(raw, []byte(`"bucket":"`), []byte(`"bucket":"0`), 1),
			"with a space":      append([]byte{' '}, raw...),
		} {
			signed := ref
			signed.SHA256 = sha256.Sum256(other)
			if _, err := ParsePart(other, l, signed); err == nil {
				t.Errorf("%s %s is taken", ref.Path, what)
			}
		}
	}
	for _, bucket := range "0123456789abcdef" {
		raw, ref, err := EncodePart(l, "many", string(bucket), []Entry{{Path: "many/00"}})
		if err != nil {
			t.Fatal(err)
		}
		own := strings.HasPrefix(fmt.Sprintf("%x", sha256.Sum256([]byte("many/00"))), string(bucket))
		if _, err := ParsePart(raw, l, ref); (err == nil) != own {
			t.Errorf("many/00 in the part %c: %v", bucket, err)
		}
	}
}

// A file of another size than was signed is named with both sizes, and is not read.
func TestAFileOfAnotherSizeIsNotRead(t *testing.T) {
	fsys, _ := covered(t)
	verify := func(fsys fs.FS) Report {
		t.Helper()
		return must[Report](t)(VerifyTree(t.Context(), fsys, PublicLayout(), testRing(t)))
	}
	if r := verify(fsys); len(r.Problems) > 0 || r.Files != 3*64 {
		t.Errorf("an untouched tree: %d files, %d problems", r.Files, len(r.Problems))
	}
	fsys["few/07"].Data = append(fsys["few/07"].Data, '!')
	tree := &opened{FS: fsys, name: "few/07"}
	r := verify(tree)
	if len(r.Problems) != 1 || r.Problems[0].Path != "few/07" ||
		r.Problems[0].Detail != "it has 15 bytes, and 14 were signed" || r.Files != 3*64-1 || tree.times > 0 {
		t.Errorf("a longer file, opened %d times: %d files, problems %v", tree.times, r.Files, r.Problems)
	}
}

// opened counts how often one file of a tree is opened.
type opened struct {
	fs.FS
	name  string
	times int
}

func (o *opened) Open(name string) (fs.File, error) {
	if name == o.name {
		o.times++
	}
	return o.FS.Open(name)
}

// A head or a part without end is given up.
func TestAManifestWithoutEndIsRefused(t *testing.T) {
	fsys, m := covered(t)
	for _, name := range []string{PublicLayout().Head(), m.Parts[0].Path} {
		r := must[Report](t)(VerifyTree(t.Context(), endless{fsys, name}, PublicLayout(), testRing(t)))
		if len(r.Problems) != 1 || r.Problems[0].Path != name ||
			!strings.Contains(r.Problems[0].Detail, "larger than") {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
}

// endless is a tree in which one file never ends.
type endless struct {
	fs.FS
	name string
}

func (e endless) Open(name string) (fs.File, error) {
	f, err := e.FS.Open(name)
	if name == e.name {
		f = endlessFile{f}
	}
	return f, err
}

type endlessFile struct{ fs.File }

func (endlessFile) Read(p []byte) (int, error) { return len(p), nil }
