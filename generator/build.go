package generator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/generator/buildcache"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/publish"
	"store.example/agentstore/generator/tree"
)

// manifestRow is the row of the build cache that remembers the manifest's own files. No output has
// this name.
const manifestRow = "files of the manifest"

func newBuild(in *Input) (*build, error) {
	if in.Corpus != nil {
		if err := RecordIsNewer(in.Corpus); err != nil {
			return nil, err
		}
	}

	rows := in.outputs
	if rows == nil {
		rows = pages.Table()
	}
	rows, err := pages.Prepare(slices.DeleteFunc(slices.Clone(rows), func(o pages.Output) bool {
		return !in.Site.Serves(pages.Documents[o.Name].Path)
	}))
	if err != nil {
		return nil, err
	}
	s, err := pages.NewSource(&in.Input, rows)
	if err != nil {
		return nil, err
	}
	b := &build{in: in, s: s, rows: rows, manifest: filetree.NewTree(attest.PublicLayout()), next: buildcache.New()}
	if !in.PublicPools {
		b.private = publish.NewPrivate(in.Site, s.Feed)
	}
	if b.tree, err = tree.Open(in.OutDir); err != nil {
		return nil, err
	}
	if in.TwinsDir != "" {
		if b.compressed, err = tree.OpenCompressed(in.TwinsDir); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

func (b *build) close() error {
	err := b.tree.Close()
	if b.compressed != nil {
		err = errors.Join(err, b.compressed.Close())
	}
	return err
}

func (b *build) run(ctx context.Context) (Report, error) {
	if err := b.ours(); err != nil {
		return Report{}, err
	}
	if b.in.Cache != "" && !b.in.Full {
		b.old = buildcache.Open(b.in.Cache, b.tree.HeadDigest())
		b.before = b.old.Files()
	}
	if err := b.s.CheckProse(ctx, b.readBefore); err != nil {
		return Report{}, err
	}
	// What a failed build leaves must not pass for what the cache says.
	if b.in.Cache != "" && !b.in.aside {
		if err := os.Remove(b.in.Cache); err != nil && !isMissing(err) {
			return Report{}, fmt.Errorf("setting the build cache aside: %w", err)
		}
	}
	if err := b.render(ctx); err != nil {
		return Report{}, err
	}
	if err := b.apart(ctx); err != nil {
		return Report{}, err
	}
	if err := b.seal(); err != nil {
		return Report{}, err
	}
	if err := b.removeGone(); err != nil {
		return Report{}, err
	}
	if b.in.Cache != "" {
		return b.report, b.next.Save(b.in.Cache)
	}
	return b.report, nil
}

// proseRow is the row of the build cache that remembers which texts had no fault, by their file. No
// output has this name.
const proseRow = "prose"

// readBefore reports whether the last build found no fault in a text, and remembers it for the
// next. A build that finds one saves no cache.
func (b *build) readBefore(file string, sum attest.Digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next.Put(proseRow, file, buildcache.Unit{Made: string(sum[:])})
	was, ok := b.old.Unit(proseRow, file)
	return ok && was.Made == string(sum[:])
}

// seal signs the manifest and writes what differs of it.
func (b *build) seal() error {
	sealed, err := b.manifest.Seal(b.in.Key, filetree.Meta{BaseURL: b.s.Base, ContentDigest: b.in.Site.Digest})
	if err != nil {
		return err
	}
	for _, f := range sealed.Write {
		changed, err := b.tree.Place(f.Path, f.Body)
		if err != nil {
			return err
		}
		if changed {
			b.report.Written++
		}
		sum := sha(f.Body)
		b.next.Put(manifestRow, f.Path, buildcache.Unit{Files: []buildcache.File{
			{Path: f.Path, SHA256: string(sum[:]), Size: int64(len(f.Body))}}})
	}
	m := sealed.Manifest
	b.next.Head = b.tree.HeadDigest()
	b.report.Files = int(m.Files) + len(sealed.Write)
	b.report.Bytes = m.Bytes
	b.report.Root = m.Root.String()
	return nil
}

// removeGone removes the files that nothing names any more, and the twins of what no file holds:
// after a full build by looking at all that is there, otherwise by what the build before made.
func (b *build) removeGone() error {
	now, sums := b.next.Files(), make(map[attest.Digest]bool)
	for _, f := range now {
		sums[f.Sum()] = true
	}
	if b.old == nil {
		var err error
		if !b.tree.Fresh {
			b.report.Deleted, err = b.tree.Sweep(func(name string) bool {
				_, named := now[name]
				return named || name == attest.PublicLayout().Cosignatures() // others' are not ours to remove
			})
		}
		if err == nil && b.compressed != nil {
			err = b.compressed.Sweep(sums)
		}
		return err
	}
	for name, f := range b.before {
		if _, named := now[name]; !named {
			if err := b.tree.Remove(name); err != nil {
				return err
			}
			b.report.Deleted++
		}
		if b.compressed != nil && !sums[f.Sum()] {
			if err := b.compressed.Drop(f.Sum()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Build brings OutDir to what the Input says, in place. Each file is replaced
// as a whole, but the tree as one thing is whole only when Build returns.
func Build(ctx context.Context, in Input) (Report, error) {
	if err := in.check(); err != nil {
		return Report{}, err
	}
	b, err := newBuild(&in)
	if err != nil {
		return Report{}, err
	}
	defer b.close()
	return b.run(ctx)
}

// ErrForeign is wrapped when a folder that is to be built into holds what no
// build made.
var ErrForeign = errors.New("not a folder to build into")

// ours refuses a folder that is not a published tree, or one of a newer release. A full build
// removes whatever its manifest does not name, so that a slip in the name of the folder would cost
// somebody's sources and keys. A tree with a manifest was built, and its strays are swept; one
// that was cut off before it had one holds only what rows of the table name.
func (b *build) ours() error {
	if err := errors.Join(b.in.memoryIsNewer(), b.in.treeIsNewer(b.in.OutDir)); err != nil || b.tree.Fresh {
		return err
	}
	layout := attest.PublicLayout()
	if _, err := b.tree.Root.Lstat(layout.Head()); err == nil {
		return nil
	} else if !isMissing(err) {
		return fmt.Errorf("reading the published tree: %w", err)
	}
	named := namedBy(b.rows)
	return fs.WalkDir(b.tree.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("listing the published tree: %w", err)
		case d.IsDir(), strings.HasPrefix(name, layout.Place), strings.HasPrefix(name, bulkFolder+"/"),
			named.MatchString(finished(name)):
			return nil
		}
		return fmt.Errorf("%w: %s holds %s, which no build made, and a build removes what is not the site's; hint: "+
			"name an empty folder, or one that was built before",
			ErrForeign, b.in.OutDir, name)
	})
}

// finished is the name of the file that package tree is making under a name, and any other name as
// it is.
func finished(name string) string {
	dir, base := path.Split(name)
	if rest, ok := strings.CutPrefix(base, "."); ok {
		if rest, ok = strings.CutSuffix(rest, ".new"); ok {
			return dir + rest
		}
	}
	return name
}

// namedBy matches the paths that the rows of a table can give a file.
func namedBy(rows []pages.Output) *regexp.Regexp {
	var all []string
	for _, row := range rows {
		if row.Name == "own_page" {
			continue // its pages may have any name, so that a name is no sign of a build
		}
		for _, f := range row.Files {
			before, rest, holds := strings.Cut(f.Path, "{")
			pattern := regexp.QuoteMeta(before)
			if holds {
				parameter, after, _ := strings.Cut(rest, "}")
				any := "[^/]+"
				if strings.HasSuffix(parameter, "...") {
					any = ".+"
				}
				pattern += any + regexp.QuoteMeta(after)
			}
			all = append(all, pattern)
		}
	}
	return regexp.MustCompile("^(?:" + strings.Join(all, "|") + ")$")
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
// in.OutDir and in.Cache are not used: the cache is kept beside the trees.
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
	in.OutDir, in.Cache, in.aside = site.Next(), filepath.Join(siteDir, "record"), true
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
