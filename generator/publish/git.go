package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// GitInput says what is committed where.
type GitInput struct {
	// Repo is the publication repository: a bare one, or one with a work tree.
	Repo string
	// Branch is committed to, "" for main. It must be the one that is checked
	// out, or HEAD of a bare repository.
	Branch string
	// Folders maps a place in the repository, such as "public", to the folder
	// whose files it will hold, exactly those, or to one file. Everything else
	// in the repository stays as it is.
	Folders map[string]string
	// Message is the commit's, with author, address and date for both author
	// and committer.
	Message     string
	Name, Email string
	When        time.Time
	Signer      Signer
	// Site holds the private texts that no file may hold; nil or PublicPools
	// for nothing to look for. Corpus is the folder of the signed record, nil for
	// none, and Ring holds the published keys: what is on the public register
	// is private no more.
	Site        *content.Site
	PublicPools bool
	Corpus      fs.FS
	Ring        attest.Ring
	// Workers is how many files are read at once, 0 for one a processor.
	// Progress is called now and then, never twice at once, with the files that
	// are stored, and as many as there may be; nil for no one to tell.
	Workers  int
	Progress func(done, total int)
}

// GitReport says what a publication did.
type GitReport struct {
	// Commit is the branch's newest commit, new or not.
	Commit string
	// Unchanged says that there was nothing to commit.
	Unchanged bool
	// Files is how many files the folders hold; Changed and Deleted are against
	// the commit before; Objects were written.
	Files, Changed, Deleted, Objects int
}

// The refusals of ToGit. Nothing has been written when one is returned.
var (
	// ErrNoRepository: there is no repository to publish to.
	ErrNoRepository = errors.New("no publication repository")
	// ErrDirty: the work tree or its index holds something that is not
	// committed and would be lost.
	ErrDirty = errors.New("the publication repository has changes that are not committed")
	// ErrDiverged: somebody else's commits are not in the branch.
	ErrDiverged = errors.New("the publication repository has diverged")
	// ErrBranch: another branch is checked out.
	ErrBranch = errors.New("the publication repository is on another branch")
)

// ToGit commits the folders to the repository: new objects in bulk, one
// signed commit, then the branch and, if there is one, the work tree. When
// nothing changed it commits nothing. A branch that moves meanwhile is
// ErrDiverged; the objects written by then are unreachable and harmless.
func ToGit(ctx context.Context, in GitInput) (GitReport, error) {
	p, err := openPublication(in)
	if err != nil {
		return GitReport{}, err
	}
	defer p.close()
	if err := p.check(); err != nil {
		return GitReport{}, err
	}
	if err := p.read(ctx); err != nil {
		return GitReport{}, err
	}
	p.attributes()
	if p.work != nil {
		if err := p.work.strangers(slices.Concat(p.files, p.beside)); err != nil {
			return GitReport{}, err
		}
	}
	root, err := p.trees(ctx)
	if err != nil {
		return GitReport{}, err
	}
	if p.head != nil && root == p.head.TreeHash {
		p.report.Commit, p.report.Unchanged = p.head.Hash.String(), true
		return p.report, nil
	}
	commit, err := p.commit(root)
	if err != nil {
		return GitReport{}, err
	}
	if err := p.store(); err != nil {
		return GitReport{}, err
	}
	if err := p.move(commit); err != nil {
		return GitReport{}, err
	}
	if p.work != nil {
		if err := p.work.update(p); err != nil {
			return GitReport{}, fmt.Errorf("commit %s is made, but %w; hint: git -C %s reset --hard", commit, err,
				in.Repo)
		}
	}
	p.report.Commit = commit.String()
	return p.report, nil
}

type publication struct {
	in      GitInput
	repo    *git.Repository
	storage *filesystem.Storage
	branch  plumbing.ReferenceName
	ref     *plumbing.Reference // nil before the first commit
	head    *object.Commit      // nil before the first commit
	work    *workTree           // nil for a bare repository
	private *Private

	w         *Writer
	committed Files     // by the newest commit
	files     []gitFile // of the folders, by path
	beside    []gitFile // that the folders do not hold
	deleted   []string  // files of the newest commit that the new one has not
	report    GitReport
}

