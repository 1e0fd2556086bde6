package dynamic

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// warm asks for every small file in every coding once, so that it is in memory.
func warm(t testing.TB, s *Server) {
	t.Helper()
	for target, p := range s.site.current.Load().pages {
		for _, mediaType := range p.types {
			ask(t, s, "GET", target, "Accept", mediaType)
		}
	}
}

const get = "GET /what.md HTTP/1.1\r\nHost: store.example\r\n\r\n"

// same demands that the express lane's answer to the request at the beginning of b, if it has one,
// is the one that net/http gives, and that both end the request at the same byte. It reports
// whether there was an answer.
func same(t *testing.T, s *Server, b []byte) bool {
	t.Helper()
	a, size := s.express(b)
	if a == nil {
		return false
	}
	in := bytes.NewReader(b)
	buffered := bufio.NewReader(in)
	r, err := http.ReadRequest(buffered)
	if err != nil {
		t.Fatalf("%q was answered, but net/http refuses it: %v", b, err)
	}
	if used := len(b) - in.Len() - buffered.Buffered(); used != size {
		t.Fatalf("%q: %d bytes used, net/http uses %d", b, size, used)
	}
	if r.ContentLength != 0 || r.Close || len(r.TransferEncoding) > 0 {
		t.Fatalf("%q was answered, but it has a body or ends the connection", b)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	want := rec.Result()
	wire := append(append(bytes.Clone(a.head), s.date(time.Now())...), a.body...)
	got, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(wire)), r)
	if err != nil {
		t.Fatalf("%q: the answer cannot be read: %v", b, err)
	}
	if got.Header.Get("Date") == "" {
		t.Errorf("%q: no Date", b)
	}
	got.Header.Del("Date")
	if d := cmp.Diff(got.Header, want.Header); d != "" || got.StatusCode != want.StatusCode ||
		body(t, got) != body(t, want) {
		t.Fatalf("%q: status %d, net/http says %d; fields got - want +\n%s", b, got.StatusCode, want.StatusCode, d)
	}
	return true
}

func TestExpressAnswersAsNetHTTPDoes(t *testing.T) {
	s := testServer(t)
	warm(t, s)
	const host = " HTTP/1.1\r\nHost: store.example\r\n"
	for request, want := range map[string]bool{
		get:                     true,
		get + get:               true,
		"GET /" + host + "\r\n": true,
		"GET /" + host + "Accept: text/markdown, text/html, */*\r\nAccept-Encoding: gzip, br\r\n" +
			"User-Agent: x\r\n\r\n": true,
		"GET /" + host + "ACCEPT-ENCODING:gzip\r\nConnection: Keep-Alive\r\nCookie: a=b\r\n\r\n": true,
		"GET /menu/hello" + host +
			"Accept: text/html\r\n\r\n": true, "GET /style.css HTTP/1.1\r\nhost: [::1]:4020\r\n\r\n": true,
		// Not for the express lane.
		"GET /bulk/rows.jsonl" + host + "\r\n":                                                        false,
		"GET /no/such" + host + "\r\n":                                                                false,
		"GET /what.md?x=1" + host + "\r\n":                                                            false,
		"GET /what%2emd" + host + "\r\n":                                                              false,
		"HEAD /what.md" + host + "\r\n":                                                               false,
		"POST /what.md" + host + "\r\n":                                                               false,
		"GET /what.md HTTP/1.0\r\nHost: a\r\n\r\n":                                                    false,
		"GET /what.md HTTP/1.1\r\n\r\n":                                                               false,
		"GET /what.md HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n":                                         false,
		"GET /what.md HTTP/1.1\r\nHost: a/b\r\n\r\n":                                                  false,
		"GET /what.md HTTP/1.1\r\nHost:\r\n\r\n":                                                      false,
		"GET http://store.example/what.md" + host + "\r\n":                                            false,
		"GET //what.md" + host + "\r\n":                                                               false,
		"GET  /what.md" + host + "\r\n":                                                               false,
		"GET /what.md" + host + "Content-Length: 0\r\n\r\n":                                           false,
		"GET /what.md" + host + "Transfer-Encoding: chunked\r\n\r\n":                                  false,
		"GET /what.md" + host + "Connection: close\r\n\r\n":                                           false,
		"GET /what.md" + host + "Connection: upgrade\r\n\r\n":                                         false,
		"GET /what.md" + host + "Expect: 100-continue\r\n\r\n":                                        false,
		"GET /what.md" + host + "If-None-Match: *\r\n\r\n":                                            false,
		"GET /what.md" + host + "Range: bytes=0-1\r\n\r\n":                                            false,
		"GET /what.md" + host + "PAYMENT-SIGNATURE: x\r\n\r\n":                                        false,
		"GET /what.md" + host + "Accept: a\r\n b\r\n\r\n":                                             false,
		"GET /what.md" + host + "Accept : a\r\n\r\n":                                                  false,
		"GET /what.md" + host + " Accept: a\r\n\r\n":                                                  false,
		"GET /what.md" + host + "Accept: a\rb\r\n\r\n":                                                false,
		"GET /what.md" + host + "Accept: a\nContent-Length: 5\r\n\r\n":                                false,
		"GET /what.md" + host + "Accept: a\x00\r\n\r\n":                                               false,
		"GET /what.md" + host + strings.Repeat("X", 40) + ": a\r\n\r\n":                               false,
		"GET /what.md HTTP/1.1\nHost: a\n\n":                                                          false,
		"GET /what.md HTTP/1.1\r\nHost: a\r\n":                                                        false,
		"GET /what" + host + "Accept: text/html;q=0, text/markdown;q=0, application/json;q=0\r\n\r\n": false,
		"": false,
	} {
		if got := same(t, s, []byte(request)); got != want {
			t.Errorf("%q answered: %v, want %v", request, got, want)
		}
	}
}

