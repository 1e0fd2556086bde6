package generator

import (
	"cmp"
	"context"
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

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/filelock"
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

// keepTrees is how many trees stay beside the current one and those that a
// server has open, for servers that have not followed the pointer yet.
const keepTrees = 2

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
	if isMissing(err) {
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

// TreeReport says what BuildTree made.
type TreeReport struct {
	Report
	// Dir is the tree, and Moved whether the pointer moved to it.
	Dir   string
	Moved bool
	// Linked is how many files the new tree began with, shared with the tree
	// before.
	Linked int
}

// BuildTree builds a new tree below siteDir and moves the pointer to it.
// in.OutDir and in.Record are not used: the record is kept beside the trees.
// Files that did not change are hard links to those of the tree before. Only
// one build of a site may run at a time (ErrBusy). A folder that holds a tree
// by itself, as Build makes it, keeps it beside the new one until the next
// build, for a server that has it open.
func BuildTree(ctx context.Context, in Input, siteDir string) (r TreeReport, err error) {
	trees := filepath.Join(siteDir, treesFolder)
	if err := os.MkdirAll(trees, 0o755); err != nil {
		return TreeReport{}, fmt.Errorf("making the site's folder: %w", err)
	}
	alone, err := os.Open(trees)
	if err != nil {
		return TreeReport{}, fmt.Errorf("making the site's folder: %w", err)
	}
	defer func() { err = errors.Join(err, alone.Close()) }()
	if free, err := take(alone); err != nil {
		return TreeReport{}, fmt.Errorf("locking %s: %w", trees, err)
	} else if !free {
		return TreeReport{}, fmt.Errorf("building in %s: %w; hint: wait until it is done", siteDir, ErrBusy)
	}
	if err := removeUnfinished(trees); err != nil {
		return TreeReport{}, err
	}
	next := filepath.Join(trees, nextPrefix+strings.ToLower(rand.Text()[:8]))
	in.OutDir, in.Record, in.aside = next, filepath.Join(siteDir, "record"), true
	if err := in.check(); err != nil {
		return TreeReport{}, err
	}
	before, err := Current(siteDir)
	if err := in.treeIsNewer(siteDir); err != nil {
		return TreeReport{}, err
	}
	switch {
	case err == nil:
		if err := removeFlat(siteDir); err != nil {
			return TreeReport{}, err
		}
		if r.Linked, err = linkTree(before, next); err != nil {
			return TreeReport{}, errors.Join(err, os.RemoveAll(next))
		}
	case !isMissing(err):
		return TreeReport{}, err
	}
	if r.Report, err = Build(ctx, in); err != nil {
		return TreeReport{}, errors.Join(err, os.RemoveAll(next))
	}
	r.Dir = filepath.Join(trees, r.Root[:32])
	switch err := os.Rename(next, r.Dir); {
	case errors.Is(err, fs.ErrExist), errors.Is(err, os.ErrExist), isNotEmpty(err):
		// The same root is the same tree, unless somebody has been in it.
		if err := replaceTree(next, r.Dir); err != nil {
			return TreeReport{}, err
		}
	case err != nil:
		return TreeReport{}, fmt.Errorf("naming the new tree: %w", err)
	}
	if r.Moved, err = point(siteDir, path.Join(treesFolder, r.Root[:32])); err != nil {
		return TreeReport{}, err
	}
	return r, removeOld(siteDir)
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
	if err := os.Remove(temp); err != nil && !isMissing(err) {
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
	if isMissing(err) {
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
		if err := root.Remove(name); err != nil && !isMissing(err) {
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
	err := filelock.TryLock(dir)
	switch {
	case errors.Is(err, filelock.ErrHeld):
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
	for _, o := range olds[min(keepTrees, len(olds)):] {
		if _, err := discard(filepath.Join(trees, o.name)); err != nil {
			return err
		}
	}
	return nil
}
