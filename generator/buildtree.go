package generator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"agentstore/corpus/attest"
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

// keepTrees is how many trees stay beside the current one, for servers that
// have not followed the pointer yet.
const keepTrees = 2

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
// one build of a site may run at a time.
func BuildTree(ctx context.Context, in Input, siteDir string) (TreeReport, error) {
	trees := filepath.Join(siteDir, treesFolder)
	if err := os.MkdirAll(trees, 0o755); err != nil {
		return TreeReport{}, fmt.Errorf("making the site's folder: %w", err)
	}
	if err := removeUnfinished(trees); err != nil {
		return TreeReport{}, err
	}
	next := filepath.Join(trees, nextPrefix+strings.ToLower(rand.Text()[:8]))
	in.OutDir, in.Record, in.aside = next, filepath.Join(siteDir, "record"), true
	if err := in.check(); err != nil {
		return TreeReport{}, err
	}
	var r TreeReport
	before, err := Current(siteDir)
	switch {
	case err == nil:
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
	return os.RemoveAll(aside)
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
			if err := os.RemoveAll(filepath.Join(trees, e.Name())); err != nil {
				return fmt.Errorf("removing an unfinished tree: %w", err)
			}
		}
	}
	return nil
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
	for len(olds) > keepTrees {
		oldest := 0
		for i := range olds {
			if olds[i].at < olds[oldest].at {
				oldest = i
			}
		}
		if err := os.RemoveAll(filepath.Join(trees, olds[oldest].name)); err != nil {
			return fmt.Errorf("removing an old tree: %w", err)
		}
		olds = append(olds[:oldest], olds[oldest+1:]...)
	}
	return nil
}
