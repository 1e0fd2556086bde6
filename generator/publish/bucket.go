package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/tlog"
)

// BucketInput says which tree is put into which folder of an object store. The folder is the tree's
// alone. Site, PublicPools, Corpus, Ring, Workers and Progress are as in GitInput.
type BucketInput struct {
	Bucket      *Bucket
	Tree        string
	Site        *content.Site
	PublicPools bool
	Corpus      fs.FS
	Ring        attest.Ring
	Workers     int
	Progress    func(done, total int)
}

// BucketReport says what a publication to an object store did.
type BucketReport struct {
	Files   int   `json:"files"`   // of the tree
	Sent    int   `json:"sent"`    // were not there, or others
	Bytes   int64 `json:"bytes"`   // of those
	Deleted int   `json:"deleted"` // were published once and are of the tree no more
	// Left are objects of the folder that no publication is known to have put there.
	Left int `json:"left"`
}

// ErrNewer is returned where the bucket holds a record that the tree does not go on from.
var ErrNewer = errors.New("what is published is not older than the tree")

// LeavingList names the files that a publication is about to delete, a line each, so that another
// one can end what this one began. It is there only until then.
const LeavingList = "_leaving"

// ToBucket brings the folder to what the tree's manifest says, byte by byte. Each object is
// replaced as a whole, and at any moment what names others names what is there: files that are new
// come first, those whose bytes never change before others; then files that changed; then the heads
// (see api.Document.Last), the parts of the manifest, and the manifest; and what has left the tree
// goes at the end. Whoever checks the whole manifest meanwhile finds files that are newer than it.
// A publication that was ended early is ended by the next one, which sends only what is not there.
func ToBucket(ctx context.Context, in BucketInput) (BucketReport, error) {
	p, err := openBucketPublication(ctx, in)
	if err != nil {
		return BucketReport{}, err
	}
	if err := p.read(ctx); err != nil {
		return BucketReport{}, err
	}
	if err := p.leave(ctx); err != nil {
		return BucketReport{}, err
	}
	if err := p.send(ctx); err != nil {
		return BucketReport{}, err
	}
	return p.report, p.remove(ctx)
}

type bucketPublication struct {
	in      BucketInput
	private *Private
	there   map[string]BucketObject
	files   []bucketFile
	leaving []string // in the bucket, by path
	report  BucketReport
	done    atomic.Int64
}

// bucketFile is a file of the tree.
type bucketFile struct {
	path, mediaType, cache string
	sum                    attest.Digest
	stage                  stage
	last                   int  // among heads, the row of its document
	same                   bool // the bucket has these bytes
}

// stage is when a file is put in its place: the heads one after the other, and of the rest all of a
// stage at once.
type stage int

const (
	newForEver stage = iota
	newFile
	changedFile
	headFile
	manifestPart
	manifestHead
)

func openBucketPublication(ctx context.Context, in BucketInput) (*bucketPublication, error) {
	p := &bucketPublication{in: in, there: make(map[string]BucketObject)}
	if in.Site != nil && !in.PublicPools {
		feed, err := observations(in.Corpus, in.Ring)
		if err != nil {
			return nil, err
		}
		p.private = NewPrivate(in.Site, feed)
	}
	if err := p.list(ctx); err != nil {
		return nil, err
	}
	return p, p.older(ctx)
}

// list reads what the tree and the bucket hold.
func (p *bucketPublication) list(ctx context.Context) error {
	for o, err := range p.in.Bucket.All(ctx) {
		if err != nil {
			return err
		}
		p.there[o.Key] = o
	}
	tree, layout := os.DirFS(p.in.Tree), attest.PublicLayout()
	m, _, err := attest.OpenManifest(tree, layout, p.in.Ring)
	if err != nil {
		return fmt.Errorf("reading what is to be published: %w; hint: run store build", err)
	}
	for e, err := range m.Entries(tree, layout) {
		if err != nil {
			return err
		}
		p.add(e.Path, e.SHA256)
	}
	for _, part := range m.Parts {
		p.files = append(p.files, bucketFile{path: part.Path, sum: part.SHA256, stage: manifestPart,
			mediaType: api.JSON, cache: api.Checked.Control()})
	}
	for i, name := range []string{layout.Head(), layout.Cosignatures()} {
		raw, err := os.ReadFile(filepath.Join(p.in.Tree, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		if err != nil {
			return err
		}
		p.files = append(p.files, bucketFile{path: name, sum: attest.Digest(sha256.Sum256(raw)), stage: manifestHead,
			last: i, mediaType: api.JSON, cache: api.Checked.Control()})
	}
	p.report.Files = len(p.files)
	slices.SortFunc(p.files, func(a, b bucketFile) int {
		// info/refs of a git repository comes behind objects/info/packs
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.last, b.last), cmp.Compare(b.path, a.path))
	})
	return nil
}