// FuzzExpress: whatever the express lane answers, net/http answers in the same way.
func FuzzExpress(f *testing.F) {
	s := testServer(f)
	warm(f, s)
	for _, seed := range []string{get, "GET / HTTP/1.1\r\nHost: a\r\nAccept: text/markdown\r\nAccept-Encoding: " +
		"br;q=0.5, gzip\r\n\r\nrest",
		"GET /menu/hello HTTP/1.1\r\nHost: a\r\nCookie: \t x \r\nConnection: keep-alive\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) { same(t, s, b) })
}

// serve runs a server on loopback until the test ends.
func serve(t *testing.T, s *Server) (address string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	stop = func() error { cancel(); return <-done }
	return ln.Addr().String(), stop
}

// TestOneConnection: requests for both lanes, whole, in pieces and several at once, are answered in
// their order.
func TestOneConnection(t *testing.T) {
	s := fullServer(t, Config{})
	warm(t, s)
	address, stop := serve(t, s)
	echo := "GET /test/echo/abc?n=3 HTTP/1.1\r\nHost: store.example\r\n\r\n"
	post := "POST /test/post HTTP/1.1\r\nHost: store.example\r\nContent-Type: application/json\r\nContent-Length: " +
		"12\r\n\r\n{\"say\":\"hi\"}"
	for name, writes := range map[string][]string{
		"one by one":        {get, echo, get, post, get},
		"all at once":       {get + get + echo + get + post + get},
		"the other lane":    {echo + get + get},
		"in pieces":         {get[:10], get[10:], get},
		"cut in the second": {get + get[:30], get[30:] + echo},
		"cut in the body":   {get + post[:len(post)-5], post[len(post)-5:] + get},
		"a request as a body": {"POST /test/post HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n" +
			fmt.Sprintf("Content-Length: %d\r\n\r\n", len(get)) + get, get},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() {
				for _, w := range writes {
					if _, err := io.WriteString(conn, w); err != nil {
						return
					}
				}
			}()
			answers := bufio.NewReader(conn)
			all := strings.Join(writes, "")
			sent := bufio.NewReader(strings.NewReader(all))
			for {
				r, err := http.ReadRequest(sent)
				if err != nil {
					break
				}
				io.Copy(io.Discard, r.Body)
				res, err := http.ReadResponse(answers, r)
				if err != nil {
					t.Fatalf("%s %s: %v", r.Method, r.URL, err)
				}
				text := body(t, res)
				want := map[string]string{"/what.md": "what\n", "/test/echo/abc": `"n":3`, "/test/post": ""}[r.URL.Path]
				if !strings.Contains(text, want) || res.StatusCode >= 500 {
					t.Errorf("%s %s: %d %q", r.Method, r.URL, res.StatusCode, text)
				}
			}
		})
	}
	if err := stop(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// pair is an express connection and its client's end.
func pair(t *testing.T, s *Server) (*expressConn, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := expressListener{ln, s}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); conn.Close() })
	return conn.(*expressConn), client
}

// TestDeadlinesAfterTheExpressLane: net/http counts its time for the first request from the start
// of the connection, which must not end a request that begins much later.
func TestDeadlinesAfterTheExpressLane(t *testing.T) {
	s := testServer(t)
	warm(t, s)
	c, client := pair(t, s)
	c.started = time.Now().Add(-time.Hour)
	if _, err := io.WriteString(client, get+"POST / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	if err != nil || string(buf[:n]) != "POST / HTTP/1.1\r\n" {
		t.Fatalf("Read = %q, %v", buf[:n], err)
	}
	if err := c.SetReadDeadline(c.started.Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(client, "Host: a\r\n"); err != nil {
		t.Fatal(err)
	}
	if n, err = c.Read(buf); err != nil || string(buf[:n]) != "Host: a\r\n" {
		t.Fatalf("Read = %q, %v", buf[:n], err)
	}
	// Later deadlines are taken as they are.
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err = c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read past a deadline = %v", err)
	}
}

// TestCloseWaitsForAnAnswer that is being written.
func TestCloseWaitsForAnAnswer(t *testing.T) {
	s := testServer(t)
	c, _ := pair(t, s)
	c.writing.Lock()
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	if _, err := c.tcpConn.Write([]byte("x")); err != nil {
		t.Fatalf("closed while an answer was written: %v", err)
	}
	select {
	case <-closed:
		t.Error("Close did not wait")
	default:
	}
	c.writing.Unlock()
	<-closed
}
