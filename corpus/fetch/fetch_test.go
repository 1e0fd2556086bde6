package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

// names is a resolver that answers from a table and counts.
type names struct {
	mu     sync.Mutex
	asked  []string
	answer func(host string, times int) []netip.Addr // times it was asked before
	count  map[string]int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.asked = append(n.asked, host)
	a := n.answer(host, n.count[host])
	n.count[host]++
	if a == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.8.7:53", IsNotFound: true}
	}
	return a, nil
}

func always(addresses ...string) func(string, int) []netip.Addr {
	out := []netip.Addr{}
	for _, a := range addresses {
		out = append(out, netip.MustParseAddr(a))
	}
	return func(string, int) []netip.Addr { return out }
}

// detour stands behind the guard: it notes what it is asked to dial and goes to a loopback listener
// instead.
type detour struct {
	to string

	mu     sync.Mutex
	dialed []string
}

func (d *detour) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	d.dialed = append(d.dialed, address)
	d.mu.Unlock()
	var nd net.Dialer
	return nd.DialContext(ctx, network, d.to)
}

const public = "8.8.4.4"

// patience is a timeout that turns a hang into a failure. No machine is so slow that a request
// takes as long.
const patience = 5 * time.Minute

// door serves h over TLS and returns a client whose every name leads there.
func door(t *testing.T, h http.HandlerFunc, change func(*httptest.Server, *Config)) (*Client, *detour) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	d := &detour{to: s.Listener.Addr().String()}
	cfg := Config{UserAgent: "walker/1 (+https://store.test/bot)", Key: attest.SpecimenKey(),
		Agent:    "https://store.test",
		OwnHosts: []string{"store.test"}, Resolver: &names{answer: always(public)}, Dialer: d, Roots: roots,
		Timeout: patience}
	if change != nil {
		change(s, &cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, d
}

func get(t *testing.T, c *Client, url string) exchange.Exchange {
	t.Helper()
	x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: url}, Rule{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Encode(); err != nil {
		t.Errorf("what was recorded cannot be kept: %v", err)
	}
	return x
}

func TestWhatGoesOutAndComesBack(t *testing.T) {
	var seen *http.Request
	c, d := door(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(402)
		fmt.Fprint(w, "pay")
	}, nil)
	x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: "HTTPS://EXAMPLE.com.:443/a%20b?q=é",
		Header: http.Header{
			"Accept": {"application/json"}, "Cookie": {"secret"}, "Authorization": {"Bearer secret"},
			"user-agent": {"other"}, "X-Own": {"1"},
		}}, Rule{Headers: []string{"x-own", "cookie"}})
	if err != nil || x.Error.Stage != "" {
		t.Fatal(err, x.Error)
	}
	if x.Request.URL != "https://example.com/a%20b?q=%C3%A9" || seen.Host != "example.com" ||
		seen.RequestURI != "/a%20b?q=%C3%A9" {
		t.Errorf("requested %s as %s of %s", x.Request.URL, seen.RequestURI, seen.Host)
	}
	if x.Response.Status != 402 || string(x.Response.Body) != "pay" || x.Response.Header.Get("Set-Cookie") != "a=b" ||
		x.RemoteAddr != public+":443" || x.Response.Proto != "HTTP/2.0" {
		t.Errorf("recorded %+v", x)
	}
	want := http.Header{}
	for _, name := range []string{"Signature", "Signature-Input", "Signature-Agent"} {
		want[name] = seen.Header[name]
		if len(want[name]) != 1 {
			t.Errorf("%s is %q", name, want[name])
		}
	}
	want["Accept"], want["Accept-Encoding"], want["User-Agent"], want["X-Own"] = []string{"application/json"},
		[]string{"gzip"}, []string{"walker/1 (+https://store.test/bot)"}, []string{"1"}
	if diff := cmp.Diff(want, seen.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, x.Request.Header); diff != "" {
		t.Errorf("recorded headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{public + ":443"}, d.dialed); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}

func TestBodies(t *testing.T) {
	zip := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	const limit = 1000
	for name, row := range map[string]struct {
		coding    string
		body      []byte
		want      string
		truncated bool
		stage     string
	}{
		"empty":        {},
		"exactly full": {body: bytes.Repeat([]byte("a"), limit), want: strings.Repeat("a", limit)},
		"one more": {body: bytes.Repeat([]byte("a"), limit+1), want: strings.Repeat("a", limit),
			truncated: true},
		"gzip": {coding: "gzip", body: zip([]byte("hello")), want: "hello"},
		"bomb": {coding: "GZIP", body: zip(make([]byte, 64<<20)), want: string(make([]byte, limit)),
			truncated: true},
		"empty gzip":      {coding: "gzip"},
		"no gzip":         {coding: "gzip", body: []byte("hello there, this is text"), stage: exchange.StageBody},
		"broken gzip":     {coding: "gzip", body: zip([]byte("hello"))[:20], stage: exchange.StageBody, want: "hello"},
		"a coding unseen": {coding: "br", body: []byte("raw"), want: "raw"},
		"empty blocks": {coding: "gzip",
			body: append(zip(nil)[:10], bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, limit)...), truncated: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := door(t, func(w http.ResponseWriter, r *http.Request) {
				if row.coding != "" {
					w.Header().Set("Content-Encoding", row.coding)
				}
				w.Write(row.body)
			}, func(_ *httptest.Server, cfg *Config) { cfg.MaxBytes = limit })
			x := get(t, c, "https://example.com/")
			if string(x.Response.Body) != row.want || x.Response.Truncated != row.truncated ||
				x.Error.Stage != row.stage {
				t.Errorf("%d bytes, truncated %v, %+v", len(x.Response.Body), x.Response.Truncated, x.Error)
			}
		})
	}
}