func openPublication(in GitInput) (*publication, error) {
	if in.Branch == "" {
		in.Branch = "main"
	}
	if in.Signer == nil || in.When.IsZero() || in.Name == "" || in.Email == "" || len(in.Folders) == 0 {
		return nil, fmt.Errorf("%w: publishing needs folders, a signer, a name, an address and a date", ErrInput)
	}
	for place := range in.Folders {
		if !fs.ValidPath(place) || place == "." {
			return nil, fmt.Errorf("%w: %q is no place in a repository", ErrInput, place)
		}
	}
	repo, err := git.PlainOpen(in.Repo)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, fmt.Errorf("%w at %s; hint: git init --bare -b %s %s", ErrNoRepository, in.Repo, in.Branch, in.Repo)
	}
	if errors.Is(err, git.ErrUnknownExtension) || errors.Is(err, git.ErrUnsupportedExtensionRepositoryFormatVersion) {
		return nil, fmt.Errorf("%w at %s: the repository there is of another kind (%w), and publications are of "+
			"SHA-1, without extensions; hint: git init --bare -b %s --object-format=sha1 %s.sha1, and publish there",
			ErrNoRepository, in.Repo, err, in.Branch, in.Repo)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the publication repository: %w", err)
	}
	storage, ok := repo.Storer.(*filesystem.Storage)
	if !ok {
		return nil, fmt.Errorf("opening the publication repository: not kept in files")
	}
	p := &publication{in: in, repo: repo, storage: storage, branch: plumbing.NewBranchReferenceName(in.Branch),
		w: NewWriter(), committed: make(Files)}
	if in.Site != nil && !in.PublicPools {
		feed, err := observations(in.Corpus, in.Ring)
		if err != nil {
			return nil, err
		}
		p.private = NewPrivate(in.Site, feed)
	}
	wt, err := repo.Worktree()
	switch {
	case errors.Is(err, git.ErrIsBareRepository):
	case err != nil:
		return nil, fmt.Errorf("opening the work tree: %w", err)
	default:
		if p.work, err = openWorkTree(wt.Filesystem.Root(), storage); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *publication) close() error {
	var err error
	if p.work != nil {
		err = p.work.close()
	}
	return errors.Join(err, p.storage.Close())
}

// check refuses a repository in which something could be lost.
func (p *publication) check() error {
	head, err := p.repo.Reference(plumbing.HEAD, false)
	if err != nil {
		return fmt.Errorf("reading HEAD: %w", err)
	}
	if head.Type() != plumbing.SymbolicReference || head.Target() != p.branch {
		at := head.Target().Short()
		if at == "" {
			at = "a detached commit"
		}
		return fmt.Errorf("%w: %s, not %s; hint: git -C %s switch %s", ErrBranch, at, p.in.Branch, p.in.Repo,
			p.in.Branch)
	}
	p.ref, err = p.repo.Reference(p.branch, false)
	switch {
	case errors.Is(err, plumbing.ErrReferenceNotFound):
		p.ref = nil
	case err != nil:
		return fmt.Errorf("reading branch %s: %w", p.in.Branch, err)
	default:
		if p.head, err = p.repo.CommitObject(p.ref.Hash()); err != nil {
			return fmt.Errorf("reading the newest commit: %w", err)
		}
		if p.committed, err = p.w.List(p.head); err != nil {
			return err
		}
	}
	if err := p.checkUpstream(); err != nil {
		return err
	}
	if p.work != nil {
		return p.work.check(p.committed)
	}
	return nil
}

