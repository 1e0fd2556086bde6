package record

import (
	"io/fs"
	"slices"
	"strings"
)

// Dirs are the directories that belong to a record.
var Dirs = []string{"evidence", "keys", "log", "observations", "proofs", "rounds", "words"}

// FS shows of a folder what belongs to a record and its manifest, so that a record may live beside
// other files.
type FS struct{ fs.FS }

// Owns reports whether a name in the folder of a record belongs to the record or its manifest.
func Owns(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return top == "." || top == "manifest" || top == "manifest.json" || top == "manifest.cosignatures.json" ||
		slices.Contains(Dirs, top)
}

func (f FS) Open(name string) (fs.File, error) {
	if !Owns(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.FS.Open(name)
}

// ReadFile leaves the bounds to what is below.
func (f FS) ReadFile(name string) ([]byte, error) {
	if !Owns(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return fs.ReadFile(f.FS, name)
}

func (f FS) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(f.FS, name)
	if name == "." {
		all = slices.DeleteFunc(all, func(e fs.DirEntry) bool { return !Owns(e.Name()) })
	}
	return all, err
}
