package generator

import (
	"cmp"
	"context"
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
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/sync/errgroup"

	"store.example/agentstore/generator/gitpack"
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
			if err := p.private.check(f.path, body); err != nil {
				return err
			}
		}
		f.hash, f.size = gitpack.Sum(plumbing.BlobObject, body), int64(len(body))
		return nil
	})
}

// attributes has the repository say that no git changes the ends of lines, as Git for Windows
// would, unless it has attributes already: a clone whose lines end otherwise is NOT verified.
func (p *publication) attributes() error {
	const name = ".gitattributes"
	if p.head != nil {
		tree, err := p.head.Tree()
		if err != nil {
			return fmt.Errorf("reading the newest commit: %w", err)
		}
		if slices.ContainsFunc(tree.Entries, func(e object.TreeEntry) bool { return e.Name == name }) {
			return nil
		}
	}
	body := []byte(bytesAsTheyAre)
	p.beside = []gitFile{{path: name, body: body, hash: gitpack.Sum(plumbing.BlobObject, body), size: int64(len(body))}}
	return nil
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
func (p *publication) trees() (plumbing.Hash, error) {
	b := treeBuilder{p: p, known: make(map[plumbing.Hash]bool)}
	root := new(gitpack.Tree)
	if p.head != nil {
		tree, err := p.head.Tree()
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("reading the newest commit: %w", err)
		}
		if err := b.keep(root, tree, ""); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	for i := range p.files {
		f := &p.files[i]
		if err := root.Set(f.path, f.hash); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%w: %w", ErrInput, err)
		}
		switch old, ok := b.old[f.path]; {
		case ok && old == f.hash:
		default:
			p.report.Changed++
			if !b.known[f.hash] {
				b.known[f.hash] = true
				p.pending = append(p.pending, gitpack.Object{Kind: plumbing.BlobObject, Hash: f.hash, File: f.source})
			}
		}
		delete(b.old, f.path)
	}
	for _, f := range p.beside {
		if err := root.Set(f.path, f.hash); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("%w: %w", ErrInput, err)
		}
		p.pending = append(p.pending, gitpack.Object{Kind: plumbing.BlobObject, Hash: f.hash, Body: f.body})
	}
	p.report.Deleted = len(b.old)
	if p.work != nil {
		p.work.deleted = slices.Sorted(maps.Keys(b.old))
	}
	return root.Encode(func(o gitpack.Object) {
		if !b.known[o.Hash] {
			b.known[o.Hash] = true
			p.pending = append(p.pending, o)
		}
	}), nil
}

// treeBuilder remembers what the newest commit holds.
type treeBuilder struct {
	p     *publication
	known map[plumbing.Hash]bool
	old   map[string]plumbing.Hash // files of the places
}

// keep takes over what stands outside the places, and remembers what stands
// inside.
func (b *treeBuilder) keep(node *gitpack.Tree, tree *object.Tree, at string) error {
	b.known[tree.Hash] = true
	for _, e := range tree.Entries {
		name := path.Join(at, e.Name)
		_, placed := b.p.in.Folders[name]
		above := slices.ContainsFunc(slices.Collect(maps.Keys(b.p.in.Folders)), func(place string) bool {
			return strings.HasPrefix(place, name+"/")
		})
		switch {
		case placed && e.Mode != filemode.Dir:
			b.rememberFile(e, name)
			continue
		case !placed && !above, e.Mode != filemode.Dir:
			if !placed && !above {
				node.Put(e)
			}
			continue
		}
		child, err := object.GetTree(b.p.storage, e.Hash)
		if err != nil {
			return fmt.Errorf("reading tree %s: %w", name, err)
		}
		if placed {
			if err := b.remember(child, name); err != nil {
				return err
			}
			continue
		}
		sub := new(gitpack.Tree)
		if err := b.keep(sub, child, name); err != nil {
			return err
		}
		node.Hang(e.Name, sub)
	}
	return nil
}

// rememberFile notes one file of the newest commit.
func (b *treeBuilder) rememberFile(e object.TreeEntry, name string) {
	if b.old == nil {
		b.old = make(map[string]plumbing.Hash)
	}
	b.known[e.Hash] = true
	b.old[name] = e.Hash
	if e.Mode != filemode.Regular {
		b.old[name] = plumbing.ZeroHash // an equal file of another mode is a change
	}
}

func (b *treeBuilder) remember(tree *object.Tree, at string) error {
	b.known[tree.Hash] = true
	for _, e := range tree.Entries {
		name := at + "/" + e.Name
		if e.Mode != filemode.Dir {
			b.rememberFile(e, name)
			continue
		}
		b.known[e.Hash] = true
		child, err := object.GetTree(b.p.storage, e.Hash)
		if err != nil {
			return fmt.Errorf("reading tree %s: %w", name, err)
		}
		if err := b.remember(child, name); err != nil {
			return err
		}
	}
	return nil
}
