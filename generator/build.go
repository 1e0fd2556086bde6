package generator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"
	"store.example/agentstore/corpus/extsort"
)

// build is one run. Its fields are set before the workers start; what they
// share guards itself, and the rest belongs to the goroutine that collects.
type build struct {
	in      *Input
	s       *source
	rows    []output
	tree    *tree
	private *private
	twins   *twins
	old     *buildRecord // nil: everything is rendered, and the tree is swept
	next    *recordWriter
	report  Report
	spare   sync.Pool // of *[]item
	faults  []error   // of the prose
	// expected is how many files the tree held before, if that is known.
	expected int

	manifest *filetree.Tree
	// gone are the names of files that nothing names any more, stale the digests
	// of files that are replaced or gone, published those of all files, if twins
	// are kept and must be swept.
	gone, stale, published *extsort.Sorter
}

// spoolMemory is how much of a list of files waits in memory.
const spoolMemory = 4 << 20

func newBuild(in *Input) (*build, error) {
	rows := in.outputs
	if rows == nil {
		rows = table()
	}
	rows, err := prepare(slices.DeleteFunc(slices.Clone(rows), func(o output) bool {
		return !in.Site.Serves(documents[o.name].Path)
	}))
	if err != nil {
		return nil, err
	}
	s, err := newSource(in, rows)
	if err != nil {
		return nil, err
	}
	b := &build{in: in, s: s, rows: rows, gone: extsort.New(spoolMemory), stale: extsort.New(spoolMemory),
		published: extsort.New(spoolMemory)}
	if !in.PublicPools {
		b.private = newPrivate(in.Site, s.words)
	}
	if b.tree, err = openTree(in.OutDir); err != nil {
		return nil, err
	}
	if in.TwinsDir != "" {
		if b.twins, err = openTwins(in.TwinsDir); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

func (b *build) close() error {
	err := errors.Join(b.tree.close(), b.gone.Close(), b.stale.Close(), b.published.Close())
	if b.twins != nil {
		err = errors.Join(err, b.twins.close())
	}
	if b.old != nil {
		err = errors.Join(err, b.old.close())
	}
	if b.next != nil {
		err = errors.Join(err, b.next.drop())
	}
	if b.manifest != nil {
		err = errors.Join(err, b.manifest.Close())
	}
	return err
}

func (b *build) run(ctx context.Context) (Report, error) {
	if err := b.ours(); err != nil {
		return Report{}, err
	}
	if err := b.begin(); err != nil {
		return Report{}, err
	}
	if err := b.checkProse(ctx); err != nil {
		return Report{}, err
	}
	if err := b.render(ctx, b.rows); err != nil {
		return Report{}, err
	}
	if err := b.apart(ctx); err != nil {
		return Report{}, err
	}
	if err := b.removeGone(); err != nil {
		return Report{}, err
	}
	if err := b.seal(); err != nil {
		return Report{}, err
	}
	if err := b.next.save(b.tree.headDigest()); err != nil {
		return Report{}, err
	}
	return b.report, b.sweepTwins()
}

// begin opens the last build's record and manifest, if they are of the tree.
// What a failed build leaves must not pass for what the record says, so a record
// is taken away before the tree is touched.
func (b *build) begin() (err error) {
	layout := attest.PublicLayout()
	if b.in.Record != "" && !b.in.Full {
		b.old = openRecord(b.in.Record)
	}
	if b.old != nil && b.old.fits(b.tree) {
		b.manifest, err = filetree.OpenTree(b.tree.fsys(), layout)
		if err == nil {
			b.expected = int(b.manifest.Files())
		}
	}
	if b.manifest == nil || err != nil {
		// Without a manifest to go on from, every file must be told to a new one.
		if b.old != nil {
			if err := b.old.close(); err != nil {
				return err
			}
			b.old = nil
		}
		b.manifest = filetree.NewTree(layout)
	}
	if b.in.Record != "" && !b.in.aside {
		b.tree.before = func() error {
			if err := os.Remove(b.in.Record); err != nil && !isMissing(err) {
				return fmt.Errorf("setting the build record aside: %w", err)
			}
			return nil
		}
	}
	b.next, err = createRecord(b.in.Record)
	return err
}

// paths are the files of the unit with this key.
func (o *output) paths(key string) []string {
	names := make([]string, len(o.files))
	for i, f := range o.files {
		names[i] = o.path(f, key)
	}
	return names
}

// removeGone removes the files that nothing names any more.
func (b *build) removeGone() error {
	for r, err := range b.gone.Sorted() {
		if err != nil {
			return err
		}
		name := string(r.Key)
		if err := b.tree.remove(name); err != nil {
			return err
		}
		if err := b.manifest.Delete(name); err != nil {
			return err
		}
		b.report.Deleted++
	}
	return nil
}

// seal signs the manifest, writes what differs of it and, in a full build,
// removes what the tree should not hold.
func (b *build) seal() error {
	m, gone, err := b.manifest.SealTo(b.in.Key, filetree.Meta{BaseURL: b.s.base, ContentDigest: b.in.Site.Digest},
		func(f filetree.File) error {
			changed, err := b.tree.place(f.Path, f.Body)
			if changed {
				b.report.Written++
			}
			return err
		})
	if err != nil {
		return err
	}
	for _, name := range gone {
		if err := b.tree.remove(name); err != nil {
			return err
		}
	}
	if b.old == nil && !b.tree.fresh {
		deleted, err := b.tree.sweep(m)
		if err != nil {
			return err
		}
		b.report.Deleted += deleted
	}
	b.report.Files = int(m.Files) + len(m.Parts) + 1
	b.report.Bytes = m.Bytes
	b.report.Root = m.Root.String()
	return nil
}

// sweepTwins removes the twins that no file has any more: after a full build
// by looking at all of them, otherwise by looking at what was replaced.
func (b *build) sweepTwins() error {
	if b.twins == nil {
		return nil
	}
	if b.old == nil {
		return b.twins.sweep(b.published)
	}
	if b.stale.Len() == 0 {
		return nil
	}
	now := openRecord(b.in.Record)
	if now == nil {
		return errBroken
	}
	err := b.stillPublished(now)
	return errors.Join(err, now.close())
}

// stillPublished drops the twins of stale digests, but for those that a file
// has. Few are looked up, many are sorted beside those of all files.
func (b *build) stillPublished(now *buildRecord) error {
	const few = 1 << 12
	if b.stale.Len() <= few {
		left := make(map[attest.Digest]bool)
		for r, err := range b.stale.Sorted() {
			if err != nil {
				return err
			}
			left[attest.Digest(r.Key)] = true
		}
		if err := now.sums(func(sum attest.Digest) bool { delete(left, sum); return true }); err != nil {
			return err
		}
		for sum := range left {
			if err := b.twins.drop(sum); err != nil {
				return err
			}
		}
		return nil
	}
	var failed error
	err := now.sums(func(sum attest.Digest) bool {
		failed = b.published.Add(sum[:], nil)
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return without(b.stale, b.published, func(key []byte) error { return b.twins.drop(attest.Digest(key)) })
}

// sha is the SHA-256 of b.
func sha(b []byte) attest.Digest { return sha256.Sum256(b) }

// isMissing reports whether err says that something is not there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrNotExist)
}

// isNotEmpty reports whether a folder could not be replaced because it holds
// something.
func isNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }
