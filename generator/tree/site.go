package tree

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
)

// A served site is a folder of trees and a pointer:
//
//	trees/<root>   a whole tree, named by the first half of its Merkle root
//	current        a symbolic link to one of them
//
// A server resolves the pointer once and reads one tree; a build makes a new
// tree beside it and moves the pointer in one step.
const (
	treesFolder = "trees"
	pointerName = "current"
	nextPrefix  = ".next-"
)

// KeepTrees is how many trees stay beside the current one and those that a
// server has open, for servers that have not followed the pointer yet.
const KeepTrees = 2

// ErrBusy is returned while another build of the same site runs.
var ErrBusy = errors.New("another build of this site is running")

// noTree is the name of the empty tree that a new site's pointer leads to.
const noTree = "none"

// InitTrees makes the folder of a site's trees with a pointer to an empty one.
func InitTrees(siteDir string) error {
	if err := os.MkdirAll(filepath.Join(siteDir, treesFolder, noTree), 0o755); err != nil {
		return fmt.Errorf("making the site's folder: %w", err)
	}
	_, err := point(siteDir, path.Join(treesFolder, noTree))
	return err
}

// Trees are the folders of a site's trees: those beside the pointer, or, where
// there is no such folder, the site's folder itself.
func Trees(siteDir string) ([]string, error) {
	trees := filepath.Join(siteDir, treesFolder)
	entries, err := os.ReadDir(trees)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{siteDir}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing trees: %w", err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, filepath.Join(trees, e.Name()))
	}
	return all, nil
}

// Site is the folder of a site's trees while one more is made.
type Site struct {
	dir   string
	trees *os.File // locked
	next  string
}

// Lock begins one more tree of a site, whose folder is made if there is none. Only one at a time
// may be made (ErrBusy). What an interrupted build left is removed.
func Lock(siteDir string) (_ *Site, err error) {
	trees := filepath.Join(siteDir, treesFolder)
	if err := os.MkdirAll(trees, 0o755); err != nil {
		return nil, fmt.Errorf("making the site's folder: %w", err)
	}
	s := &Site{dir: siteDir, next: filepath.Join(trees, nextPrefix+strings.ToLower(rand.Text()[:8]))}
	if s.trees, err = os.Open(trees); err != nil {
		return nil, fmt.Errorf("making the site's folder: %w", err)
	}
	free, err := take(s.trees)
	switch {
	case err != nil:
		err = fmt.Errorf("locking %s: %w", trees, err)
	case !free:
		err = fmt.Errorf("building in %s: %w; hint: wait until it is done", siteDir, ErrBusy)
	default:
		err = removeUnfinished(trees)
	}
	if err != nil {
		return nil, errors.Join(err, s.trees.Close())
	}
	return s, nil
}

// Close lets the next one in.
func (s *Site) Close() error { return s.trees.Close() }

// Next is the folder of the new tree until it has its name.
func (s *Site) Next() string { return s.next }

// Link begins the new tree with hard links to the files of the current one, if there is one, and
// says how many they are. A tree that stands in the site's folder itself is removed then.
func (s *Site) Link() (int, error) {
	before, err := Current(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := removeFlat(s.dir); err != nil {
		return 0, err
	}
	n, err := linkTree(before, s.next)
	if err != nil {
		err = errors.Join(err, s.Drop())
	}
	return n, err
}

// Drop removes the new tree.
func (s *Site) Drop() error { return os.RemoveAll(s.next) }

// Settle gives the new tree, whose Merkle root is given, its name, moves the pointer to it and
// removes old trees. It returns the tree's folder and whether the pointer moved.
func (s *Site) Settle(root string) (dir string, moved bool, err error) {
	dir = filepath.Join(s.dir, treesFolder, root[:32])
	switch err := os.Rename(s.next, dir); {
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		// The same root is the same tree, unless somebody has been in it.
		if err := replaceTree(s.next, dir); err != nil {
			return "", false, err
		}
	case err != nil:
		return "", false, fmt.Errorf("naming the new tree: %w", err)
	}
	if moved, err = point(s.dir, path.Join(treesFolder, root[:32])); err != nil {
		return "", false, err
	}
	return dir, moved, removeOld(s.dir)
}

// Current returns the folder that the pointer of a site names. Without a
// pointer the error is fs.ErrNotExist.
func Current(siteDir string) (string, error) {
	to, err := os.Readlink(filepath.Join(siteDir, pointerName))
	if err != nil {
		return "", fmt.Errorf("reading the pointer to the current tree: %w", err)
	}
	if name, ok := strings.CutPrefix(filepath.ToSlash(to), treesFolder+"/"); !ok || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("reading the pointer to the current tree: it names %q, which is no tree", to)
	}
	return filepath.Join(siteDir, to), nil
}

// point moves the pointer in one step and reports whether it moved.
func point(siteDir, to string) (bool, error) {
	name := filepath.Join(siteDir, pointerName)
	if now, err := os.Readlink(name); err == nil && filepath.ToSlash(now) == to {
		return false, nil
	}
	temp := name + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("moving the pointer: %w", err)
	}
	if err := os.Symlink(filepath.FromSlash(to), temp); err != nil {
		return false, fmt.Errorf("moving the pointer: %w", err)
	}
	if err := os.Rename(temp, name); err != nil {
		return false, fmt.Errorf("moving the pointer: %w", err)
	}
	return true, nil
}

