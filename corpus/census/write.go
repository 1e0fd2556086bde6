package census

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience is how long is waited for a store that is busy. A lease may run out meanwhile, and then
// nothing is written.
const patience = 30 * time.Second

// note says what was written.
type note struct {
	parts []*part
	err   error
}

// part is what is written about one shard.
type part struct {
	*leased
	Commit
	claims []turn
	lost   bool
}

// wanted is how many hosts should be written down as about to be walked.
func (p *pump) wanted() int {
	if p.ended {
		return 0
	}
	return min(len(p.todo), max(0, p.Workers+p.ahead-p.busy()))
}

// batch is what is written at once, about each shard.
type batch map[*leased]*part

// of returns the part of a shard.
func (b batch) of(h *leased) *part {
	if b[h] == nil {
		b[h] = &part{leased: h}
	}
	return b[h]
}

// write begins a transaction for each shard that has something to be written, if none is under way.
// Lots of results are not waited for, but while walkers have what to do, neither is it hurried.
func (p *pump) write(ctx context.Context) {
	now := time.Now()
	if p.writing || p.under > 0 && now.Before(p.began.Add(writeEvery)) {
		return
	}
	p.retry(now)
	if !p.ended && len(p.todo)+p.queued > 0 && p.over() {
		for _, t := range append(p.todo, p.unqueue(func(turn) bool { return true })...) {
			t.shard.results = append(t.shard.results, Result{Row: notProbed(t.Entry, ReasonWeekOver)})
		}
		p.todo = nil
	}
	b := batch{}
	claimed := p.claim(b)
	p.giveBack(b)
	all := p.gather(b, now)
	if len(all) == 0 {
		return
	}
	p.writing, p.began, p.walked, p.claimed = true, now, 0, claimed
	// What was seen is written even when ctx has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(p.Lease, patience))
	go func() {
		defer cancel()
		var g errgroup.Group
		for _, w := range all {
			g.Go(func() error {
				err := p.Store.Commit(ctx, w.Shard, w.Commit, p.Lease)
				if w.lost = errors.Is(err, ErrLost); w.lost {
					return nil
				}
				return err
			})
		}
		err := g.Wait()
		p.wrote <- note{all, err}
	}()
}

// claim adds the hosts that are about to be walked and returns how many they are. As many as became
// free since the last transaction was begun are wanted until the next one is through.
func (p *pump) claim(b batch) (n int) {
	p.ahead = min(p.Workers-1, p.walked)
	for want := p.wanted(); n < want && len(p.todo) > 0; {
		t := p.todo[0]
		if p.todo = p.todo[1:]; !p.enter(t) {
			continue
		}
		n++
		t.company = p.join()
		w := b.of(t.shard)
		w.Claims, w.claims = append(w.Claims, t.Entry), append(w.claims, t)
	}
	return n
}

// giveBack adds the hosts that were claimed and wait, and at the end those that nobody was sent to:
// another may go.
func (p *pump) giveBack(b batch) {
	for _, t := range p.returned {
		if !t.shard.lost {
			b.of(t.shard).Returned = append(b.of(t.shard).Returned, t.Entry)
		}
	}
	p.returned = nil
	if !p.ended {
		return
	}
	for _, t := range p.ready {
		t.company.under--
		b.of(t.shard).Returned = append(b.of(t.shard).Returned, t.Entry)
	}
	for _, t := range p.ready {
		p.settle(t.company)
		p.leave(t)
	}
	p.ready, p.todo = nil, nil
}

// gather adds the results, and the shards whose leases are to be renewed, and returns the parts in
// the order of the shards.
func (p *pump) gather(b batch, now time.Time) (all []*part) {
	for _, h := range p.shards {
		if h.lost {
			continue
		}
		if len(h.results) > 0 || !now.Before(h.renew) {
			b.of(h)
		}
		if w := b[h]; w != nil {
			w.Results, w.Control = h.results, h.control
			h.results, h.control = nil, nil
			all = append(all, w)
		}
	}
	return all
}

// written takes over what a transaction wrote.
func (p *pump) written(n note) error {
	p.writing, p.claimed = false, 0
	if n.err != nil {
		return n.err
	}
	for _, w := range n.parts {
		if w.lost {
			p.drop(w)
			continue
		}
		w.renew = p.began.Add(p.Lease / 3)
		w.open -= len(w.Results)
		p.ready = append(p.ready, w.claims...)
	}
	return nil
}

// drop forgets a shard that another process has.
func (p *pump) drop(w *part) {
	h := w.leased
	p.Log.Warn("shard lost to another process", "week", p.Week, "shard", h.Number)
	h.lost, h.results, h.control = true, nil, nil
	of := func(t turn) bool {
		if t.shard == h {
			t.untry()
		}
		return t.shard == h
	}
	p.todo = slices.DeleteFunc(p.todo, of)
	p.unqueue(of)
	gone := w.claims
	p.ready = slices.DeleteFunc(p.ready, func(t turn) bool {
		if t.shard == h {
			gone = append(gone, t)
		}
		return t.shard == h
	})
	for _, t := range gone {
		t.company.under--
	}
	for _, t := range gone {
		p.settle(t.company)
		p.leave(t)
	}
}
