package dynamic

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// bound serves on a listener with bounds, all addresses being strangers'.
func bound(t *testing.T, change func(*bounds)) (l *bounds, addr string) {
	t.Helper()
	s := testServer(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = s.Bound(ln).(*bounds)
	change(l)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if l.mu.Lock(); l.all != 0 || l.head != 0 || len(l.of) != 0 {
			t.Errorf("%d connections and %d bytes are counted when all are closed", l.all, l.head)
		}
		l.mu.Unlock()
	})
	return l, ln.Addr().String()
}

// half sends the beginning of a head.
func half(t *testing.T, addr string, n int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: %s", strings.Repeat("x", n))
	return c
}

// ended waits for the end of a connection.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Fatal("the connection is open")
	}
}

func honest(t *testing.T, addr string) {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Get("http://" + addr + "/api/nothing")
	if err != nil {
		t.Fatalf("an honest request: %v", err)
	}
	resp.Body.Close()
}

// Where there are as many connections as there may be, the oldest that only waits goes for a new
// one, of whichever address has most; one that is being answered stays.
func TestConnectionsHaveABound(t *testing.T) {
	l, addr := bound(t, func(l *bounds) { l.most = 6 })
	other := netip.MustParsePrefix("192.0.2.1/32")
	var first []net.Conn
	for range 6 {
		first = append(first, half(t, addr, 10))
	}
	waitFor(t, l, func() bool { return l.all == 6 })
	l.mu.Lock() // they are another's
	l.of[other] = l.of[netip.MustParsePrefix("127.0.0.1/32")]
	delete(l.of, netip.MustParsePrefix("127.0.0.1/32"))
	for c := range l.of[other] {
		c.from = other
	}
	l.mu.Unlock()
	honest(t, addr)
	ended(t, first[0])
	honest(t, addr)
}

// Heads that are not whole take so much memory together and no more; short ones are read on.
func TestHeadsHaveABound(t *testing.T) {
	l, addr := bound(t, func(l *bounds) { l.heads, l.smallHead = 100<<10, 4<<10 })
	var long []net.Conn
	for range 4 {
		c := half(t, addr, 30<<10)
		long = append(long, c)
	}
	honest(t, addr)
	go func() { // more than fits: some of them end
		for _, c := range long {
			c.Write(make([]byte, 30<<10))
		}
	}()
	honest(t, addr)
	waitFor(t, l, func() bool { return l.head <= 130<<10 && l.all < 4 })
	for _, c := range long {
		c.Close()
	}
	waitFor(t, l, func() bool { return l.head == 0 })
	// A connection that is kept counts each of its heads anew.
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for range 20 {
		fmt.Fprintf(c, "GET /api/nothing HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 8<<10))
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// One address has so many connections, whatever the others have.
func TestAnAddressHasABound(t *testing.T) {
	l := (&Server{metrics: NewMetrics()}).Bound(nil).(*bounds)
	l.s.log = slog.New(slog.DiscardHandler)
	l.each = 3
	enter := func(addr string) bool {
		return l.enter(&boundConn{l: l, from: network(netip.MustParseAddr(addr))}) == nil
	}
	for i, c := range []struct {
		addr string
		ok   bool
	}{{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"192.0.2.2", true},
		{"2001:db8::1", true}, {"2001:db8::2", true}, {"2001:db8::3", true}, {"2001:db8::4", false},
		{"2001:db8:0:1::4", true}, {"127.0.0.1", true}, {"127.0.0.1", true}, {"127.0.0.1", true}, {"127.0.0.1", true}} {
		if ok := enter(c.addr); ok != c.ok {
			t.Errorf("connection %d, of %s: %v, want %v", i, c.addr, ok, c.ok)
		}
	}
}

func waitFor(t *testing.T, l *bounds, f func() bool) {
	t.Helper()
	for range 2000 {
		l.mu.Lock()
		ok := f()
		l.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%d connections and %d bytes of heads are open", l.all, l.head)
}
