package census

import (
	"context"
	"errors"
	"slices"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/walk"
)

// One door of a registrable domain is walked at a time, and one of an address, whatever the names:
// many names would aim every worker at one place, and hold up all others while that place is slow.
// A host whose domain is being walked waits for its turn, those that only declared themselves
// behind the others. Whose address is busy is seen when it is looked up, by the client
// (fetch.Busy): nothing was sent then, so the host goes back to be walked and is tried again.
//
// Lanes are of one process: several walk one domain by as many doors at once.

// busyPause is how long a host whose address is busy waits until it is tried again.
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
	at := len(l.waiting)
	if !t.SelfDeclared {
		if i := slices.IndexFunc(l.waiting, func(o turn) bool { return o.SelfDeclared }); i >= 0 {
			at = i
		}
	}
	l.waiting = slices.Insert(l.waiting, at, t)
	p.queued++
	return false
}

// leave frees the lane of a host's domain for the next, who is begun before all others.
func (p *pump) leave(t turn) {
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
	p.queued -= len(out)
	p.parked = slices.DeleteFunc(p.parked, func(k parked) bool {
		gone := which(k.turn)
		if gone {
			out = append(out, k.turn)
		}
		return gone
	})
	return out
}

// parked is a host whose address was busy.
type parked struct {
	turn
	until   time.Time
	pending bool // that it goes back is not written yet
}

// park puts a host back whose address is busy.
func (p *pump) park(t turn) {
	p.parked = append(p.parked, parked{turn: t, until: time.Now().Add(busyPause), pending: true})
}

// unpark lets those try again whose time has come.
func (p *pump) unpark(now time.Time) {
	p.parked = slices.DeleteFunc(p.parked, func(k parked) bool {
		back := !k.pending && !now.Before(k.until)
		if back {
			p.todo = append(p.todo, k.turn)
		}
		return back
	})
}

// patient is the client of one walk. Its first request does not wait for a busy address, since the
// walk can be made later; those behind it do.
type patient struct {
	walk.Client
	made bool
}

// Do makes a request as the client does.
func (p *patient) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	for {
		x, err := p.Client.Do(ctx, req, rule)
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
