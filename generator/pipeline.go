package generator

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/generator/buildcache"
)

// render makes what changed: one goroutine walks the rows of the table and the units of each,
// workers find out which of them changed and make their files. So much is under way at once,
// however many units there are. The first error ends it; what was written by then stays, and the
// next build goes over it.
func (b *build) render(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan unit, b.in.workers())
	group.Go(func() error {
		defer close(work)
		return b.plan(func(u unit) error {
			select {
			case work <- u:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	for range b.in.workers() {
		group.Go(func() error {
			d, memory := newDigester(), new(scratch)
			for u := range work {
				if err := ctx.Err(); err != nil {
					return err
				}
				u.scratch = memory
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
func (b *build) plan(send func(unit) error) error {
	for r := range b.rows {
		row := &b.rows[r]
		last, any := "", false
		for u, err := range row.units(b.s) {
			if err == nil && any && u.key <= last {
				err = fmt.Errorf("its keys are not sorted: %q after %q", u.key, last)
			}
			if err != nil {
				return fmt.Errorf("output %s: %w", row.name, err)
			}
			last, any = u.key, true
			u.row = row
			if err := send(u); err != nil {
				return err
			}
		}
	}
	return nil
}

// process makes the files of a unit if it changed.
func (b *build) process(u unit, d *digester) error {
	files := u.row.files
	sum := u.row.digest(b.s, u, d)
	now := buildcache.Unit{Made: string(sum[:]), Files: make([]buildcache.File, len(files))}
	was, known := b.old.Unit(u.row.name, u.key)
	known = known && len(was.Files) == len(files)
	if known && was.Made == now.Made {
		return b.remember(u, was, 0, 0)
	}
	written := 0
	for i, f := range files {
		o := outfile{name: u.row.path(f, u.key), mediaType: f.MediaType}
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
func (b *build) remember(u unit, now buildcache.Unit, rendered, written int) error {
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
	return b.keep(u.row.name, u.key, now)
}

// keep remembers a unit and tells the manifest of its files.
func (b *build) keep(row, key string, now buildcache.Unit) error {
	b.next.Put(row, key, now)
	for _, f := range now.Files {
		if err := b.manifest.Put(f.Path, f.Size, f.Sum()); err != nil {
			return err
		}
	}
	return nil
}