// add adds a file that the manifest covers.
func (p *bucketPublication) add(name string, sum attest.Digest) {
	f := bucketFile{path: name, sum: sum, stage: newFile, mediaType: api.TypeOf(name), cache: api.Short.Control()}
	d, mediaType, found := api.Find(name)
	if found {
		f.mediaType, f.cache = mediaType, d.Cache.Control()
	}
	_, old := p.there[name]
	switch {
	case d.Last:
		f.stage = headFile
		f.last = slices.IndexFunc(api.Documents, func(other api.Document) bool { return other.Name == d.Name })
	case old:
		f.stage = changedFile
	case d.Cache == api.Immutable:
		f.stage = newForEver
	}
	p.files = append(p.files, f)
}

// read looks for private text in every file, and for what the bucket has of it already.
func (p *bucketPublication) read(ctx context.Context) error {
	return each(ctx, len(p.files), p.workers(), func(i int) error {
		f := &p.files[i]
		body, err := p.body(f)
		if err != nil {
			return err
		}
		if p.private != nil {
			if err := p.private.Check(f.path, body); err != nil {
				return err
			}
		}
		old, ok := p.there[f.path]
		f.same = ok && old.Size == int64(len(body)) && old.MD5 == ObjectSum(body)
		return nil
	})
}

// body returns a file's bytes, which are those of the manifest.
func (p *bucketPublication) body(f *bucketFile) ([]byte, error) {
	body, err := os.ReadFile(filepath.Join(p.in.Tree, filepath.FromSlash(f.path)))
	if err != nil {
		return nil, fmt.Errorf("reading a file to publish: %w", err)
	}
	if attest.Digest(sha256.Sum256(body)) != f.sum {
		return nil, fmt.Errorf("%s is not what the manifest says: it was changed, or built meanwhile; hint: run store "+
			"build and publish again", f.path)
	}
	return body, nil
}

// send puts the files in their places, stage by stage.
func (p *bucketPublication) send(ctx context.Context) error {
	for from := 0; from < len(p.files); {
		to := from
		for to < len(p.files) && p.files[to].stage == p.files[from].stage {
			to++
		}
		workers := p.workers() * 8 // most of the time goes by in waiting
		switch p.files[from].stage {
		case headFile:
			if err := p.older(ctx); err != nil { // nobody else has published meanwhile
				return err
			}
			workers = 1
		case manifestHead:
			workers = 1
		}
		files := p.files[from:to]
		if err := each(ctx, len(files), workers, func(i int) error { return p.put(ctx, &files[i]) }); err != nil {
			return err
		}
		from = to
	}
	for _, f := range p.files {
		if !f.same {
			p.report.Sent++
		}
	}
	return nil
}

func (p *bucketPublication) put(ctx context.Context, f *bucketFile) error {
	if !f.same {
		body, err := p.body(f)
		if err != nil {
			return err
		}
		if err := p.in.Bucket.Put(ctx, f.path, body, f.mediaType, f.cache); err != nil {
			return err
		}
		atomic.AddInt64(&p.report.Bytes, int64(len(body)))
	}
	if n := int(p.done.Add(1)); p.in.Progress != nil {
		p.in.Progress(n, len(p.files))
	}
	return nil
}

