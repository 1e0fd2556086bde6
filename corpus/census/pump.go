package census

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// A pump drives one process's walks. One goroutine owns everything here; walks and the writing run
// in goroutines of their own and report to it. Whatever has come together since it last wrote is
// written in one transaction for each shard: the results that came in, and the hosts that are about
// to be walked. So the store's delay is shared by all walks under way, and no walk begins before it
// is written down. While one transaction is under way, walkers that become free go on with hosts
// that the one before wrote down: as many as were needed the last time, so that what a crash
// interrupts stays few.
type pump struct {
	*run
	walking context.Context // of all walks; it outlives the run's, so that walks under way are finished
	shards  []*leased
	todo    []turn           // not begun and not written down, the next first
	lanes   map[string]*lane // by domain: hosts of it that are walked, about to be, or waiting
	queued  int              // waiting in lanes or parked
	parked  map[netip.Addr]*parked
	// parked, and that they go back is not written yet
	returned []turn
	ready    []turn   // written down, and not begun
	ahead    int      // how many should be ready
	batch    *company // the one that hosts now join
	formed   int      // companies
	events   chan event
	writing  bool       // a transaction is under way
	wrote    chan note  // when it is through
	began    time.Time  // when it was begun
	claimed  int        // hosts that it writes down
	walked   int        // walks that ended since it was begun
	under    int        // walks under way, those to the control door among them
	ended    bool       // ctx ended: begin nothing more
	taking   bool       // a shard is being taken
	took     chan taken // when it is
	none     bool       // there was none to take
	empty    bool       // and never will be
	again    time.Time  // when shards are looked for again
	looked   time.Time  // when progress was last read
}

// writeEvery is how often is written at most while walkers have what to do: more often costs more
// than it saves.
const writeEvery = 20 * time.Millisecond

// leased is a shard that this process has.
type leased struct {
	Shard
	open    int // hosts of it that are not finished
	results []Result
	control []ControlWalk
	lost    bool
	renew   time.Time
}

// taken is an answer of TakeShard.
type taken struct {
	Shard
	err error
}

// turn is one host's turn to be walked.
type turn struct {
	Entry
	shard   *leased
	company *company
	tries   *parked // the queue that it was let go from; nil for none
}

// event is what a walk reports.
type event struct {
	turn
	visited
	err     error
	control *company // a control walk's company; nil for a walk
	came    ControlWalk
}

// walk walks what is to be walked until every host of the week is finished, by this process or
// another.
func (r *run) walk(ctx context.Context) error {
	walking, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &pump{run: r, walking: walking, events: make(chan event, r.Workers), wrote: make(chan note, 1),
		took: make(chan taken, 1), lanes: map[string]*lane{},
		parked: map[netip.Addr]*parked{}}
	err := p.loop(ctx)
	stop()
	for ; p.under > 0; p.under-- {
		<-p.events
	}
	if p.writing {
		<-p.wrote
	}
	if p.taking {
		if t := <-p.took; t.err == nil {
			p.shards = append(p.shards, &leased{Shard: t.Shard})
		}
	}
	// What a failed run still holds runs out by itself: whether its claims were written may not be
	// known.
	if err == nil || p.ended {
		err = errors.Join(err, p.release(context.WithoutCancel(ctx), true))
	}
	if err != nil {
		return fmt.Errorf("walking %s: %w", r.Week, err)
	}
	return nil
}

func (p *pump) loop(ctx context.Context) error {
	for {
		if ctx.Err() != nil && !p.ended {
			p.ended, p.todo = true, nil
			p.close()
		}
		if err := p.release(ctx, false); err != nil {
			return err
		}
		p.fill()
		p.begin()
		p.write(ctx)
		p.tell(ctx)
		switch {
		case p.under > 0 || p.writing || p.taking || p.unwritten() || p.wanted() > 0 || p.queued > 0 && !p.ended:
			if err := p.wait(ctx); err != nil {
				return err
			}
		case p.ended:
			return ctx.Err()
		case p.empty:
			return nil
		default:
			// Others have what is left. If they die, it is ours when their leases run out.
			if err := p.Sleep(ctx, p.pause()); err != nil && ctx.Err() == nil {
				return err
			}
			p.again = time.Time{}
		}
	}
}

// busy is how many hosts are walked or about to be.
func (p *pump) busy() int { return p.under + len(p.ready) + p.claimed }

// unwritten reports whether something is to be written.
func (p *pump) unwritten() bool {
	return p.ended && len(p.ready) > 0 ||
		len(p.returned) > 0 ||
		slices.ContainsFunc(p.shards, func(h *leased) bool { return !h.lost && len(h.results) > 0 })
}

