package fetch

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// lanes lets one request at a time go to a host, and spaces them.
type lanes struct {
	spacing time.Duration

	mu    sync.Mutex // guards what follows
	lanes map[string]*lane
	sweep int // size at which idle lanes are looked for
}

type lane struct {
	turn  chan struct{} // holds one token while nobody uses the host
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
		n = &lane{turn: make(chan struct{}, 1)}
		n.turn <- struct{}{}
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
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			n.turn <- struct{}{}
			out()
			return nil, ctx.Err()
		}
	}
	return func() {
		n.free = time.Now().Add(l.spacing)
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

// ways are the addresses to which a request is under way.
type ways struct {
	mu   sync.Mutex // guards busy
	busy map[netip.Addr]bool
}

// enter takes an address, or reports that it is not free. Where it need not be alone it always is.
func (w *ways) enter(a netip.Addr, alone bool) (leave func(), free bool) {
	if !alone {
		return func() {}, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[a] {
		return nil, false
	}
	if w.busy == nil {
		w.busy = map[netip.Addr]bool{}
	}
	w.busy[a] = true
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.busy, a)
	}), true
}

// held is a connection that has its address until it is closed.
type held struct {
	net.Conn
	leave func()
}

func (h *held) Close() error {
	defer h.leave()
	return h.Conn.Close()
}
