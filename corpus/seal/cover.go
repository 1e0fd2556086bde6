package seal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
)

// Cover signs a manifest over every file of the record: manifest.json and the files under manifest.
// It is called after everything else was written, and again after every change. contentDigest is
// that of the sources of the site, baseURL the site's.
func (w *Writer) Cover(ctx context.Context, meta filetree.Meta) (err error) {
	dir, _, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := tidy(dir); err != nil {
		return err
	}
	tree, err := filetree.BuildManifest(ctx, record.FS{FS: dir.Root.FS()}, attest.CorpusLayout())
	if err != nil {
		return err
	}
	sealed, err := tree.Seal(w.Identity, meta)
	if err != nil {
		return err
	}
	// Parts that the last manifest had and this one has not.
	stale, err := fs.Glob(dir.Root.FS(), "manifest/*")
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
	fsys := record.FS{FS: dir.Root.FS()}
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(path.Base(name), ".") && strings.HasSuffix(name, ".new") {
			err = dir.Root.Remove(name)
		}
		return err
	})
}