func TestRedirectsAreOneHopOnTheHost(t *testing.T) {
	c, _ := door(t, func(w http.ResponseWriter, r *http.Request) {
		if to, ok := strings.CutPrefix(r.URL.RawQuery, "to="); ok {
			w.Header().Set("Location", strings.ReplaceAll(to, "%23", "#"))
			w.WriteHeader(302)
		}
	}, nil)
	for to, want := range map[string]string{
		"/next":                          "https://example.com/next",
		"https://example.com:443/next#x": "https://example.com/next",
		"//EXAMPLE.COM/next":             "https://example.com/next",
		"/?to=/again":                    "https://example.com/?to=/again",
		"https://127.0.0.1/":             "", "http://example.com/next": "", "https://other.com/next": "",
		"https://u@example.com/": "", "https://example.com:8443/": "",
	} {
		x, err := c.Do(t.Context(), exchange.Request{Method: "GET", URL: "https://example.com/?to=" +
			strings.ReplaceAll(to, "#", "%23")}, Rule{})
		if err != nil {
			t.Fatal(err)
		}
		next, _ := Hop(x)
		if got := next.URL; got != want || x.Response.Status != 302 {
			t.Errorf("to %s: goes on to %q, want %q", to, got, want)
		}
	}
}

func TestStages(t *testing.T) {
	plain := func(s *httptest.Server, _ *Config) { s.TLS.NextProtos = []string{"http/1.1"} }
	for name, row := range map[string]struct {
		change func(*httptest.Server, *Config)
		url    string
		want   exchange.Error // of a deadline: once the timeout suffices for what comes before
	}{
		"no name": {func(_ *httptest.Server, c *Config) {
			c.Resolver = &names{answer: func(string, int) []netip.Addr { return nil }}
		}, "https://example.com/",
			exchange.Error{Stage: exchange.StageResolve, Text: "no such name"}},
		"no address": {func(_ *httptest.Server, c *Config) { c.Resolver = &names{answer: always()} },
			"https://example.com/",
			exchange.Error{Stage: exchange.StageResolve, Text: "the name has no address"}},
		"nobody listens": {func(s *httptest.Server, c *Config) { s.Listener.Close() }, "https://example.com/",
			exchange.Error{Stage: exchange.StageConnect, Text: "connection refused"}},
		"unknown authority": {func(_ *httptest.Server, c *Config) { c.Roots = x509.NewCertPool() },
			"https://example.com/",
			exchange.Error{Stage: exchange.StageTLS, Text: "the certificate is signed by an unknown authority"}},
		"other name": {nil, "https://other.com/",
			exchange.Error{Stage: exchange.StageTLS, Text: `the certificate is not for "other.com"`}},
		"expired": {func(_ *httptest.Server, c *Config) {
			c.Now = func() time.Time { return time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC) }
		}, "https://example.com/",
			exchange.Error{Stage: exchange.StageTLS, Text: "the certificate has expired or is not yet valid"}},
		"no head": {nil, "https://example.com/hang-up", exchange.Error{Stage: exchange.StageHeaders, Text: ""}},
		"no head over HTTP/1.1": {plain, "https://example.com/hang-up",
			exchange.Error{Stage: exchange.StageHeaders, Text: "the connection was closed early"}},
		"half a body": {plain, "https://example.com/half",
			exchange.Error{Stage: exchange.StageBody, Text: "the connection was closed early"}},
		"slow": {nil, "https://example.com/slow", exchange.Error{Stage: exchange.StageDeadline,
			Text: "the time ran out at stage headers"}},
		"slow body": {nil, "https://example.com/slow-body",
			exchange.Error{Stage: exchange.StageDeadline, Text: "the time ran out at stage body"}},
		"many fields": {nil, "https://example.com/fields", exchange.Error{Stage: exchange.StageHeaders,
			Text: "the response has more than 256 header fields or 65536 bytes of them"}},
		"large head": {nil, "https://example.com/head", exchange.Error{Stage: exchange.StageHeaders, Text: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			wait := patience
			if row.want.Stage == exchange.StageDeadline {
				wait = 200 * time.Millisecond
			}
		again:
			c, _ := door(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/hang-up":
					panic(http.ErrAbortHandler)
				case "/half":
					w.Header().Set("Content-Length", "10")
					w.Write([]byte("begun"))
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				case "/slow":
					<-r.Context().Done()
				case "/slow-body":
					w.Write([]byte("begun"))
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				case "/fields":
					for i := range 300 {
						w.Header().Add("X", fmt.Sprint(i))
					}
				case "/head":
					w.Header().Set("X", strings.Repeat("a", 70<<10))
				}
			}, func(s *httptest.Server, c *Config) {
				c.Timeout = wait
				if row.change != nil {
					row.change(s, c)
				}
			})
			x := get(t, c, row.url)
			if wait < patience && x.Error != row.want {
				wait *= 5 // a slow machine was not yet where the door lets it wait
				goto again
			}
			if row.want.Text == "" {
				row.want.Text = x.Error.Text
			}
			if diff := cmp.Diff(row.want, x.Error); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(x.Error.Text, "127.0.0.1") || strings.Contains(x.Error.Text, "10.9.8.7") {
				t.Errorf("an address of ours in %q", x.Error.Text)
			}
			if row.url == "https://example.com/slow-body" && string(x.Response.Body) != "begun" {
				t.Errorf("body %q", x.Response.Body)
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	c, d := door(t, func(http.ResponseWriter, *http.Request) {}, nil)
	for _, req := range []exchange.Request{
		{Method: "DELETE", URL: "https://example.com/"}, {Method: "", URL: "https://example.com/"},
		{Method: "GET", URL: "https://example.com/", Body: []byte("x")},
		{Method: "POST", URL: "https://example.com/", Body: make([]byte, MaxRequestBody+1)},
		{Method: "POST", URL: "https://example.com/", Body: make([]byte, exchange.MaxBody+1)},
		{Method: "\xff", URL: "\xff"}, {Method: "GET", URL: strings.Repeat("é", exchange.MaxURL)},
	} {
		x, err := c.Do(t.Context(), req, Rule{})
		if _, ok := errors.AsType[*Refusal](err); !ok || x.Error.Stage != exchange.StageRefused {
			t.Errorf("%.40q: %v, %+v", req.Method+" "+req.URL, err, x.Error)
		}
		if _, err := x.Encode(); err != nil {
			t.Errorf("%.40q: %v", req.Method, err)
		}
	}
	if len(d.dialed) > 0 {
		t.Errorf("dialled %v", d.dialed)
	}
}

// TestHybridKeysAreForSecrets looks at the key exchanges that a door is offered: hybrid ones only
// where more than everybody's goes over the wire.
func TestHybridKeysAreForSecrets(t *testing.T) {
	var mu sync.Mutex
	var offered []tls.CurveID
	c, _ := door(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPaymentRequired) },
		func(s *httptest.Server, _ *Config) {
			s.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				mu.Lock()
				defer mu.Unlock()
				offered = hello.SupportedCurves
				return nil, nil
			}
		})
	for _, ask := range []struct {
		name   string
		req    exchange.Request
		rule   Rule
		secret bool
	}{
		{"a reading", exchange.Request{Method: http.MethodGet}, Rule{}, false},
		{"a payment", exchange.Request{Method: http.MethodGet}, Rule{Headers: []string{"Payment-Signature"}}, true},
		{"a message", exchange.Request{Method: http.MethodPost, Body: []byte(`{"to":"you"}`)}, Rule{}, true},
	} {
		ask.req.URL = "https://example.com/paid"
		x, err := c.Do(t.Context(), ask.req, ask.rule)
		if err != nil || x.Response.Status != http.StatusPaymentRequired {
			t.Fatalf("%s: %d, %v, %+v", ask.name, x.Response.Status, err, x.Error)
		}
		if got := slices.Contains(offered, tls.X25519MLKEM768); got != ask.secret {
			t.Errorf("%s offers %v", ask.name, offered)
		}
	}
}
