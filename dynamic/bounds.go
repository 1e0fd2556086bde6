package dynamic

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// How much of a process the connections of strangers may take. Most of a request's memory is its
// head, of which a store takes 96 KiB: whoever sends half of one, thousands of times, must not keep
// others out.
const (
	maxConns     = 4096     // in all
	maxConnsEach = 256      // of one client address (/64 of IPv6) that is no proxy's and not this machine's
	maxHeads     = 64 << 20 // bytes of heads under way, above which none may be longer than smallHead
	smallHead    = 16 << 10 // what stock clients send at most
)

// bounds are the connections of a listener.
type bounds struct {
	net.Listener
	s                            *Server
	most, each, heads, smallHead int

	mu    sync.Mutex // guards what follows
	of    map[netip.Prefix]map[*boundConn]struct{}
	all   int
	head  int
	shut  map[string]int // connections closed since it was told, by why
	since time.Time
}

// Bound bounds the connections that a listener takes, beneath TLS if there is any: Serve knows them
// again. What is closed at a bound is counted, and told once a minute.
func (s *Server) Bound(ln net.Listener) net.Listener {
	return &bounds{Listener: ln, s: s, most: maxConns, each: maxConnsEach, heads: maxHeads, smallHead: smallHead,
		of: map[netip.Prefix]map[*boundConn]struct{}{}, shut: map[string]int{}}
}

// boundConn is a connection that counts. Its Read belongs to one goroutine.
type boundConn struct {
	*net.TCPConn
	l    *bounds
	from netip.Prefix

	// What follows is guarded by l.mu.
	began   time.Time
	reading bool // a head, or the first bytes of one
	head    int  // bytes of it
	gone    bool
}

// Accept implements net.Listener.
func (l *bounds) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			return c, nil
		}
		b := &boundConn{TCPConn: tcp, l: l, began: time.Now(), reading: true}
		if at, ok := tcp.RemoteAddr().(*net.TCPAddr); ok {
			b.from = network(at.AddrPort().Addr())
		}
		if out := l.enter(b); out != nil {
			out.Close()
		}
		if !b.closed() {
			return b, nil
		}
	}
}

// network is the addresses that one subscriber holds.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits)
	return p
}

// enter counts a connection, and returns the one that has to go for it: itself where its address
// has as many as it may or more than any other, and else the oldest of the address with the most
// that is not being answered.
func (l *bounds) enter(b *boundConn) (out *boundConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[b.from] == nil {
		l.of[b.from] = map[*boundConn]struct{}{}
	}
	l.of[b.from][b] = struct{}{}
	l.all++
	switch a := b.from.Addr(); {
	case len(l.of[b.from]) > l.each && !a.IsLoopback() && !l.s.trusted(a):
		l.tell("connections of one address")
		return b
	case l.all > l.most:
		l.tell("connections")
		return l.oldest(b)
	}
	return nil
}

// oldest is the connection that goes for another.
func (l *bounds) oldest(b *boundConn) *boundConn {
	most := b.from
	for from, conns := range l.of {
		if len(conns) > len(l.of[most]) {
			most = from
		}
	}
	if most == b.from {
		return b
	}
	var out *boundConn
	for c := range l.of[most] {
		if c.reading && (out == nil || c.began.Before(out.began)) {
			out = c
		}
	}
	if out == nil {
		return b
	}
	return out
}

// tell counts a connection that is closed, and logs what was since the last minute.
func (l *bounds) tell(why string) {
	l.shut[why]++
	l.s.metrics.shut.WithLabelValues(why).Inc()
	if now := time.Now(); now.Sub(l.since) >= time.Minute {
		l.since = now
		for why, n := range l.shut {
			l.s.log.Warn("connections closed at a bound", slog.String("bound", why), slog.Int("closed", n),
				slog.Int("open", l.all))
		}
		clear(l.shut)
	}
}

func (b *boundConn) closed() bool {
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	return b.gone
}

// errHeads ends the reading of a head that there is no room for.
var errHeads = errors.New("too much is being read at once")

// Read implements net.Conn.
func (b *boundConn) Read(p []byte) (int, error) {
	n, err := b.TCPConn.Read(p)
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	if b.reading && !b.gone {
		b.head += n
		b.l.head += n
		if b.l.head > b.l.heads && b.head > b.l.smallHead {
			b.l.tell("heads under way")
			return 0, errHeads // net/http closes it
		}
	}
	return n, err
}

// read says that a head was read whole, and another one may follow.
func (b *boundConn) read(another bool) {
	if b == nil {
		return
	}
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	b.l.head -= b.head
	b.head, b.reading = 0, another
}

// Close implements net.Conn.
func (b *boundConn) Close() error {
	b.l.mu.Lock()
	if !b.gone {
		b.gone = true
		b.l.all--
		b.l.head -= b.head
		b.head = 0
		if delete(b.l.of[b.from], b); len(b.l.of[b.from]) == 0 {
			delete(b.l.of, b.from)
		}
	}
	b.l.mu.Unlock()
	return b.TCPConn.Close()
}

// boundOf is the counted connection beneath another, nil where there is none.
func boundOf(c net.Conn) *boundConn {
	switch c := c.(type) {
	case *boundConn:
		return c
	case *tls.Conn:
		return boundOf(c.NetConn())
	}
	return nil
}

// connState is told by net/http what a connection is at.
func connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateActive:
		boundOf(c).read(false)
	case http.StateIdle:
		boundOf(c).read(true)
	}
}
