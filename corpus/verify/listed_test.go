package verify

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
)

// listed is a tree whose files may change and whose names do not. A MapFS looks through all of its
// files whenever a folder is asked for, which is most of what verifying a small record takes.
type listed struct {
	fstest.MapFS
	folders map[string]folder
}

func list(t testing.TB, tree fstest.MapFS) listed {
	t.Helper()
	l := listed{tree, make(map[string]folder)}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entries, err := tree.ReadDir(name)
		l.folders[name] = folder{info, entries}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Open implements [fs.FS].
func (l listed) Open(name string) (fs.File, error) {
	if f, ok := l.folders[name]; ok {
		return &f, nil
	}
	return l.MapFS.Open(name)
}

// Lstat implements [fs.ReadLinkFS].
func (l listed) Lstat(name string) (fs.FileInfo, error) {
	if f, ok := l.folders[name]; ok {
		return f.info, nil
	}
	return l.MapFS.Lstat(name)
}

// folder is an open folder, which is read at once.
type folder struct {
	info    fs.FileInfo
	entries []fs.DirEntry
}

func (f *folder) Stat() (fs.FileInfo, error)         { return f.info, nil }
func (f *folder) Close() error                       { return nil }
func (f *folder) Read([]byte) (int, error)           { return 0, fs.ErrInvalid }
func (f *folder) ReadDir(int) ([]fs.DirEntry, error) { return slices.Clone(f.entries), nil }
