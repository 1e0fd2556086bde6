// Package filetree makes the manifest of a tree of files: from all of them, or from what changed
// since it was made last. What it makes package attest reads and verifies.
package filetree

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/extsort"
)

// Tree is a manifest in the making: the files of a tree, told one by one or
// hashed from an fs.FS, and sealed into the head and its parts. Parts that no
// change touches are neither read nor written. What was told waits on disk when
// it is much, and one part is in memory at a time, so that memory does not
// follow the number of files. Put and Delete may be called by several
// goroutines at once.
type Tree struct {
	layout attest.Layout
	left   []attest.LeftOut  // of the layout
	from   fs.FS             // where parts are read from, nil for nowhere
	held   map[string][]byte // parts that Seal returned, where there is no from

	mu      sync.Mutex
	groups  map[string]*group
	pending *extsort.Sorter // what was told since the last Seal, see change
}

// group is one top-level directory.
type group struct {
	digits int
	parts  map[string]attest.PartRef // by bucket
}

// pendingMemory is how much of what is told waits in memory.
const pendingMemory = 8 << 20

// NewTree starts an empty tree.
func NewTree(l attest.Layout) *Tree {
	return &Tree{layout: l, left: l.Omitted(), groups: map[string]*group{}, pending: extsort.New(pendingMemory)}
}

// OpenTree starts from the manifest that stands in fsys, whose parts are read
// when a change touches them. The head must hold together, but who signed it
// is not asked: the tree will be sealed anew.
func OpenTree(fsys fs.FS, l attest.Layout) (*Tree, error) {
	m, err := attest.ReadManifest(fsys, l)
	if err != nil {
		return nil, err
	}
	t := NewTree(l)
	t.from = fsys
	for _, ref := range m.Parts {
		g := t.group(ref.Directory)
		g.digits = attest.BucketDigits(ref.Bucket)
		g.parts[ref.Bucket] = ref
	}
	return t, nil
}

func (t *Tree) group(dir string) *group {
	g := t.groups[dir]
	if g == nil {
		g = &group{parts: map[string]attest.PartRef{}}
		t.groups[dir] = g
	}
	return g
}

// Put says that the file name now has these bytes' size and digest.
func (t *Tree) Put(name string, size int64, sum attest.Digest) error {
	return t.tell(change{Entry: attest.Entry{Path: name, Size: size, SHA256: sum}})
}

// Delete says that the file name is gone. It need not have been there.
func (t *Tree) Delete(name string) error {
	return t.tell(change{Entry: attest.Entry{Path: name}, gone: true})
}

// Files is how many files the tree covered when it was opened or sealed last.
func (t *Tree) Files() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		for _, ref := range g.parts {
			n += ref.Files
		}
	}
	return n
}

// Close frees what waits on disk. The tree must not be used after it.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pending.Close()
}

// BuildManifest hashes every file of fsys, on all cores, into a new tree. The
// manifest's own files and what the layout leaves out are passed over;
// anything that is neither a directory nor a regular file is an error.
func BuildManifest(ctx context.Context, fsys fs.FS, l attest.Layout) (*Tree, error) {
	t := NewTree(l)
	left := l.Omitted()
	err := attest.HashFiles(ctx, fsys, func(send func(string) bool) error {
		return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				if name != "." && (name == l.Place || attest.IsLeftOut(left, name+"/")) {
					return fs.SkipDir
				}
				return nil
			case attest.IsLeftOut(left, name):
				return nil
			case !d.Type().IsRegular():
				return fmt.Errorf("covering %q: not a regular file", name)
			}
			if !send(name) {
				return fs.SkipAll
			}
			return nil
		})
	}, func(name string, size int64, sum attest.Digest, err error) error {
		if err != nil {
			return err
		}
		return t.Put(name, size, sum)
	})
	if err != nil {
		return nil, fmt.Errorf("building manifest: %w", err)
	}
	return t, nil
}

// Meta is what the head says beside its files.
type Meta struct {
	BaseURL       string // of the site the tree belongs to
	ContentDigest string // of the sources it was made from
}

// File is one file to be written.
type File struct {
	Path string
	Body []byte
}
