// Package filetree makes the manifest of a tree of files, from all of them. What it makes package
// attest reads and verifies.
package filetree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
)

// Tree is a manifest in the making: the files of a tree, told one by one or hashed from an fs.FS,
// and sealed into the head and its parts. Put may be called by several goroutines at once.
type Tree struct {
	layout attest.Layout
	left   []attest.LeftOut // of the layout

	mu    sync.Mutex
	files map[string]attest.Entry // by path
}

// NewTree starts an empty tree.
func NewTree(l attest.Layout) *Tree {
	return &Tree{layout: l, left: l.Omitted(), files: make(map[string]attest.Entry)}
}

// Put says that the tree holds a file of these bytes' size and digest.
func (t *Tree) Put(name string, size int64, sum attest.Digest) error {
	if err := t.layout.CheckPath(name, t.left); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files[name] = attest.Entry{Path: name, Size: size, SHA256: sum}
	return nil
}

// BuildManifest hashes every file of fsys, on all cores, into a new tree. The
// manifest's own files and what the layout leaves out are passed over;
// anything that is neither a directory nor a regular file is an error.
func BuildManifest(ctx context.Context, fsys fs.FS, l attest.Layout) (*Tree, error) {
	t := NewTree(l)
	err := attest.HashFiles(ctx, fsys, func(send func(string) bool) error {
		return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				if name != "." && (name == l.Place || attest.IsLeftOut(t.left, name+"/")) {
					return fs.SkipDir
				}
				return nil
			case attest.IsLeftOut(t.left, name):
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

// Sealed is a finished manifest: its files, the parts first and the head last.
type Sealed struct {
	Manifest attest.Manifest
	Write    []File
}

// Seal makes the parts and signs the head.
func (t *Tree) Seal(k *attest.Key, meta Meta) (Sealed, error) {
	s := Sealed{Manifest: attest.Manifest{
		Format: attest.ManifestFormat, BaseURL: meta.BaseURL, ContentDigest: meta.ContentDigest,
		LeavesOut: t.layout.Omitted(), Parts: []attest.PartRef{},
	}}
	m := &s.Manifest
	for _, p := range t.parts() {
		body, ref, err := attest.EncodePart(t.layout, p.directory, p.bucket, p.entries)
		if err != nil {
			return Sealed{}, fmt.Errorf("sealing manifest: %w", err)
		}
		m.Parts, m.Files, m.Bytes = append(m.Parts, ref), m.Files+ref.Files, m.Bytes+ref.Bytes
		s.Write = append(s.Write, File{ref.Path, body})
	}
	var err error
	if m.Root, err = attest.PartsRoot(m.Parts); err != nil {
		return Sealed{}, err
	}
	if err := m.Sign(k); err != nil {
		return Sealed{}, fmt.Errorf("sealing manifest: %w", err)
	}
	head, err := m.Encode()
	if err != nil {
		return Sealed{}, fmt.Errorf("sealing manifest: %w", err)
	}
	s.Write = append(s.Write, File{t.layout.Head(), head})
	return s, nil
}

// part is the files of one bucket of a top-level directory, by path.
type part struct {
	directory, bucket string
	entries           []attest.Entry
}

// parts deals the files out, in the order of directories and buckets.
func (t *Tree) parts() []part {
	t.mu.Lock()
	defer t.mu.Unlock()
	directories := make(map[string][]attest.Entry)
	for name, e := range t.files {
		top := attest.TopDirectory(name)
		directories[top] = append(directories[top], e)
	}
	var all []part
	for _, directory := range slices.Sorted(maps.Keys(directories)) {
		digits := digitsFor(len(directories[directory]))
		buckets := make(map[string][]attest.Entry)
		for _, e := range directories[directory] {
			bucket := attest.BucketOfHash(sha256.Sum256([]byte(e.Path)), digits)
			buckets[bucket] = append(buckets[bucket], e)
		}
		for _, bucket := range slices.Sorted(maps.Keys(buckets)) {
			entries := buckets[bucket]
			slices.SortFunc(entries, func(a, b attest.Entry) int { return strings.Compare(a.Path, b.Path) })
			all = append(all, part{directory, bucket, entries})
		}
	}
	return all
}

// digitsFor is how many hex digits name the buckets of a directory of n files.
func digitsFor(n int) int {
	digits := 0
	for limit := attest.PartFiles; n > limit; limit *= 16 {
		digits++
	}
	return digits
}
