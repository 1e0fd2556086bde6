package fetch

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"
)

// lanes lets one request at a time go to a host, and spaces them; or several, which are not spaced.
type lanes struct {
	spacing time.Duration
	wide    int // requests to a host at once; 0 is one

	mu    sync.Mutex // guards what follows
	lanes map[string]*lane
	sweep int // size at which idle lanes are looked for
}

type lane struct {
	turn  chan struct{} // holds a token for each request that may go to the host
	users int           // those in the lane or waiting for it, guarded by lanes.mu
	// when the next may begin; owned by the holder of the token, or guarded by lanes.mu when users
	// is 0
	free time.Time
}

// enter waits until the host is free and returns what gives it free again.
func (l *lanes) enter(ctx context.Context, host string) (leave func(), err error) {
	l.mu.Lock()
	n := l.lanes[host]
	if n == nil {
		l.tidy()
		n = &lane{turn: make(chan struct{}, max(l.wide, 1))}
		for range cap(n.turn) {
			n.turn <- struct{}{}
		}
		l.lanes[host] = n
	}
	n.users++
	l.mu.Unlock()
	out := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if n.users--; n.users == 0 && l.spacing == 0 {
			delete(l.lanes, host)
		}
	}
	select {
	case <-n.turn:
	case <-ctx.Done():
		out()
		return nil, ctx.Err()
	}
	if wait := time.Until(n.free); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			n.turn <- struct{}{}
			out()
			return nil, ctx.Err()
		}
	}
	return func() {
		if l.spacing > 0 { // then there is one holder
			n.free = time.Now().Add(l.spacing)
		}
		n.turn <- struct{}{}
		out()
	}, nil
}

// tidy forgets idle lanes when the map has doubled since the last time.
func (l *lanes) tidy() {
	if l.lanes == nil {
		l.lanes, l.sweep = map[string]*lane{}, 256
	}
	if len(l.lanes) < l.sweep {
		return
	}
	now := time.Now()
	for host, n := range l.lanes {
		if n.users == 0 && !n.free.After(now) {
			delete(l.lanes, host)
		}
	}
	l.sweep = max(256, 2*len(l.lanes))
}

// ways are the addresses to which one request at a time goes, spaced as those to a host are.
type ways struct {
	alone   bool // else every address is free at any time
	spacing time.Duration

	mu    sync.Mutex // guards what follows
	taken map[netip.Addr]way
	sweep int // size at which those that are free are looked for
}

// way is an address that is being asked, or was.
type way struct {
	host  string    // by this name
	until time.Time // when it is free again; the zero time while it is asked
}

// free reports whether a host may be asked there. The one that was asked last has a start on the
// others, so that a walk which has begun is not held up by those that wait to begin.
func (w way) free(host string, spacing time.Duration) bool {
	until := w.until
	if host != w.host {
		until = until.Add(spacing / 4)
	}
	return !w.until.IsZero() && !time.Now().Before(until)
}

// enter takes an address for a host, or reports that it is not free.
func (w *ways) enter(a netip.Addr, host string) (leave func(), free bool) {
	if !w.alone {
		return func() {}, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, asked := w.taken[a]; asked && !last.free(host, w.spacing) {
		return nil, false
	}
	w.tidy()
	w.taken[a] = way{host: host}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.spacing == 0 {
			delete(w.taken, a)
			return
		}
		w.taken[a] = way{host, time.Now().Add(w.spacing)}
	}), true
}

// tidy forgets the addresses that are free when the map has doubled since the last time.
func (w *ways) tidy() {
	if w.taken == nil {
		w.taken, w.sweep = map[netip.Addr]way{}, 256
	}
	if len(w.taken) < w.sweep {
		return
	}
	maps.DeleteFunc(w.taken, func(_ netip.Addr, last way) bool { return last.free("", w.spacing) })
	w.sweep = max(256, 2*len(w.taken))
}

// leasedConn is a connection that has its address until it is closed.
type leasedConn struct {
	net.Conn
	leave func()
}

func (h *leasedConn) Close() error {
	defer h.leave()
	return h.Conn.Close()
}
