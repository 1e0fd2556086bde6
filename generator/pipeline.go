package generator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator/buildcache"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/publish"
)

// render makes what changed: one goroutine walks the rows of the table and the units of each,
// workers find out which of them changed and make their files. So much is under way at once,
// however many units there are. The first error ends it; what was written by then stays, and the
// next build goes over it.
func (b *build) render(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan pages.Unit, b.in.Concurrency())
	group.Go(func() error {
		defer close(work)
		return b.plan(func(u pages.Unit) error {
			select {
			case work <- u:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	for range b.in.Concurrency() {
		group.Go(func() error {
			d, memory := pages.NewDigester(), new(pages.Scratch)
			for u := range work {
				if err := ctx.Err(); err != nil {
					return err
				}
				u.Scratch = memory
				if err := b.process(u, d); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if b.in.Progress != nil && b.looked > 0 {
		b.in.Progress(b.looked, b.looked)
	}
	return nil
}

// plan walks the table.
func (b *build) plan(send func(pages.Unit) error) error {
	for r := range b.rows {
		row := &b.rows[r]
		last, any := "", false
		for u, err := range row.Units(b.s) {
			if err == nil && any && u.Key <= last {
				err = fmt.Errorf("its keys are not sorted: %q after %q", u.Key, last)
			}
			if err != nil {
				return fmt.Errorf("output %s: %w", row.Name, err)
			}
			last, any = u.Key, true
			u.Row = row
			if err := send(u); err != nil {
				return err
			}
		}
	}
	return nil
}

// process makes the files of a unit if it changed.
func (b *build) process(u pages.Unit, d *pages.Digester) error {
	files := u.Row.Files
	sum := u.Row.Digest(b.s, u, d)
	now := buildcache.Unit{Made: string(sum[:]), Files: make([]buildcache.File, len(files))}
	was, known := b.old.Unit(u.Row.Name, u.Key)
	known = known && len(was.Files) == len(files)
	if known && was.Made == now.Made {
		return b.remember(u, was, 0, 0)
	}
	written := 0
	for i, f := range files {
		o := outfile{name: u.Row.Path(f, u.Key), mediaType: f.MediaType}
		if known {
			o.old = new(was.Files[i].Sum())
		}
		if err := b.file(u, sum, &o); err != nil {
			return fmt.Errorf("making %s: %w", o.name, err)
		}
		now.Files[i] = buildcache.File{Path: o.name, SHA256: string(o.sum[:]), Size: o.size}
		if o.changed {
			written++
		}
	}
	return b.remember(u, now, len(files), written)
}

// remember notes what a unit is now, and how many files were rendered and written for that.
func (b *build) remember(u pages.Unit, now buildcache.Unit, rendered, written int) error {
	const step = 256
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.looked / step
	b.looked += len(now.Files)
	b.report.Rendered += rendered
	b.report.Written += written
	if b.in.Progress != nil && b.looked/step > told {
		b.in.Progress(b.looked, max(b.looked, len(b.before)))
	}
	return b.keep(u.Row.Name, u.Key, now)
}

// outfile is a file of the tree that a unit makes.
type outfile struct {
	name      string // in the tree
	mediaType string
	old       *attest.Digest // what it was by the build cache, nil if not known
	sum       attest.Digest
	size      int64
	changed   bool // its bytes were written
}

// inMemory is up to how many bytes a file that is copied goes through memory as
// a whole.
const inMemory = 1 << 20

// file makes one file: renders it, lets it be written piece by piece, or copies
// it from the record.
func (b *build) file(u pages.Unit, made attest.Digest, o *outfile) error {
	row := u.Row
	switch {
	case row.Render != nil:
		body, err := row.Render(b.s, u, o.mediaType, made)
		if err != nil {
			return err
		}
		if row.Sum != nil {
			if sum, ok := row.Sum(u, o.mediaType); ok {
				return b.summed(o, body, sum)
			}
		}
		return b.whole(o, body)
	case row.Write != nil:
		return b.pieces(o, func(w io.Writer) error { return row.Write(b.s, u, o.mediaType, w) })
	case row.Copy == nil:
		return errors.New("its row makes nothing")
	}
	from := row.Copy(u)
	f, err := b.in.Corpus.Open(from)
	if err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	if info.Size() > inMemory {
		return b.pieces(o, func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		})
	}
	body := slices.Grow(u.Scratch.File[:0], inMemory)[:info.Size()]
	u.Scratch.File = body
	if _, err := io.ReadFull(f, body); err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	if n, err := f.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the record: %w",
			errors.Join(err, &fs.PathError{Op: "read", Path: from, Err: errors.New("it grows while it is read")}))
	}
	return b.whole(o, body)
}

// whole writes a file that is in memory.
func (b *build) whole(o *outfile, body []byte) error { return b.summed(o, body, sha(body)) }

// summed writes a file that is in memory and has a known digest.
func (b *build) summed(o *outfile, body []byte, sum attest.Digest) error {
	if b.private != nil {
		if err := b.private.Check(o.name, body); err != nil {
			return err
		}
	}
	o.sum, o.size = sum, int64(len(body))
	if b.compressed != nil && hasTwins(o.mediaType) {
		if err := b.compressed.Keep(o.name, o.sum, body); err != nil {
			return err
		}
	}
	if o.old != nil && *o.old == o.sum {
		return nil // the tree has these bytes already
	}
	var err error
	o.changed, err = b.tree.Place(o.name, body)
	return err
}

// pieces writes a file piece by piece.
func (b *build) pieces(o *outfile, fill func(io.Writer) error) (err error) {
	d, err := b.tree.Begin(o.name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	h := sha256.New()
	to := []io.Writer{d, h}
	var look *publish.Sieve
	if b.private != nil {
		look = b.private.Sieve(o.name)
		to = append(to, look)
	}
	err = fill(io.MultiWriter(to...))
	if err == nil && look != nil {
		err = look.Flush()
	}
	if err == nil {
		o.size, err = d.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return errors.Join(err, d.Drop())
	}
	o.sum = attest.Digest(h.Sum(nil))
	if o.old != nil && *o.old == o.sum {
		err = d.Drop() // the tree has these bytes already
	} else {
		o.changed, err = d.Settle(o.size)
	}
	if err == nil && b.compressed != nil && hasTwins(o.mediaType) {
		err = b.compressed.KeepFile(o.name, o.sum, o.size, d)
	}
	return err
}

// hasTwins says which media types are worth compressing.
func hasTwins(mediaType string) bool {
	return mediaType != api.Binary && mediaType != api.Gzip && mediaType != api.PNG && mediaType != api.ICO
}