// short reports whether hosts will be missing soon.
func (p *pump) short() bool {
	return !p.ended && !p.empty && p.busy()+len(p.todo) < 2*p.Workers+p.ahead
}

// fill begins to take a further shard before walkers have to wait for one.
func (p *pump) fill() {
	if p.none && len(p.todo) == 0 {
		p.close()
	}
	if p.taking || !p.short() || time.Now().Before(p.again) {
		return
	}
	p.taking = true
	go func() {
		s, err := p.Store.TakeShard(p.walking, p.Week, p.Owner, p.Lease)
		p.took <- taken{s, err}
	}()
}

// filled takes a shard over.
func (p *pump) filled(t taken) error {
	p.taking = false
	p.empty = errors.Is(t.err, ErrDone)
	if p.none = p.empty || errors.Is(t.err, ErrHeld); p.none {
		p.again = time.Now().Add(p.pause())
		return nil
	}
	if t.err != nil {
		return t.err
	}
	h := &leased{Shard: t.Shard, open: len(t.Todo) + len(t.Stale), renew: time.Now().Add(p.Lease / 3)}
	p.shards = append(p.shards, h)
	for _, e := range t.Stale {
		h.results = append(h.results, Result{Row: notProbed(e, ReasonInterrupted)})
	}
	for _, e := range t.Todo {
		if !p.ended {
			p.todo = append(p.todo, turn{Entry: e, shard: h})
		}
	}
	return nil
}

// begin starts the walks whose beginning is written, and before the first of a company its first
// control walk.
func (p *pump) begin() {
	for !p.ended && len(p.ready) > 0 && p.under < p.Workers {
		t := p.ready[0]
		if c := t.company; !c.begun {
			c.begun = true
			p.beginControl(c)
			continue
		}
		p.ready = p.ready[1:]
		p.under++
		go func() {
			v, err := p.visit(p.walking, t.Entry)
			p.events <- event{turn: t, visited: v, err: err}
		}()
	}
}

// wait takes what comes in, and returns when there is something to do.
func (p *pump) wait(ctx context.Context) error {
	next := time.Now().Add(p.Lease / 3)
	for _, h := range p.shards {
		if h.renew.Before(next) && !p.writing {
			next = h.renew
		}
	}
	if !p.taking && p.short() && p.again.Before(next) {
		next = p.again
	}
	soon := p.began.Add(writeEvery)
	for _, q := range p.parked {
		// They are let go when something may be written again, and not before.
		if until := later(q.until, soon); until.Before(next) && !q.trying && len(q.waiting) > 0 && !p.writing &&
			!p.ended {
			next = until
		}
	}
	if !p.writing && soon.Before(next) && (p.unwritten() || p.wanted() > 0) {
		next = soon
	}
	timer := time.NewTimer(max(0, time.Until(next)))
	defer timer.Stop()
	ended := ctx.Done()
	if p.ended {
		ended = nil
	}
	select {
	case e := <-p.events:
		if err := p.take(e); err != nil {
			return err
		}
	case n := <-p.wrote:
		if err := p.written(n); err != nil {
			return err
		}
	case t := <-p.took:
		if err := p.filled(t); err != nil {
			return err
		}
	case <-timer.C:
	case <-ended:
	}
	for {
		select {
		case e := <-p.events:
			if err := p.take(e); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// take takes what a walk came to.
func (p *pump) take(e event) error {
	p.under--
	if e.control != nil {
		p.controlled(e.control, e.came)
		return nil
	}
	p.walked++
	e.company.under--
	if e.busy != nil {
		t := e.turn
		e.tries = nil
		p.park(t, e.busy.Addr)
	}
	p.leave(e.turn)
	if e.err != nil {
		return e.err
	}
	if e.busy != nil {
		p.settle(e.company)
		return nil
	}
	e.company.waiting = append(e.company.waiting, e)
	p.settle(e.company)
	return nil
}

// release gives back the shards that are finished, or all of them.
func (p *pump) release(ctx context.Context, all bool) error {
	var errs []error
	p.shards = slices.DeleteFunc(p.shards, func(h *leased) bool {
		if !h.lost && (all || h.open == 0 && len(h.results) == 0) {
			errs = append(errs, p.Store.Release(ctx, h.Lease))
			// What kept us from another may have been this one.
			p.again = time.Time{}
			return true
		}
		return h.lost
	})
	return errors.Join(errs...)
}

// tell reports progress every other second.
func (p *pump) tell(ctx context.Context) {
	if p.Progress == nil || time.Since(p.looked) < 2*time.Second {
		return
	}
	p.looked = time.Now()
	if w, err := p.Store.Week(ctx, p.Week); err == nil {
		p.Progress(w.Done, w.Due)
	}
}
