package generator

import (
	"context"
	"errors"
	"path/filepath"

	"store.example/agentstore/generator/tree"
)

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
// one build of a site may run at a time (tree.ErrBusy). A folder that holds a tree
// by itself, as Build makes it, keeps it beside the new one until the next
// build, for a server that has it open.
func BuildTree(ctx context.Context, in Input, siteDir string) (r TreeReport, err error) {
	site, err := tree.Lock(siteDir)
	if err != nil {
		return TreeReport{}, err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	in.OutDir, in.Record, in.aside = site.Next(), filepath.Join(siteDir, "record"), true
	if err := in.check(); err != nil {
		return TreeReport{}, err
	}
	if err := in.treeIsNewer(siteDir); err != nil {
		return TreeReport{}, err
	}
	if r.Linked, err = site.Link(); err != nil {
		return TreeReport{}, err
	}
	if r.Report, err = Build(ctx, in); err != nil {
		return TreeReport{}, errors.Join(err, site.Drop())
	}
	r.Dir, r.Moved, err = site.Settle(r.Root)
	return r, err
}
