package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
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

// Cover signs a manifest over every file of the record: manifest.json and the files under manifest.
// It is called after everything else was written, and again after every change. contentDigest is
// that of the sources of the site, baseURL the site's.
func (w *Writer) Cover(ctx context.Context, meta attest.Meta) (err error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := tidy(dir); err != nil {
		return err
	}
	tree, err := attest.BuildManifest(ctx, FS{r.fsys}, attest.CorpusLayout())
	if err != nil {
		return err
	}
	sealed, err := tree.Seal(w.Identity, meta)
	if err != nil {
		return err
	}
	// Parts that the last manifest had and this one has not.
	stale, err := fs.Glob(r.fsys, "manifest/*")
	if err != nil {
		return err
	}
	for _, s := range stale {
		if err := dir.Root.RemoveAll(s); err != nil {
			return fmt.Errorf("covering record: %w", err)
		}
	}
	for _, f := range sealed.Write {
		if err := dir.Put(f.Path, f.Body); err != nil {
			return err
		}
	}
	return dir.SyncUp(".")
}

// tidy removes what crashes left half written.
func tidy(dir *durable.Folder) error {
	fsys := FS{dir.Root.FS()}
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(path.Base(name), ".") && strings.HasSuffix(name, ".new") {
			err = dir.Root.Remove(name)
		}
		return err
	})
}
