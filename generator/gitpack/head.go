package gitpack

import (
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Head is the newest commit of a branch, with every file of its tree.
type Head struct {
	Commit Hash
	When   time.Time // of its committer
	Files  map[string]Hash
	Known  map[Hash]bool // every object of its tree
	// Signed are the bytes that Signature, armoured, is of.
	Signed, Signature []byte
	repo              *git.Repository
}

// OpenHead reads the head of a branch of the repository in dir. Without a repository or a commit it
// returns nil.
func OpenHead(dir, branch string) (*Head, error) {
	repo, err := git.PlainOpen(dir)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening repository %s: %w", dir, err)
	}
	h := &Head{Files: make(map[string]Hash), Known: make(map[Hash]bool), repo: repo}
	ref, err := repo.Reference(plumbing.NewBranchReferenceName(branch), false)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, h.Close()
	}
	if err == nil {
		err = h.read(ref.Hash())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading repository %s: %w", dir, err), h.Close())
	}
	return h, nil
}

func (h *Head) read(commit Hash) error {
	c, err := h.repo.CommitObject(commit)
	if err != nil {
		return err
	}
	h.Commit, h.When, h.Signature = commit, c.Committer.When.UTC(), []byte(c.PGPSignature)
	plain := &plumbing.MemoryObject{}
	if err := c.EncodeWithoutSignature(plain); err != nil {
		return err
	}
	r, err := plain.Reader()
	if err != nil {
		return err
	}
	if h.Signed, err = io.ReadAll(r); err != nil {
		return err
	}
	return h.walk(c.TreeHash, "")
}

func (h *Head) walk(hash Hash, at string) error {
	tree, err := object.GetTree(h.repo.Storer, hash)
	if err != nil {
		return fmt.Errorf("tree %s: %w", at, err)
	}
	h.Known[hash] = true
	for _, e := range tree.Entries {
		name := path.Join(at, e.Name)
		h.Known[e.Hash] = true
		if e.Mode != filemode.Dir {
			h.Files[name] = e.Hash
			continue
		}
		if err := h.walk(e.Hash, name); err != nil {
			return err
		}
	}
	return nil
}

// Read returns the bytes of a file of the tree.
func (h *Head) Read(name string) (_ []byte, err error) {
	blob, err := h.repo.BlobObject(h.Files[name])
	if err != nil {
		return nil, fmt.Errorf("reading %s of commit %s: %w", name, h.Commit, err)
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}

// Close closes the repository's files.
func (h *Head) Close() error {
	if s, ok := h.repo.Storer.(*filesystem.Storage); ok {
		return s.Close()
	}
	return nil
}