// linkTree makes a tree of hard links to the files of another.
func linkTree(from, to string) (int, error) {
	n := 0
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type().IsRegular():
			n++
			return os.Link(name, target)
		}
		return nil // nothing that a build makes; it is not taken along
	})
	if err != nil {
		return n, fmt.Errorf("linking the tree before: %w", err)
	}
	return n, nil
}

// replaceTree puts next in the place of a tree of the same name when the two
// differ, and removes next when they do not.
func replaceTree(next, dir string) error {
	same, err := sameFiles(next, dir)
	if err != nil {
		return err
	}
	if same {
		return os.RemoveAll(next)
	}
	aside := next + "-old"
	if err := os.Rename(dir, aside); err != nil {
		return fmt.Errorf("setting a changed tree aside: %w", err)
	}
	if err := os.Rename(next, dir); err != nil {
		return fmt.Errorf("naming the new tree: %w", err)
	}
	_, err = discard(aside)
	return err
}

// sameFiles compares two trees by their signed manifests and, file by file, by
// inode and size: what is linked is the same.
func sameFiles(a, b string) (bool, error) {
	head := filepath.FromSlash(attest.PublicLayout().Head())
	x, err := os.ReadFile(filepath.Join(a, head))
	if err != nil {
		return false, fmt.Errorf("comparing trees: %w", err)
	}
	if y, err := os.ReadFile(filepath.Join(b, head)); err != nil || string(x) != string(y) {
		return false, nil
	}
	same := true
	err = filepath.WalkDir(a, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(a, name)
		if err != nil {
			return err
		}
		one, err := os.Lstat(name)
		if err != nil {
			return err
		}
		other, err := os.Lstat(filepath.Join(b, rel))
		if err != nil || !os.SameFile(one, other) {
			same = false
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("comparing trees: %w", err)
	}
	return same, nil
}

// removeUnfinished clears what an interrupted build left.
func removeUnfinished(trees string) error {
	entries, err := os.ReadDir(trees)
	if err != nil {
		return fmt.Errorf("listing trees: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), nextPrefix) {
			if _, err := discard(filepath.Join(trees, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// discard removes a tree that no server has open, and reports whether it did.
func discard(tree string) (bool, error) {
	dir, err := os.Open(tree)
	if err != nil {
		return false, fmt.Errorf("removing a tree: %w", err)
	}
	free, err := take(dir)
	if free {
		err = os.RemoveAll(tree)
	}
	if err := errors.Join(err, dir.Close()); err != nil {
		return false, fmt.Errorf("removing a tree: %w", err)
	}
	return free, nil
}

// removeFlat removes the files of a tree that stands in the site's folder
// itself, where the pointer has led elsewhere since the build before. What its
// manifest does not name is not touched.
func removeFlat(siteDir string) error {
	root, err := os.OpenRoot(siteDir)
	if err != nil {
		return fmt.Errorf("opening the site's folder: %w", err)
	}
	defer root.Close()
	layout := attest.PublicLayout()
	head, err := root.ReadFile(layout.Head())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the tree in the site's folder: %w", err)
	}
	m, err := attest.ParseManifest(head, layout)
	if err != nil {
		return fmt.Errorf("reading the tree in the site's folder: %w; hint: remove by hand what stands beside %s and "+
			"%s", err, treesFolder, pointerName)
	}
	names := []string{layout.Cosignatures()}
	for e, err := range m.Entries(root.FS(), layout) {
		if err != nil {
			return fmt.Errorf("reading the tree in the site's folder: %w", err)
		}
		names = append(names, e.Path)
	}
	for _, p := range m.Parts {
		names = append(names, p.Path)
	}
	for _, name := range append(names, layout.Head()) { // the head last: until then the rest is found again
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the tree in the site's folder: %w", err)
		}
		for dir := path.Dir(name); dir != "." && root.Remove(dir) == nil; dir = path.Dir(dir) {
		}
	}
	return nil
}

// take locks an open folder for its holder alone, until it is closed, and reports whether it could:
// a server that reads a tree, or another build, has it otherwise. Where folders cannot be locked, a
// server has as long to follow the pointer as the last trees are kept.
func take(dir *os.File) (bool, error) {
	err := durable.TryLock(dir)
	switch {
	case errors.Is(err, durable.ErrLocked):
		return false, nil
	case errors.Is(err, errors.ErrUnsupported), runtime.GOOS == "windows":
		return true, nil
	}
	return err == nil, err
}

// removeOld keeps the current tree and the newest others.
func removeOld(siteDir string) error {
	current, err := Current(siteDir)
	if err != nil {
		return err
	}
	trees := filepath.Join(siteDir, treesFolder)
	entries, err := os.ReadDir(trees)
	if err != nil {
		return fmt.Errorf("listing trees: %w", err)
	}
	type old struct {
		name string
		at   int64
	}
	var olds []old
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("listing trees: %w", err)
		}
		if e.Name() != filepath.Base(current) && !strings.HasPrefix(e.Name(), nextPrefix) {
			olds = append(olds, old{e.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(olds, func(a, b old) int { return cmp.Compare(b.at, a.at) })
	for _, o := range olds[min(KeepTrees, len(olds)):] {
		if _, err := discard(filepath.Join(trees, o.name)); err != nil {
			return err
		}
	}
	return nil
}
