package generator

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
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
	faults            []error
}

// item is a unit with what the record has of it.
type item struct {
	unit
	old  recordUnit
	was  bool        // the record has it
	gone bool        // the record has it, the table does not
	now  *recordUnit // made anew; nil: as it was
}

// batchUnits is how many units of a stream a worker takes at once, batchKeys how many of a family
// that lists its keys: those bring nothing along that would fill the memory.
const batchUnits, batchKeys = 16, 64

// batch is how many units of the row a worker takes at once.
func (o *output) batch() int {
	switch {
	case o.large:
		return 1
	case o.stream != nil:
		return batchUnits
	}
	return batchKeys
}

// render makes what changed of some rows. The first error ends it; what was written by
// then stays, and the next build goes over it.
func (b *build) render(ctx context.Context, rows []output) error {
	group, ctx := errgroup.WithContext(ctx)
	under := 32 * b.in.workers() // so that a page that takes long does not hold up the rest
	work, order := make(chan *batch, under), make(chan *batch, under)
	group.Go(func() error {
		defer close(work)
		defer close(order)
		return b.plan(ctx, rows, func(next *batch) error {
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
			d, memory := newDigester(), new(scratch)
			for next := range work {
				if err := b.process(ctx, next, d, memory); err != nil {
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
func (b *build) plan(ctx context.Context, rows []output, send func(*batch) error) error {
	for r := range rows {
		row := &rows[r]
		before := &recordParser{ended: true}
		if b.old != nil {
			before = b.old.row(row.name)
		}
		was, known := before.unit()
		full := row.batch()
		begin := func() *batch {
			// What was collected is used again.
			items, _ := b.spare.Get().(*[]item)
			if items == nil {
				items = new(make([]item, 0, batchKeys))
			}
			return &batch{row: row, items: (*items)[:0], ready: make(chan struct{})}
		}
		next := begin()
		next.first = true
		add := func(it item) error {
			next.items = append(next.items, it)
			if !it.gone {
				next.files += len(row.files)
			}
			if len(next.items) < full {
				return nil
			}
			err := send(next)
			next = begin()
			return err
		}
		leave := func() error {
			err := add(item{old: was, was: true, gone: true})
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
				it.old, it.was = was, true
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
func (b *build) process(ctx context.Context, next *batch, d *digester, memory *scratch) error {
	for i := range next.items {
		it := &next.items[i]
		it.row, it.scratch = next.row, memory
		if it.gone {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		files := next.row.files
		made := next.row.digest(b.s, it.unit, d)
		if it.was && it.old.n == len(files) && it.old.Made == made {
			it.value = nil
			continue
		}
		if next.row.check != nil {
			next.faults = append(next.faults, next.row.check(it.unit)...)
		}
		before, now := it.old.Files(), make([]recordFile, len(files))
		for n, f := range files {
			o := outfile{name: next.row.path(f, it.key), mediaType: f.MediaType}
			if len(before) == len(files) {
				o.old = &before[n].Sum
			}
			if err := b.file(next.row, it.unit, made, &o); err != nil {
				return fmt.Errorf("making %s: %w", o.name, err)
			}
			now[n] = recordFile{o.sum, o.size}
			next.rendered++
			if o.changed {
				next.written++
			}
			if err := b.manifest.Put(o.name, o.size, o.sum); err != nil {
				return err
			}
		}
		it.now = new(newRecordUnit(it.key, made, now))
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
		clear(next.items)
		b.spare.Put(&next.items)
		planned += next.files
		b.faults = append(b.faults, next.faults...)
		b.report.Rendered += next.rendered
		b.report.Written += next.written
		if b.in.Progress != nil && planned-told >= step {
			told = planned
			b.in.Progress(planned, max(planned, b.expected))
		}
	}
	if b.in.Progress != nil && planned > 0 && ctx.Err() == nil {
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
	} else if it.now != nil {
		b.next.unit(it.now)
	} else {
		b.next.unit(&it.old)
	}
	if b.twins == nil {
		return nil
	}
	if it.was && (it.gone || it.now != nil) {
		for _, f := range it.old.Files() {
			if err := b.stale.Add(f.Sum[:], nil); err != nil {
				return err
			}
		}
	}
	if b.old == nil {
		for _, f := range it.now.Files() {
			if err := b.published.Add(f.Sum[:], nil); err != nil {
				return err
			}
		}
	}
	return nil
}
