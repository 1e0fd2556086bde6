package onchaintest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/till"
)

// fault is what a proxy does with a request to the node.
type fault int

const (
	pass   fault = iota // forward it
	drop                // cut the connection; the node never sees it
	lose                // forward it and cut the connection in place of the answer
	expire              // forward it and never answer
	hang                // never answer, never forward
	late                // forward it when there is a block more
	lie                 // refuse it as of a number that is used up; the node never sees it
)

// proxy stands between the till and its node.
type proxy struct {
	*httptest.Server
	mu   sync.Mutex
	rule func(methods []string) fault // guarded by mu
	over chan struct{}
	next chan struct{} // closed by a block; guarded by mu
}

// sealed lets through what waits for a block.
func (p *proxy) sealed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.next)
	p.next = make(chan struct{})
}

// block waits for one.
func (p *proxy) block() {
	p.mu.Lock()
	next := p.next
	p.mu.Unlock()
	select {
	case <-next:
	case <-p.over:
	}
}

// lies answers each request of a body with a refusal.
func lies(w io.Writer, body []byte) {
	type request struct {
		ID json.RawMessage `json:"id"`
	}
	type answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   map[string]any  `json:"error"`
	}
	refused := func(r request) answer {
		return answer{"2.0", r.ID, map[string]any{"code": -32000, "message": "nonce too low"}}
	}
	var all []request
	if json.Unmarshal(body, &all) == nil {
		var out []answer
		for _, r := range all {
			out = append(out, refused(r))
		}
		json.NewEncoder(w).Encode(out)
		return
	}
	var one request
	json.Unmarshal(body, &one)
	json.NewEncoder(w).Encode(refused(one))
}

// newProxy stands in front of a node until the test ends.
func newProxy(t *testing.T, node string) *proxy {
	p := &proxy{over: make(chan struct{}), next: make(chan struct{})}
	p.set(func([]string) fault { return pass })
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		f := p.judge(body)
		if f == drop {
			panic(http.ErrAbortHandler)
		}
		switch f {
		case hang:
			p.wait(r)
		case late:
			p.block()
		case lie:
			w.Header().Set("Content-Type", "application/json")
			lies(w, body)
			return
		}
		resp, err := http.Post(node, "application/json", bytes.NewReader(body))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		if f == lose {
			panic(http.ErrAbortHandler)
		}
		if f == expire {
			p.wait(r)
		}
		w.Header().Set("Content-Type", "application/json")
		io.Copy(w, resp.Body)
	}))
	t.Cleanup(func() { close(p.over); p.Close() })
	return p
}

func (p *proxy) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-p.over:
	}
	panic(http.ErrAbortHandler)
}

func (p *proxy) set(rule func(methods []string) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// always gives every request the same fault.
func (p *proxy) always(f fault) { p.set(func([]string) fault { return f }) }

// on gives requests that hold a method a fault, the first n times.
func (p *proxy) on(method string, f fault, n int) {
	p.set(func(methods []string) fault {
		if n > 0 && slices.Contains(methods, method) {
			n--
			return f
		}
		return pass
	})
}

func (p *proxy) judge(body []byte) fault {
	type request struct{ Method string }
	var all []request
	if json.Unmarshal(body, &all) != nil {
		all = make([]request, 1)
		json.Unmarshal(body, &all[0])
	}
	var methods []string
	for _, r := range all {
		methods = append(methods, r.Method)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rule(methods)
}

// newProxied is a shop with a proxy before each of its nodes.
func newProxied(t *testing.T, o shopOptions) (*shop, []*proxy) {
	t.Helper()
	var proxies []*proxy
	o.evm = func(c *evm.Config) {
		p := newProxy(t, c.RPC[0])
		c.RPC[0] = p.URL
		proxies = append(proxies, p)
	}
	return newShop(t, o), proxies
}

const sendTx = "eth_sendRawTransaction"

func TestBroadcastFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault fault
		times int
		now   bool // the buyer's own request is answered with the goods
	}{
		{"dropped", drop, 1, true},
		{"answer lost", lose, 3, true},
		{"timed out after broadcast", expire, 1, false},
		{"timed out before broadcast", hang, 1, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, px := newProxied(t, shopOptions{config: func(c *till.Config) {
				if !test.now {
					c.SettleWait, c.RepeatWait = time.Second, 100*time.Millisecond
				}
			}})
			const path = "/api/buy/hello"
			p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
			px[0].on(sendTx, test.fault, test.times)
			if test.now {
				s.want("the answer", s.present(path, p), 200, "")
			} else {
				s.bought("the answer", path, p)
			}
			if n := s.relayed(); n != 1 {
				t.Errorf("%d settlements on chain, want 1", n)
			}
			s.audit()
		})
	}
}

func TestSlowNode(t *testing.T) {
	t.Parallel()
	s, px := newProxied(t, shopOptions{})
	px[0].set(func([]string) fault {
		// The proxy's lock makes every answer wait for this, one after the other.
		<-time.After(30 * time.Millisecond)
		return pass
	})
	r, _ := s.buy("/api/buy/hello", s.net.Buyers[0], nil)
	s.want("a purchase over a slow node", r, 200, "")
	s.audit()
}

func TestNodeGoneAfterBroadcast(t *testing.T) {
	t.Parallel()
	s, px := newProxied(t, shopOptions{config: func(c *till.Config) {
		c.SettleWait, c.RepeatWait = 500*time.Millisecond,
			100*time.Millisecond
	}})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	var gone atomic.Bool
	px[0].set(func(methods []string) fault {
		if slices.Contains(methods, sendTx) {
			gone.Store(true)
		}
		if gone.Load() {
			return lose
		}
		return pass
	})
	r := s.present(path, p)
	s.want("while the node is gone", r, 503, "payment_unknown")
	until(t, "the settlement to be broadcast", gone.Load)
	s.want("again", s.present(path, p), 503, "payment_unknown")
	fresh := s.sign(s.challenge(path), 0, s.net.Buyers[1], nil)
	other := s.present(path, fresh)
	s.want("another buyer while the node is gone", other, 503, "settlement_unavailable")
	if other.Str("billed") != "no" {
		t.Errorf("nothing was claimed, and the answer says %s", other.Raw)
	}
	px[0].always(pass)
	s.state(r.Purchase(), till.Delivered)
	s.want("when the node is back", s.present(path, p), 200, "")
	s.bought("the other buyer", path, fresh)
	s.audit()
}

// Networks that hang must not hold up the recovery of what waits on others.
func TestHangingNetworksDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	s, px := newProxied(t, shopOptions{networks: []uint64{8453, 137, 42161}, config: func(c *till.Config) {
		c.SettleWait, c.RepeatWait = 300*time.Millisecond, 100*time.Millisecond
	}})
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	stuck := s.sign(ch, 1, s.net.Buyers[1], nil)
	px[1].on(sendTx, drop, 1<<30)
	s.want("a purchase on a network that will hang", s.present(path, stuck), 503, "payment_unknown")
	px[1].always(hang)
	px[2].always(hang)
	px[0].on(sendTx, drop, 3)
	p := s.sign(ch, 0, s.net.Buyers[0], nil)
	s.bought("a purchase beside them", path, p)
	px[1].always(pass)
	px[2].always(pass)
	s.rest()
	s.want("the one that hung", s.present(path, stuck), 200, "")
	s.audit()
}
