package publish

import (
	"errors"
	"fmt"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// OpenHead opens the newest commit of a branch of the repository in dir, nil without a repository
// or a commit. It can be read until it is closed.
func OpenHead(dir, branch string) (head *object.Commit, closed func() error, err error) {
	closed = func() error { return nil }
	repo, err := git.PlainOpen(dir)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, closed, nil
	}
	if err != nil {
		return nil, closed, fmt.Errorf("opening repository %s: %w", dir, err)
	}
	if s, ok := repo.Storer.(*filesystem.Storage); ok {
		closed = s.Close
	}
	ref, err := repo.Reference(plumbing.NewBranchReferenceName(branch), false)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, closed, nil
	}
	if err == nil {
		head, err = repo.CommitObject(ref.Hash())
	}
	if err != nil {
		err = fmt.Errorf("reading repository %s: %w", dir, err)
	}
	return head, closed, err
}
