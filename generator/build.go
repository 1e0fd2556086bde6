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

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"
	"store.example/agentstore/generator/buildcache"
	"store.example/agentstore/generator/publish"
	"store.example/agentstore/generator/tree"
)

// build is one run. Its fields are set before the workers start.
type build struct {
	in       *Input
	s        *source
	rows     []output
	tree     *tree.Tree
	private  *publish.Private
	twins    *tree.Twins
	manifest *filetree.Tree
	old      *buildcache.Cache          // nil: everything is rendered, and the tree is swept
	before   map[string]buildcache.File // of old

	mu     sync.Mutex // guards what follows while workers run
	next   *buildcache.Cache
	report Report
	looked int // files that were looked at, made or not
}

// manifestRow is the row of the build cache that remembers the manifest's own files. No output has
// this name.
const manifestRow = "files of the manifest"

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
	b := &build{in: in, s: s, rows: rows, manifest: filetree.NewTree(attest.PublicLayout()), next: buildcache.New()}
	if !in.PublicPools {
		b.private = publish.NewPrivate(in.Site, s.feed)
	}
	if b.tree, err = tree.Open(in.OutDir); err != nil {
		return nil, err
	}
	if in.TwinsDir != "" {
		if b.twins, err = tree.OpenTwins(in.TwinsDir); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

func (b *build) close() error {
	err := b.tree.Close()
	if b.twins != nil {
		err = errors.Join(err, b.twins.Close())
	}
	return err
}

func (b *build) run(ctx context.Context) (Report, error) {
	if err := b.ours(); err != nil {
		return Report{}, err
	}
	if b.in.Record != "" && !b.in.Full {
		b.old = buildcache.Open(b.in.Record, b.tree.HeadDigest())
		b.before = b.old.Files()
	}
	if err := b.checkProse(ctx); err != nil {
		return Report{}, err
	}
	// What a failed build leaves must not pass for what the cache says.
	if b.in.Record != "" && !b.in.aside {
		if err := os.Remove(b.in.Record); err != nil && !isMissing(err) {
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
	if b.in.Record != "" {
		return b.report, b.next.Save(b.in.Record)
	}
	return b.report, nil
}

// paths are the files of the unit with this key.
func (o *output) paths(key string) []string {
	names := make([]string, len(o.files))
	for i, f := range o.files {
		names[i] = o.path(f, key)
	}
	return names
}

// seal signs the manifest and writes what differs of it.
func (b *build) seal() error {
	sealed, err := b.manifest.Seal(b.in.Key, filetree.Meta{BaseURL: b.s.base, ContentDigest: b.in.Site.Digest})
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
		if err == nil && b.twins != nil {
			err = b.twins.Sweep(sums)
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
		if b.twins != nil && !sums[f.Sum()] {
			if err := b.twins.Drop(f.Sum()); err != nil {
				return err
			}
		}
	}
	return nil
}

// sha is the SHA-256 of b.
func sha(b []byte) attest.Digest { return sha256.Sum256(b) }

// isMissing reports whether err says that something is not there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
