package dynamic

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"store.example/agentstore/dynamic/route"
)

// The express lane answers plain requests for small published files before net/http sees the
// connection. It is a phase at the beginning of a connection: as long as whole, simple GET requests
// for paths of the tree arrive, they are answered here; the first bytes that are anything else, and
// all that follow, are net/http's, for good. So the two never share the reading of a request, and
// what is not understood here is never judged here.
//
// It is worth its lines because a served page costs net/http a goroutine, four timers, three maps
// and a sort of the header fields, which together are more than the work itself.

// expressBuffer bounds a request that is answered in the express lane.
const expressBuffer = 8 << 10

// expressListener hands out connections with an express lane.
type expressListener struct {
	net.Listener
	s *Server
}

// Accept waits for the next connection.
func (l expressListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(tcpConn); ok && l.s.site != nil {
		return &expressConn{tcpConn: tcp, s: l.s, started: time.Now()}, nil
	}
	return c, nil
}

// tcpConn is a connection of TCP, which no other is: *net.TCPConn, or a *boundConn.
type tcpConn interface {
	net.Conn
	io.ReaderFrom
	io.WriterTo
	SetLinger(sec int) error
}

// expressConn is a connection that begins in the express lane. Its Read belongs to the one
// goroutine of net/http that serves the connection; Close may come from others.
type expressConn struct {
	tcpConn
	s       *Server
	started time.Time

	left   bool   // the lane: everything is net/http's now
	rest   []byte // read here, still to be handed over
	served int
	timed  time.Time   // when deadlines were set last
	adjust atomic.Bool // net/http's first read deadline counts from the start of the connection

	gathered *[]byte // of an answer that is sent when it is whole; nil: none is

	writing sync.Mutex // held while an answer is written, so that a stop does not cut it off
}

// Read answers what it can and returns the first bytes that are not for the express lane.
func (c *expressConn) Read(p []byte) (int, error) {
	if !c.left {
		if err := c.express(); err != nil {
			return 0, err
		}
	}
	if len(c.rest) > 0 {
		n := copy(p, c.rest)
		if c.rest = c.rest[n:]; len(c.rest) == 0 {
			c.rest = nil
		}
		return n, nil
	}
	return c.tcpConn.Read(p)
}

// buffers are those of connections whose request is being read or answered.
var buffers = sync.Pool{New: func() any { return new([expressBuffer]byte) }}

// express serves requests until one comes that is not for it.
func (c *expressConn) express() error {
	buf := buffers.Get().(*[expressBuffer]byte)
	defer buffers.Put(buf)
	for {
		n, err := c.tcpConn.Read(buf[:])
		if err != nil {
			c.left = true
			return err
		}
		for b := buf[:n]; len(b) > 0; {
			a, size := c.s.express(b)
			if a == nil {
				c.left = true
				c.rest = bytes.Clone(b)
				return c.leave()
			}
			if err := c.write(a); err != nil {
				c.left = true
				return err
			}
			b = b[size:]
		}
	}
}

// leave gives the request that net/http is going to read the time it would have had on a new
// connection.
func (c *expressConn) leave() error {
	if c.served == 0 {
		return nil
	}
	c.adjust.Store(true)
	return c.tcpConn.SetReadDeadline(time.Now().Add(c.s.limits.ReadHeader))
}

// SetReadDeadline is called by net/http. Its deadline for the whole first request counts from the
// beginning of the connection, which may be long ago; then it counts from now.
func (c *expressConn) SetReadDeadline(t time.Time) error {
	if c.adjust.Swap(false) && t.After(c.started) {
		t = time.Now().Add(c.s.limits.Read)
	}
	return c.tcpConn.SetReadDeadline(t)
}

// write sends an answer. Deadlines are moved once a second, which is exact enough for them.
func (c *expressConn) write(a *answer) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	now := time.Now()
	if now.Sub(c.timed) > time.Second {
		c.timed = now
		if err := c.tcpConn.SetReadDeadline(now.Add(c.s.limits.Idle)); err != nil {
			return err
		}
		if err := c.tcpConn.SetWriteDeadline(now.Add(c.s.limits.Write)); err != nil {
			return err
		}
	}
	c.served++
	boundOf(c).read(true)
	parts := net.Buffers{a.head, c.s.date(now), a.body}
	if total := len(a.head) + len(a.body) + 64; total <= expressBuffer {
		// One copy is cheaper than a vectored write.
		buf := buffers.Get().(*[expressBuffer]byte)
		defer buffers.Put(buf)
		b := buf[:0]
		for _, p := range parts {
			b = append(b, p...)
		}
		_, err := c.tcpConn.Write(b)
		return err
	}
	_, err := parts.WriteTo(c.tcpConn)
	return err
}

// Close waits for an answer that is being written, but not for a client that does not read it.
func (c *expressConn) Close() error {
	if !c.writing.TryLock() {
		if err := c.tcpConn.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
			return c.tcpConn.Close()
		}
		c.writing.Lock()
	}
	defer c.writing.Unlock()
	return c.tcpConn.Close()
}

