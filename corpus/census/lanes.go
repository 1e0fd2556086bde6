package census

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
)

// One door of a registrable domain is walked at a time, and one of an address, whatever the names:
// many names would aim every worker at one place, and hold up all others while that place is slow.
// A host whose domain is being walked waits for its turn, those that only declared themselves
// behind the others. Whose address is busy is seen when it is looked up, by the client
// (fetch.Busy): nothing was sent then, so the host goes back to be walked and waits in the queue of
// that address, of which one host at a time tries again: ten thousand names of one address cost one
// attempt a pause, and not ten thousand.
//
// Lanes are of one process: several walk one domain by as many doors at once.

// busyPause is how long an address that was busy is left alone until the next host tries it.
const busyPause = time.Second

// lane is the hosts of one domain.
type lane struct {
	busy    bool // one is walked, or about to be
	waiting []turn
}

// enter takes the lane of a host's domain, or puts the host among those that wait for it.
func (p *pump) enter(t turn) bool {
	domain := p.Domain(t.Host)
	l := p.lanes[domain]
	if l == nil {
		l = &lane{}
		p.lanes[domain] = l
	}
	if !l.busy {
		l.busy = true
		return true
	}
	l.waiting = queue(l.waiting, t)
	p.queued++
	return false
}

// queue puts a host behind those that wait, and before those of them that only declared themselves
// if it did more.
func queue(waiting []turn, t turn) []turn {
	at := len(waiting)
	if !t.SelfDeclared {
		if i := slices.IndexFunc(waiting, func(o turn) bool { return o.SelfDeclared }); i >= 0 {
			at = i
		}
	}
	return slices.Insert(waiting, at, t)
}

// leave frees the lane of a host's domain for the next, who is begun before all others.
func (p *pump) leave(t turn) {
	t.untry()
	domain := p.Domain(t.Host)
	l := p.lanes[domain]
	l.busy = false
	if len(l.waiting) == 0 {
		delete(p.lanes, domain)
		return
	}
	next := l.waiting[0]
	l.waiting = l.waiting[1:]
	p.queued--
	p.todo = slices.Insert(p.todo, 0, next)
}

// unqueue takes the hosts out of all lanes that a condition names, and returns them.
func (p *pump) unqueue(which func(turn) bool) (out []turn) {
	for domain, l := range p.lanes {
		l.waiting = slices.DeleteFunc(l.waiting, func(t turn) bool {
			gone := which(t)
			if gone {
				out = append(out, t)
			}
			return gone
		})
		if !l.busy && len(l.waiting) == 0 {
			delete(p.lanes, domain)
		}
	}
	for _, q := range p.parked {
		q.waiting = slices.DeleteFunc(q.waiting, func(t turn) bool {
			gone := which(t)
			if gone {
				out = append(out, t)
			}
			return gone
		})
	}
	p.queued -= len(out)
	p.returned = slices.DeleteFunc(p.returned, which)
	return out
}

// parked is the hosts that wait for one address.
type parked struct {
	waiting []turn
	trying  bool      // one of them was let go to try it
	until   time.Time // before that none is
}

// park puts a host back whose address is busy. Whoever tried first stays first.
func (p *pump) park(t turn, at netip.Addr) {
	q := p.parked[at]
	if q == nil {
		q = &parked{}
		p.parked[at] = q
	}
	first := t.tries == q
	t.untry()
	if q.until = time.Now().Add(busyPause); first {
		q.waiting = slices.Insert(q.waiting, 0, t)
	} else {
		q.waiting = queue(q.waiting, t)
	}
	p.queued++
	p.returned = append(p.returned, t)
}

// untry lets the next host try the address that this one was let go to, if any.
func (t *turn) untry() {
	if t.tries != nil {
		t.tries.trying, t.tries = false, nil
	}
}

// retry lets those try again whose time has come, one of each address.
func (p *pump) retry(now time.Time) {
	for at, q := range p.parked {
		switch {
		case q.trying || now.Before(q.until):
		case len(q.waiting) == 0:
			delete(p.parked, at)
		case !slices.ContainsFunc(p.returned, func(t turn) bool { return t.Host == q.waiting[0].Host }):
			next := q.waiting[0]
			q.trying, q.waiting = true, q.waiting[1:]
			next.tries = q
			p.queued--
			p.todo = slices.Insert(p.todo, 0, next)
		}
	}
}

// patient is the client of one walk. Its first request does not wait for a busy address, since the
// walk can be made later; those behind it do.
type patient struct {
	fetch.Asker
	made bool
}

// Do makes a request as the client does.
func (p *patient) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	for {
		x, err := p.Asker.Do(ctx, req, rule)
		if _, busy := errors.AsType[*fetch.Busy](err); !busy || !p.made {
			p.made = true
			return x, err
		}
		select {
		case <-time.After(busyPause / 10):
		case <-ctx.Done():
			x.Error = exchange.Error{Stage: exchange.StageDeadline,
				Text: "the time ran out while waiting for earlier requests"}
			return x, nil
		}
	}
}
