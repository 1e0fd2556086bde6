package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"
)

// read hashes every file of the folders, on all cores, and looks for private
// text in each.
func (p *publication) read(ctx context.Context) error {
	for _, place := range slices.Sorted(maps.Keys(p.in.Folders)) {
		dir := p.in.Folders[place]
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				if d.Name() == ".git" {
					return fmt.Errorf("%s: a folder to publish may not hold a repository", name)
				}
				return nil
			case !d.Type().IsRegular():
				return fmt.Errorf("%s: not a regular file", name)
			}
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			p.files = append(p.files, gitFile{path: path.Join(place, filepath.ToSlash(rel)), source: name})
			return nil
		})
		if err != nil {
			return fmt.Errorf("listing the files to publish: %w", err)
		}
	}
	slices.SortFunc(p.files, func(a, b gitFile) int { return cmp.Compare(a.path, b.path) })
	for i := 1; i < len(p.files); i++ {
		if p.files[i].path == p.files[i-1].path {
			return fmt.Errorf("%w: two folders hold %s", ErrInput, p.files[i].path)
		}
	}
	p.report.Files = len(p.files)
	return each(ctx, len(p.files), p.workers(), func(i int) error {
		f := &p.files[i]
		body, err := os.ReadFile(f.source)
		if err != nil {
			return fmt.Errorf("reading a file to publish: %w", err)
		}
		if p.private != nil {
			if err := p.private.Check(f.path, body); err != nil {
				return err
			}
		}
		f.hash, f.size = plumbing.ComputeHash(plumbing.BlobObject, body), int64(len(body))
		return nil
	})
}

// attributes has the repository say that no git changes the ends of lines, as Git for Windows
// would, unless it has attributes already: a clone whose lines end otherwise is NOT verified.
func (p *publication) attributes() {
	const name = ".gitattributes"
	if _, ok := p.committed[name]; ok {
		return
	}
	body := []byte(Attributes)
	p.beside = []gitFile{{path: name, body: body, hash: p.w.Body(body), size: int64(len(body))}}
}

// each calls do with every index below n, on several workers, until one fails.
func each(ctx context.Context, n, workers int, do func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(workers, n) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := context.Cause(ctx); err != nil {
					return err
				}
				if err := do(i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// trees builds the repository's tree with the folders in their places. What is
// not in the newest commit is added to what is to be stored.
func (p *publication) trees(ctx context.Context) (plumbing.Hash, error) {
	files, old := maps.Clone(p.committed), make(Files)
	for name, e := range p.committed {
		if p.placed(name) {
			old[name] = e
			delete(files, name)
		}
	}
	read := 0
	for i := range p.files {
		f := &p.files[i]
		files.Set(f.path, f.hash)
		if old[f.path] != files[f.path] { // an equal file of another mode is a change
			p.report.Changed++
		}
		delete(old, f.path)
		p.w.File(f.hash, f.size, f.source, func(name string) ([]byte, error) {
			if read++; p.in.Progress != nil && read%1024 == 0 {
				p.in.Progress(read, len(p.files))
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return os.ReadFile(name)
		})
	}
	for _, f := range p.beside {
		files.Set(f.path, f.hash)
	}
	p.report.Deleted = len(old)
	p.deleted = slices.Sorted(maps.Keys(old))
	root, err := p.w.Tree(files)
	if errors.Is(err, ErrTree) {
		err = fmt.Errorf("%w: %w", ErrInput, err)
	}
	return root, err
}

// placed reports whether a file of the newest commit stands in one of the places, or in the way of
// one.
func (p *publication) placed(name string) bool {
	for place := range p.in.Folders {
		if name == place || strings.HasPrefix(name, place+"/") || strings.HasPrefix(place, name+"/") {
			return true
		}
	}
	return false
}
