package evm_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// recorder is a log that calls back with each line.
type recorder struct {
	strings.Builder
	line func()
}

func (r *recorder) Write(b []byte) (int, error) {
	defer r.line()
	return r.Builder.Write(b)
}

func TestLogsNameNoAddress(t *testing.T) {
	h := openOn(t, 8453)
	ctx, cancel := context.WithCancel(t.Context())
	log := &recorder{line: cancel} // the watcher stops at its first complaint
	cfg := h.cfg
	cfg.RPC, cfg.Log = []string{"http://127.0.0.1:1/v2/secret"}, slog.New(slog.NewTextHandler(log, nil))
	if err := newRail(t, cfg).Run(ctx); err != nil {
		t.Errorf("Run = %v", err)
	}
	if got := log.String(); !strings.Contains(got, "127.0.0.1:1") || strings.Contains(got, "secret") {
		t.Errorf("logged %q, want the host and no secret", got)
	}
}

// counter is a node in front of which requests are counted, and answered by meddle where it wants
// to.
type counter struct {
	requests atomic.Int64
	meddle   atomic.Pointer[func(body string, w http.ResponseWriter) (done bool)]
}

func (c *counter) front(t *testing.T, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c.requests.Add(1)
		if f := c.meddle.Load(); f != nil && (*f)(string(body), w) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Payments that wait, and payments that are found, cost no request while the watcher is live.
func TestWaitingIsFree(t *testing.T) {
	h := openOn(t, 8453)
	var c counter
	h.cfg.RPC = []string{c.front(t, h.URL)}
	h.cfg.Poll = time.Minute // one poll at the start, then only after a Send
	r := newRail(t, h.cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	changed := r.Changed()
	wg.Go(func() { r.Run(ctx) })
	<-changed
	p, signed, seen := buy(t, h, r, terms(500_000))
	before := c.requests.Load()
	for range 1000 {
		f, err := r.Status(t.Context(), p, signed, seen, time.Now())
		if err != nil || f.State != rail.Waiting || f.Advice != rail.Wait {
			t.Fatalf("Status = %+v, %v", f, err)
		}
	}
	if n := c.requests.Load() - before; n > 5 { // the watcher's own, after the Send
		t.Errorf("%d requests for 1000 looks", n)
	}
}

// An answer lost after the broadcast is an error of Send, and the payment lands.
func TestAnswerLostAfterBroadcast(t *testing.T) {
	h := openOn(t, 8453)
	var c counter
	h.cfg.RPC = []string{c.front(t, h.URL)}
	r := newRail(t, h.cfg)
	want := r.Requirement(500_000)
	p, err := r.Parse(h.Sign(terms(500_000)), want)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := r.Verify(t.Context(), p, want, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Draft(t.Context(), []*rail.Payment{p})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Sign(railtest.NewSequence())
	if err != nil {
		t.Fatal(err)
	}
	lose := func(body string, w http.ResponseWriter) bool {
		if !strings.Contains(body, "eth_sendRawTransaction") {
			return false
		}
		resp, err := http.Post(h.URL, "application/json", strings.NewReader(body))
		if err == nil {
			resp.Body.Close()
		}
		w.WriteHeader(http.StatusGatewayTimeout)
		return true
	}
	c.meddle.Store(&lose)
	if err := r.Send(t.Context(), s); err == nil {
		t.Error("Send says nothing of a lost answer")
	}
	c.meddle.Store(nil)
	h.Seal()
	if f, err := r.Status(t.Context(), p, []rail.Signed{s}, seen, time.Now()); err != nil || f.State != rail.Paid {
		t.Errorf("Status = %+v, %v", f, err)
	}
	if err := r.Send(t.Context(), s); err != nil {
		t.Errorf("Send of what is mined = %v", err)
	}
}

// A node that is still indexing, or broken in any other way, leaves the outcome unknown and never
// dead.
func TestUnknownIsNotDead(t *testing.T) {
	h := openOn(t, 8453)
	var c counter
	h.cfg.RPC = []string{c.front(t, h.URL)}
	r := newRail(t, h.cfg)
	p, signed, seen := buy(t, h, r, terms(500_000))
	h.Seal()
	h.Chain.Pass(time.Hour) // past validBefore, and paid before
	for name, method := range map[string]string{"state": "eth_call", "head": "latest",
		"logs": "eth_getTransactionReceipt"} {
		for _, answer := range []string{
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"transaction indexing is in progress"}}`,
			`{"jsonrpc":"2.0","id":1,"result":null}`, `null`, `[]`, `[null]`, `{"a":1,"a":2}`, ``,
		} {
			meddle := func(body string, w http.ResponseWriter) bool {
				if strings.Contains(body, method) {
					w.Write([]byte(answer))
					return true
				}
				return false
			}
			c.meddle.Store(&meddle)
			f, err := r.Status(t.Context(), p, signed, seen, time.Now().Add(time.Hour))
			if err == nil && f.State != rail.Paid {
				t.Errorf("%s answered %s: Status = %+v", name, answer, f)
			}
		}
	}
	c.meddle.Store(nil)
	if f, err := r.Status(t.Context(), p, signed, seen, time.Now().Add(time.Hour)); err != nil || f.State != rail.Paid {
		t.Errorf("Status = %+v, %v", f, err)
	}
}
