//go:build unix

package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/record/recordtest"
)

// TestCloneOfWhatIsNoFile puts links, pipes and files without end into a clone, with a manifest and
// as git gives it: each is named, alone, and none is read.
func TestCloneOfWhatIsNoFile(t *testing.T) {
	_, tree := covered(t)
	kinds := map[string]string{} // one of each kind
	for name := range tree {
		kinds[recordtest.Kind(name)] = name
	}
	clone, clonedByGit := t.TempDir(), t.TempDir()
	if err := errors.Join(os.CopyFS(clone, tree), os.CopyFS(clonedByGit, tree),
		os.RemoveAll(filepath.Join(clonedByGit, "manifest")),
		os.Remove(filepath.Join(clonedByGit, "manifest.json")), os.Mkdir(filepath.Join(clonedByGit, ".git"),
			0o700)); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for what, put := range map[string]func(place string, b []byte) error{
		"a pipe": func(place string, _ []byte) error { return syscall.Mkfifo(place, 0o600) },
		"a link to what never ends": func(place string, _ []byte) error {
			return os.Symlink("/dev/zero", place)
		},
		"a link out of the clone to the same bytes": func(place string, b []byte) error {
			return errors.Join(os.WriteFile(outside, b, 0o600), os.Symlink(outside, place))
		},
		"a file of 64 GB": func(place string, b []byte) error {
			return errors.Join(os.WriteFile(place, b, 0o600), os.Truncate(place, 64<<30))
		},
	} {
		for byGit, dir := range map[bool]string{false: clone, true: clonedByGit} {
			for _, name := range kinds {
				if byGit && strings.HasPrefix(name, "manifest") {
					continue
				}
				place := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.Remove(place), put(place, tree[name].Data)); err != nil {
					t.Fatal(err)
				}
				if r := verify(t, os.DirFS(dir), CloneOptions{}); len(r.Problems) != 1 || r.Problems[0].Path != name {
					t.Errorf("%s in place of %s, by git %v: %v", what, name, byGit, r.Problems)
				}
				if err := errors.Join(os.Remove(place), os.WriteFile(place, tree[name].Data, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if r := verify(t, os.DirFS(dir), CloneOptions{}); len(r.Problems) > 0 {
				t.Fatalf("the clone as it was: %v", r.Problems)
			}
		}
	}
}

// TestPlainReadsWhole reads files of every odd length as they are, and no more of one than its kind
// may have.
func TestPlainReadsWhole(t *testing.T) {
	tree := fstest.MapFS{"empty": {}, "one": {Data: []byte("x")}, "long": {Data: []byte(strings.Repeat("ab", 5000))}}
	for name, f := range tree {
		if b, err := fs.ReadFile(Plain(tree), name); err != nil || string(b) != string(f.Data) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