// dated is a Date field, with the empty line that ends a header.
type dated struct {
	second int64
	line   []byte
}

func (s *Server) date(now time.Time) []byte {
	d := s.dateLine.Load()
	if sec := now.Unix(); d == nil || d.second != sec {
		d = &dated{sec, []byte("Date: " + now.UTC().Format(http.TimeFormat) + "\r\n\r\n")}
		s.dateLine.Store(d)
	}
	return d.line
}

// express finds the answer to the request at the beginning of b and its size, or nil if it is not
// for the express lane: not whole, not simple, or not for a small file that is in memory.
func (s *Server) express(b []byte) (*answer, int) {
	q, size := parseSimple(b)
	if size == 0 {
		return nil, 0
	}
	snap := s.site.current.Load()
	p := snap.pages[string(q.target)]
	if p == nil {
		return nil, 0
	}
	i := 0
	if len(p.reps) > 1 {
		if i = route.Negotiate(string(q.accept), p.types); i < 0 {
			return nil, 0
		}
	}
	all := p.reps[i].prepared.Load()
	if all == nil {
		return nil, 0 // the first request for a file goes the long way
	}
	c := identity
	if len(q.encoding) > 0 && (all[brotlied] != nil || all[gzipped] != nil) {
		c = chooseCoding(string(q.encoding), [codings]bool{true, all[brotlied] != nil, all[gzipped] != nil})
	}
	a := all[c]
	if a.body == nil {
		return nil, 0
	}
	p.label.m.count(http.StatusOK)
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.LogAttrs(context.Background(), slog.LevelDebug, "request", slog.String("method", http.MethodGet),
			slog.String("route", p.label.name), slog.Int("status", http.StatusOK))
	}
	return a, size
}

// simple is what the express lane needs to know of a request.
type simple struct {
	target, accept, encoding []byte
}

// parseSimple reads one whole request of the form
//
//	GET /path HTTP/1.1
//
// with one Host and no field but those that change nothing about a static answer. It returns a size
// of 0 for all else. Strict on purpose: what it takes, net/http takes too and understands in the
// same way.
func parseSimple(b []byte) (q simple, size int) {
	line, rest, ok := bytes.Cut(b, crlf)
	if !ok {
		return q, 0
	}
	if q.target = plainTarget(line); q.target == nil {
		return q, 0
	}
	hosts := 0
	for {
		if line, rest, ok = bytes.Cut(rest, crlf); !ok {
			return q, 0
		}
		if len(line) == 0 {
			break
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return q, 0
		}
		value = bytes.Trim(value, " \t")
		for _, c := range value {
			if c < ' ' && c != '\t' || c >= 0x7f {
				return q, 0
			}
		}
		switch lower := lowered(name); string(lower[:min(len(name), len(lower))]) {
		case "host":
			hosts++
			if !plainHost(value) {
				return q, 0
			}
		case "connection":
			if !bytes.EqualFold(value, []byte("keep-alive")) {
				return q, 0
			}
		case "accept":
			if q.accept != nil {
				return q, 0
			}
			if bytes.Contains(value, eventStream) {
				return q, 0 // which no file is: see streams
			}
			q.accept = value
		case "accept-encoding":
			if q.encoding != nil {
				return q, 0
			}
			q.encoding = value
		case "user-agent", "accept-language", "cache-control", "pragma", "dnt", "origin", "referer", "cookie",
			"priority", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "sec-ch-ua",
			"sec-ch-ua-mobile", "sec-ch-ua-platform", "sec-gpc", "upgrade-insecure-requests", "x-forwarded-for",
			"x-forwarded-proto", "x-real-ip", "via":
		default:
			return q, 0
		}
	}
	if hosts != 1 {
		return q, 0
	}
	return q, len(b) - len(rest)
}

var (
	crlf        = []byte("\r\n")
	eventStream = []byte("event-stream")
)

// plainTarget is the path of a request line that asks for nothing but a path, nil of any other.
func plainTarget(line []byte) []byte {
	line, ok := bytes.CutPrefix(line, []byte("GET "))
	if !ok {
		return nil
	}
	target, ok := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	if !ok || len(target) == 0 || target[0] != '/' {
		return nil
	}
	for _, c := range target {
		// Escapes and queries are net/http's.
		if c <= ' ' || c >= 0x7f || c == '%' || c == '?' || c == '#' {
			return nil
		}
	}
	return target
}

// lowered is a field name in lower case; one that is longer than any of ours comes out as none of
// them.
func lowered(name []byte) (out [32]byte) {
	if len(name) > len(out) {
		return out
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// plainHost reports whether a Host is a name or address with an optional port, without anything
// unusual.
func plainHost(value []byte) bool {
	for _, c := range value {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == ':', c == '[',
			c == ']':
		default:
			return false
		}
	}
	return len(value) > 0
}