// older demands that the record in the bucket is the tree's, or its beginning.
func (p *bucketPublication) older(ctx context.Context) error {
	const head, most = "corpus/log/checkpoint", 1 << 20
	raw, err := p.in.Bucket.Get(ctx, head, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	theirs, _, err := tlog.OpenCheckpoint(raw, p.in.Ring)
	if err != nil {
		return fmt.Errorf("%w: %s is of another log (%w); hint: publish to a folder of its own", ErrNewer,
			p.in.Bucket.At(head), err)
	}
	var ours tlog.Checkpoint
	raw, err = os.ReadFile(filepath.Join(p.in.Tree, filepath.FromSlash(head)))
	if err == nil {
		ours, _, err = tlog.OpenCheckpoint(raw, p.in.Ring)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if ours.Size < theirs.Size {
		return fmt.Errorf("%w: %s has %d leaves, and the tree's log %d; hint: build from the newest record, or "+
			"publish to another folder", ErrNewer, p.in.Bucket.At(head), theirs.Size, ours.Size)
	}
	record, err := fs.Sub(os.DirFS(p.in.Tree), "corpus")
	if err != nil {
		return err
	}
	root, err := tlog.OpenAt(record, ours.Size, ours.Root).Root(theirs.Size)
	if err != nil {
		return err
	}
	if root != theirs.Root {
		return fmt.Errorf("%w: at %d leaves %s has the root %s, and the tree's log %s: one of them was rewritten; "+
			"hint: verify both before anything is published", ErrNewer, theirs.Size, p.in.Bucket.At(head), theirs.Root,
			root)
	}
	return nil
}

// leave finds what has left the tree since it was published, and writes that down in the bucket
// before its manifest, which names it, is gone.
func (p *bucketPublication) leave(ctx context.Context) error {
	gone, err := p.published(ctx)
	if err != nil {
		return err
	}
	strangers := maps.Clone(p.there)
	delete(strangers, LeavingList)
	for _, f := range p.files {
		delete(gone, f.path)
		delete(strangers, f.path)
	}
	for name := range gone {
		if _, ok := p.there[name]; ok {
			p.leaving = append(p.leaving, name)
		}
		delete(strangers, name)
	}
	p.report.Left = len(strangers)
	slices.Sort(p.leaving)
	if len(p.leaving) == 0 {
		return nil
	}
	return p.in.Bucket.Put(ctx, LeavingList, []byte(strings.Join(p.leaving, "\n")+"\n"), api.PlainText,
		api.Checked.Control())
}

// published returns the files that the parts of manifests in the bucket name, be they of one
// publication or, where one was ended early, of two, and those that it was about to delete.
func (p *bucketPublication) published(ctx context.Context) (map[string]bool, error) {
	const most = 1 << 30
	all := make(map[string]bool)
	if _, ok := p.there[LeavingList]; ok {
		raw, err := p.in.Bucket.Get(ctx, LeavingList, most)
		if err != nil {
			return nil, err
		}
		for name := range strings.Lines(string(raw)) {
			all[strings.TrimSuffix(name, "\n")] = true
		}
	}
	for name := range p.there {
		if !attest.PublicLayout().IsPart(name) {
			continue
		}
		all[name] = true
		raw, err := p.in.Bucket.Get(ctx, name, most)
		if err != nil {
			return nil, err
		}
		var part struct {
			Files []struct {
				Path string `json:"path"`
			} `json:"files"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, fmt.Errorf("reading %s: %w; hint: publish to a folder of its own", p.in.Bucket.At(name), err)
		}
		for _, f := range part.Files {
			all[f.Path] = true
		}
	}
	return all, nil
}

// remove deletes what has left the tree.
func (p *bucketPublication) remove(ctx context.Context) error {
	if len(p.leaving) > 0 {
		if err := p.in.Bucket.Remove(ctx, p.leaving); err != nil {
			return err
		}
		p.report.Deleted = len(p.leaving)
	}
	if _, ok := p.there[LeavingList]; ok || len(p.leaving) > 0 {
		return p.in.Bucket.Remove(ctx, []string{LeavingList})
	}
	return nil
}

func (p *bucketPublication) workers() int {
	return workers(p.in.Workers)
}
