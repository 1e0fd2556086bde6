package generator

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"agentstore/corpus/attest"
)

// A build is a pipeline. One goroutine walks the rows of the table and the
// units of each beside those of the record, in order; workers find out which
// units changed and make their files; one goroutine collects in the same order,
// for the record is written by key. So much is under way at once, however many
// units there are.

// batch is a few neighbouring units of a row.
type batch struct {
	row   *output
	first bool // begins the row
	last  bool // ends the row
	items []item
	files int           // of its units
	ready chan struct{} // closed by the worker

	rendered, written int
}

// item is a unit with what the record has of it.
type item struct {
	unit
	old  *recordUnit // nil if the record has none
	gone bool        // the record has it, the table does not
	now  recordUnit
	made bool // its files were made anew
}

// batchUnits is how many units a worker takes at once.
const batchUnits = 16

// render makes what changed. The first error ends it; what was written by
// then stays, and the next build goes over it.
func (b *build) render(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	under := 2 * b.in.workers()
	work, order := make(chan *batch, under), make(chan *batch, under)
	group.Go(func() error {
		defer close(work)
		defer close(order)
		return b.plan(ctx, func(next *batch) error {
			for _, c := range []chan *batch{order, work} {
				select {
				case c <- next:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		})
	})
	for range b.in.workers() {
		group.Go(func() error {
			d := newDigester()
			for next := range work {
				if err := b.process(ctx, next, d); err != nil {
					return err
				}
				close(next.ready)
			}
			return nil
		})
	}
	group.Go(func() error { return b.collect(ctx, order) })
	return group.Wait()
}

// plan walks the table and sends it away in batches.
func (b *build) plan(ctx context.Context, send func(*batch) error) error {
	for r := range b.rows {
		row := &b.rows[r]
		before := &recordParser{ended: true}
		if b.old != nil {
			before = b.old.row(row.name)
		}
		was, known := before.unit()
		next := &batch{row: row, first: true, ready: make(chan struct{})}
		add := func(it item) error {
			next.items = append(next.items, it)
			if !it.gone {
				next.files += len(row.files)
			}
			if len(next.items) < batchUnits && !row.large {
				return nil
			}
			err := send(next)
			next = &batch{row: row, ready: make(chan struct{})}
			return err
		}
		leave := func() error {
			old := was
			err := add(item{old: &old, gone: true})
			was, known = before.unit()
			return err
		}
		last, any := "", false
		for u, err := range row.units(b.s) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && any && u.key <= last {
				err = fmt.Errorf("its keys are not sorted: %q after %q", u.key, last)
			}
			if err != nil {
				return fmt.Errorf("output %s: %w", row.name, err)
			}
			last, any = u.key, true
			for known && was.Key < u.key {
				if err := leave(); err != nil {
					return err
				}
			}
			it := item{unit: u}
			if known && was.Key == u.key {
				old := was
				it.old = &old
				was, known = before.unit()
			}
			if err := add(it); err != nil {
				return err
			}
		}
		for known {
			if err := leave(); err != nil {
				return err
			}
		}
		if before.err != nil {
			return before.err
		}
		next.last = true
		if err := send(next); err != nil {
			return err
		}
	}
	return nil
}

// process makes the files of those units of a batch that changed.
func (b *build) process(ctx context.Context, next *batch, d *digester) error {
	for i := range next.items {
		it := &next.items[i]
		if it.gone {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		files := next.row.files
		made := next.row.digest(b.s, it.unit, d)
		if it.old != nil && len(it.old.Sums) == len(files) && it.old.Made == made {
			it.now = *it.old
			it.value = nil
			continue
		}
		it.now = recordUnit{Key: it.key, Made: made, Sums: make([]attest.Digest, len(files)), Sizes: make([]int64, len(files))}
		it.made = true
		for n, f := range files {
			o := outfile{name: next.row.path(f, it.key), mediaType: f.MediaType}
			if it.old != nil && len(it.old.Sums) == len(files) {
				o.old = &it.old.Sums[n]
			}
			if err := b.file(next.row, it.unit, made, &o); err != nil {
				return fmt.Errorf("making %s: %w", o.name, err)
			}
			it.now.Sums[n], it.now.Sizes[n] = o.sum, o.size
			next.rendered++
			if o.changed {
				next.written++
			}
			if err := b.manifest.Put(o.name, o.size, o.sum); err != nil {
				return err
			}
		}
		it.value = nil
	}
	return nil
}

// collect takes the batches in order: it writes the record and notes what is
// gone.
func (b *build) collect(ctx context.Context, order <-chan *batch) error {
	const step = 256
	told, planned := 0, 0
	for next := range order {
		select {
		case <-next.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if next.first {
			b.next.row(next.row.name)
		}
		for i := range next.items {
			if err := b.take(next.row, &next.items[i]); err != nil {
				return err
			}
		}
		if next.last {
			b.next.end()
		}
		planned += next.files
		b.report.Rendered += next.rendered
		b.report.Written += next.written
		if b.in.Progress != nil && planned-told >= step {
			told = planned
			b.in.Progress(planned, max(planned, b.expected))
		}
	}
	if b.in.Progress != nil && ctx.Err() == nil {
		b.in.Progress(planned, planned)
	}
	return nil
}

func (b *build) take(row *output, it *item) error {
	if it.gone {
		for _, name := range row.paths(it.old.Key) {
			if err := b.gone.Add([]byte(name), nil); err != nil {
				return err
			}
		}
	} else {
		b.next.unit(&it.now)
	}
	if b.twins == nil {
		return nil
	}
	if it.old != nil && (it.gone || it.made) {
		for _, sum := range it.old.Sums {
			if err := b.stale.Add(sum[:], nil); err != nil {
				return err
			}
		}
	}
	if b.old == nil {
		for _, sum := range it.now.Sums {
			if err := b.published.Add(sum[:], nil); err != nil {
				return err
			}
		}
	}
	return nil
}
