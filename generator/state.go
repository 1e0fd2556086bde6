package generator

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/generator/buildcache"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/publish"
	"store.example/agentstore/generator/tree"
)

// build is one run. Its fields are set before the workers start.
type build struct {
	in         *Input
	s          *pages.Source
	rows       []pages.Output
	tree       *tree.Tree
	private    *publish.Private
	compressed *tree.Compressed
	manifest   *filetree.Tree
	old        *buildcache.Cache          // nil: everything is rendered, and the tree is swept
	before     map[string]buildcache.File // of old

	mu     sync.Mutex // guards what follows while workers run
	next   *buildcache.Cache
	report Report
	looked int // files that were looked at, made or not
}

// sha is the SHA-256 of b.
func sha(b []byte) attest.Digest { return sha256.Sum256(b) }

// isMissing reports whether err says that something is not there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// keep remembers a unit and tells the manifest of its files.
func (b *build) keep(row, key string, now buildcache.Unit) error {
	b.next.Put(row, key, now)
	for _, f := range now.Files {
		if err := b.manifest.Put(f.Path, f.Size, f.Sum()); err != nil {
			return err
		}
	}
	return nil
}
