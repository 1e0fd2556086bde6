package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"store.example/agentstore/generator/tree"
)

// workTree is the checked-out side of a publication repository.
type workTree struct {
	dir     string
	tree    *tree.Tree // the same folder, for writing
	storage *filesystem.Storage
	index   *index.Index
}

func openWorkTree(dir string, storage *filesystem.Storage) (*workTree, error) {
	idx, err := storage.Index()
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	t, err := tree.Open(dir)
	if err != nil {
		return nil, err
	}
	return &workTree{dir: dir, tree: t, storage: storage, index: idx}, nil
}

func (w *workTree) close() error { return w.tree.Close() }

// unfinished are files of a repository in the middle of something.
var unfinished = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply",
	"index.lock"}

// check refuses a work tree that holds anything the commit does not: staged or
// changed files anywhere, and files in the published places that git does not
// know.
func (w *workTree) check(committed Files) error {
	dirty := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s; hint: git -C %s status", ErrDirty, fmt.Sprintf(format, args...), w.dir)
	}
	gitDir := w.storage.Filesystem().Root()
	for _, name := range unfinished {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
			return dirty("something is under way (%s)", name)
		}
	}
	if len(w.index.Entries) != len(committed) {
		return dirty("%d files are staged, %d are committed", len(w.index.Entries), len(committed))
	}
	for _, e := range w.index.Entries {
		if c, ok := committed[e.Name]; !ok || c.Hash != e.Hash || c.Mode != e.Mode || e.Stage != 0 {
			return dirty("%s is staged", e.Name)
		}
		same, err := w.unchanged(e)
		if err != nil {
			return err
		}
		if !same {
			return dirty("%s is changed", e.Name)
		}
	}
	return nil
}

// unchanged reports whether a file on disk is the one in the index. Size and
// time tell, and where they do not, the bytes.
func (w *workTree) unchanged(e *index.Entry) (bool, error) {
	info, err := w.tree.Root.Lstat(e.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking at %s: %w", e.Name, err)
	}
	var body []byte
	switch {
	case e.Mode == filemode.Submodule:
		return info.IsDir(), nil
	case e.Mode == filemode.Symlink:
		if info.Mode()&fs.ModeSymlink == 0 {
			return false, nil
		}
		to, err := w.tree.Root.Readlink(e.Name)
		if err != nil {
			return false, fmt.Errorf("looking at %s: %w", e.Name, err)
		}
		body = []byte(to)
	case !info.Mode().IsRegular(), info.Mode()&0o100 != 0 != (e.Mode == filemode.Executable):
		return false, nil
	case uint32(info.Size()) == e.Size && info.ModTime().Equal(e.ModifiedAt):
		return true, nil
	default:
		if body, err = w.tree.Root.ReadFile(e.Name); err != nil {
			return false, fmt.Errorf("looking at %s: %w", e.Name, err)
		}
	}
	return plumbing.ComputeHash(plumbing.BlobObject, body) == e.Hash, nil
}

// strangers refuses files in the way of the publication that git does not
// know, unless they hold what would be written anyway.
func (w *workTree) strangers(files []gitFile) error {
	known := make(map[string]bool, len(w.index.Entries))
	for _, e := range w.index.Entries {
		known[e.Name] = true
	}
	for _, f := range files {
		if known[f.path] {
			continue
		}
		info, err := w.tree.Root.Lstat(f.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err == nil && info.Mode().IsRegular() {
			if body, err := w.tree.Root.ReadFile(f.path); err == nil &&
				plumbing.ComputeHash(plumbing.BlobObject, body) == f.hash {
				continue
			}
		}
		return fmt.Errorf("%w: %s is in the way and not committed; hint: git -C %s status", ErrDirty, f.path, w.dir)
	}
	return nil
}

// update brings files and index to the commit that was made. Only what was
// known to git and unchanged is replaced or removed.
func (w *workTree) update(p *publication) error {
	for _, name := range p.deleted {
		if err := w.tree.Remove(name); err != nil {
			return err
		}
	}
	old := make(map[string]*index.Entry, len(w.index.Entries))
	var entries []*index.Entry
	gone := make(map[string]bool, len(p.deleted))
	for _, name := range p.deleted {
		gone[name] = true
	}
	files := slices.Concat(p.files, p.beside)
	ours := make(map[string]bool, len(files))
	for _, f := range files {
		ours[f.path] = true
	}
	for _, e := range w.index.Entries {
		old[e.Name] = e
		if !gone[e.Name] && !ours[e.Name] {
			entries = append(entries, e)
		}
	}
	for _, f := range files {
		if e, ok := old[f.path]; ok && e.Hash == f.hash && e.Mode == filemode.Regular {
			entries = append(entries, e)
			continue
		}
		body, err := f.bytes()
		if err != nil {
			return err
		}
		if _, err := w.tree.Place(f.path, body); err != nil {
			return err
		}
		e, err := w.entry(f)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *index.Entry) int { return strings.Compare(a.Name, b.Name) })
	return w.saveIndex(&index.Index{Version: 2, Entries: entries})
}

// entry is the index's line for a file as it stands on disk.
func (w *workTree) entry(f gitFile) (*index.Entry, error) {
	info, err := w.tree.Root.Lstat(f.path)
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", f.path, err)
	}
	return &index.Entry{
		Name: f.path, Hash: f.hash, Mode: filemode.Regular, Size: uint32(info.Size()), ModifiedAt: info.ModTime(),
	}, nil
}

// saveIndex replaces the index under git's own lock.
func (w *workTree) saveIndex(idx *index.Index) (err error) {
	name := filepath.Join(w.storage.Filesystem().Root(), "index")
	lock, err := os.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing the index: %w", err)
	}
	err = index.NewEncoder(lock).Encode(idx)
	err = errors.Join(err, lock.Close())
	if err == nil {
		err = os.Rename(lock.Name(), name)
	}
	if err != nil {
		os.Remove(lock.Name())
		return fmt.Errorf("writing the index: %w", err)
	}
	return nil
}
