package till_test

import (
	"bytes"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentstore/cmd/devnet/chaintest"
	"agentstore/cmd/devnet/token"
	"agentstore/dynamic/rail/evm"
	"agentstore/dynamic/till"
)

// traps are the hostile payers with code, and what the store may lose to one payment of each at most.
var traps = []struct {
	name string
	code []byte
	// turn says that the contract is called without data just before the block, or just before the payment.
	before, after bool
}{
	{name: "accepts then reverts", code: token.Turncoat},
	{name: "burns", code: token.Burner},
	{name: "estimate made to burn", code: token.Glutton},
	{name: "looks at the block number", code: token.Weathercock, before: true},
	{name: "flips", code: token.Switch, after: true},
}

// burnt is what the relayer's transactions since a nonce cost that moved nothing: how many, and their gas.
func (s *shop) burnt() (reverted int, gas uint64) {
	s.t.Helper()
	head, err := s.net.RPC.BlockNumber(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for n := range head + 1 {
		b, err := s.net.RPC.BlockByNumber(s.t.Context(), new(big.Int).SetUint64(n))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, tx := range b.Transactions() {
			if *tx.To() != s.net.Asset {
				continue
			}
			if r := s.net.Receipt(tx.Hash()); r.Status == 0 {
				reverted++
				gas += r.GasUsed
			}
		}
	}
	return reverted, gas
}

// A payer with code that reverts in a block costs one settlement of capped gas an authorization, is never asked again,
// and is told that nothing was billed.
func TestHostileContractsCostOneRevert(t *testing.T) {
	t.Parallel()
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, shopOptions{manual: true, chain: chaintest.Options{Code: [][]byte{trap.code}},
				config: func(c *till.Config) { c.SettleWait = 4 * time.Second }})
			const path = "/api/buy/hello"
			wallet := s.net.Coded[0].Address
			if trap.before {
				s.net.Send(s.net.Minter, wallet, nil)
				s.net.MustSeal()
			}
			p := s.signAs(s.challenge(path), 0, s.net.Buyers[0], wallet, nil)
			answered := make(chan reply, 1)
			h := map[string]string{"PAYMENT-SIGNATURE": p.header(t)}
			go func() {
				r, _ := s.try("GET", path, h)
				answered <- r
			}()
			var r reply
			for done, turned := false, false; !done; {
				pending, err := s.net.RPC.PendingTransactionCount(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if pending > 0 {
					if trap.after && !turned {
						turned = true
						s.net.MustSealTxs(s.foreign(s.net.Minter, wallet, 0, nil))
					}
					s.net.MustSeal()
				}
				select {
				case r = <-answered:
					done = true
				case <-time.After(20 * time.Millisecond):
				}
			}
			n, gas := s.burnt()
			t.Logf("%d reverted, %d gas, answered %d %s", n, gas, r.status, r.code())
			if n > 1 || gas > 300_000 {
				t.Errorf("%d settlements reverted and burnt %d gas, want one at most of 300000", n, gas)
			}
			if r.str("billed") != "no" || r.status == 503 {
				t.Errorf("answered %d %s, want that nothing was billed", r.status, r.raw)
			}
		})
	}
}

// front is a node of which single calls fail. It returns the address to use.
func front(t *testing.T, target string, meddle *atomic.Pointer[func(body string, w http.ResponseWriter) bool]) string {
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
		if f := meddle.Load(); f != nil && (*f)(string(body), w) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type meddler = func(body string, w http.ResponseWriter) bool

// One answer that a node fails to give at the draft is asked for again, within the buyer's wait.
func TestHiccupAtTheDraft(t *testing.T) {
	t.Parallel()
	var meddle atomic.Pointer[meddler]
	s := newShop(t, shopOptions{config: func(c *till.Config) { c.Patience, c.SettleWait = 20*time.Second, 45*time.Second },
		chain: chaintest.Options{},
		evm:   func(c *evm.Config) { c.RPC = []string{front(t, c.RPC[0], &meddle)} }})
	var failed atomic.Int64
	hiccup := meddler(func(body string, w http.ResponseWriter) bool {
		if !strings.Contains(body, "eth_estimateGas") || failed.Add(1) > 2 {
			return false
		}
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	meddle.Store(&hiccup)
	began := time.Now()
	r, _ := s.buy("/api/buy/hello", s.net.Buyers[0], nil)
	took := time.Since(began)
	s.want("a purchase with a hiccup at its draft", r, 200, "")
	t.Logf("%d failures, %s", failed.Load(), took)
	if failed.Load() < 2 || took > 10*time.Second {
		t.Errorf("%d failures and %s, want two and no wait", failed.Load(), took)
	}
}

// A relayer without gas takes no payment: what was signed before is refused before the claim.
func TestWithoutGasNothingIsTaken(t *testing.T) {
	t.Parallel()
	empty := chaintest.NewKey(t)
	s := newShop(t, shopOptions{evm: func(c *evm.Config) { c.Relayer = empty.Private }, config: func(c *till.Config) { c.SettleWait = 3 * time.Second }})
	const path = "/api/buy/hello"
	r := s.do("GET", path, nil)
	s.want("terms without gas", r, 503, "settlement_unavailable")
}