// checkUpstream refuses when the branch lacks commits of the branch it
// follows, as far as the last fetch knows.
func (p *publication) checkUpstream() error {
	cfg, err := p.repo.Config()
	if err != nil {
		return fmt.Errorf("reading the configuration of the repository: %w", err)
	}
	remote := "origin"
	merge := p.branch
	if b := cfg.Branches[p.in.Branch]; b != nil && b.Remote != "" {
		remote = b.Remote
		if b.Merge != "" {
			merge = b.Merge
		}
	}
	theirs, err := p.repo.Reference(plumbing.NewRemoteReferenceName(remote, merge.Short()), true)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s/%s: %w", remote, merge.Short(), err)
	}
	if p.ref != nil && p.ref.Hash() == theirs.Hash() {
		return nil
	}
	diverged := fmt.Errorf("%w: %s/%s has commits that %s lacks; hint: git -C %s pull --ff-only",
		ErrDiverged, remote, merge.Short(), p.in.Branch, p.in.Repo)
	if p.head == nil {
		return diverged
	}
	their, err := p.repo.CommitObject(theirs.Hash())
	if err != nil {
		return fmt.Errorf("reading %s/%s: %w", remote, merge.Short(), err)
	}
	in, err := their.IsAncestor(p.head)
	if err != nil {
		return fmt.Errorf("comparing with %s/%s: %w", remote, merge.Short(), err)
	}
	if !in {
		return diverged
	}
	return nil
}

// commit signs the commit and adds it to what is to be stored.
func (p *publication) commit(root plumbing.Hash) (plumbing.Hash, error) {
	who := object.Signature{Name: p.in.Name, Email: p.in.Email, When: p.in.When.UTC()}
	c := &object.Commit{Author: who, Committer: who, Message: p.in.Message, TreeHash: root}
	if p.head != nil {
		c.ParentHashes = []plumbing.Hash{p.head.Hash}
	}
	return p.w.Commit(c, p.in.Signer)
}

// fewObjects is up to how many objects are written one by one, so that small
// publications do not leave a pack each.
const fewObjects = 256

// store writes the pending objects: a few loose, many as one pack.
func (p *publication) store() error {
	pending := p.w.Pending()
	p.report.Objects = len(pending)
	if len(pending) > fewObjects {
		_, err := p.w.WritePack(filepath.Join(p.storage.Filesystem().Root(), "objects", "pack"))
		return err
	}
	for _, o := range pending {
		if _, err := p.storage.SetEncodedObject(o); err != nil {
			return fmt.Errorf("storing object %s: %w", o.Hash(), err)
		}
	}
	return nil
}

// move brings the branch to the commit, if it still stands where it stood. It
// takes git's own lock on the branch, so that git and we never both move it.
func (p *publication) move(commit plumbing.Hash) (err error) {
	name := filepath.Join(p.storage.Filesystem().Root(), filepath.FromSlash(p.branch.String()))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("moving branch %s: %w", p.in.Branch, err)
	}
	lock, err := os.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("moving branch %s: taking its lock: %w", p.in.Branch, err)
	}
	defer func() {
		if err != nil {
			os.Remove(lock.Name())
		}
	}()
	_, err = fmt.Fprintf(lock, "%s\n", commit)
	if err = errors.Join(err, lock.Sync(), lock.Close()); err != nil {
		return fmt.Errorf("moving branch %s: %w", p.in.Branch, err)
	}
	now, err := p.repo.Reference(p.branch, false)
	switch {
	case errors.Is(err, plumbing.ErrReferenceNotFound):
		now = nil
	case err != nil:
		return fmt.Errorf("reading branch %s: %w", p.in.Branch, err)
	}
	if (now == nil) != (p.ref == nil) || now != nil && now.Hash() != p.ref.Hash() {
		return fmt.Errorf("%w: %s moved while it was published to; hint: publish again", ErrDiverged, p.in.Branch)
	}
	if err := os.Rename(lock.Name(), name); err != nil {
		return fmt.Errorf("moving branch %s: %w", p.in.Branch, err)
	}
	return nil
}

func (p *publication) workers() int {
	return workers(p.in.Workers)
}

// gitFile is one file of the folders.
type gitFile struct {
	path   string // in the repository
	source string // on disk
	body   []byte // nil: read from source
	hash   plumbing.Hash
	size   int64
}

// bytes reads the file again, which must be what it was.
func (f *gitFile) bytes() ([]byte, error) {
	if f.body != nil {
		return f.body, nil
	}
	b, err := os.ReadFile(f.source)
	if err == nil && plumbing.ComputeHash(plumbing.BlobObject, b) != f.hash {
		err = fmt.Errorf("%w: %s; hint: try again", ErrChanged, f.source)
	}
	return b, err
}
