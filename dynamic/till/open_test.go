package till_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// coded is a rail on which payers whose name begins with "contract" have code, as Verify finds out.
type coded struct{ rail.Rail }

func (c coded) Verify(ctx context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified,
	error) {
	m, err := c.Rail.Verify(ctx, p, want, now)
	m.Local = strings.HasPrefix(p.Payer, "contract")
	return m, err
}

// bubble is a till on a fake chain that seals when it is told to, with neither faults nor chance.
func bubble(t *testing.T, site *content.Site, wrap func(rail.Rail) rail.Rail) *model {
	t.Helper()
	if site == nil {
		var err error
		if site, err = content.Load(content.Sources{}); err != nil {
			t.Fatal(err)
		}
	}
	m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true}), wrap: wrap}
	m.calm.Store(true)
	m.start(site)
	return m
}

// seal seals a block and lets everybody see it.
func (m *model) seal() {
	m.chain.mu.Lock()
	m.chain.seal(false)
	m.chain.mu.Unlock()
	time.Sleep(2 * time.Second)
}

// offered signs a payment for a path; valid 0 is as long as is asked.
func (m *model) offered(path, payer, nonce string, valid time.Duration) *modelSale {
	m.t.Helper()
	r, _ := m.do(path, nil)
	if r.Status != 402 {
		m.t.Fatalf("GET %s = %d %s, want 402", path, r.Status, r.Raw)
	}
	ch := tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED"))
	if valid == 0 {
		valid = time.Duration(ch["accepts"].([]any)[0].(map[string]any)["maxTimeoutSeconds"].(float64)) * time.Second
	}
	return m.signed(path, payer, nonce, ch, valid)
}

// begin presents a payment without waiting for its answer.
func (m *model) begin(s *modelSale) <-chan tilltest.Reply {
	out := make(chan tilltest.Reply, 1)
	go func() {
		h := map[string]string{"PAYMENT-SIGNATURE": s.header}
		if s.key != "" {
			h["Idempotency-Key"] = s.key
		}
		r, _ := m.do(s.path, h)
		out <- r
	}()
	return out
}

// opened presents n payments of one payer each made by its own goroutine, and waits until they are
// under way.
func (m *model) opened(n int, payer func(int) string) []<-chan tilltest.Reply {
	var out []<-chan tilltest.Reply
	for i := range n {
		out = append(out, m.begin(m.offered("/api/buy/hello", payer(i),
			fmt.Sprintf("%s-%d-%d", payer(i), i, time.Now().UnixNano()), 0)))
		synctest.Wait()
	}
	return out
}

// states counts the purchases in the ledger.
func (m *model) states() map[till.State]int {
	m.t.Helper()
	n := map[till.State]int{}
	for _, p := range tilltest.Purchases(m.t, m.db) {
		n[p.State]++
	}
	return n
}

func always(payer string) func(int) string { return func(int) string { return payer } }

// A ninth payment of one wallet waits five seconds for one of the eight, and then comes back with
// the same payment. It holds through a crash, since it is counted in the ledger, and other wallets
// notice nothing.
func TestEightOpenPaymentsOfAPayer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := bubble(t, site, nil)
		defer func() { m.stop() }()
		eight := m.opened(railtest.HostileNamed("spends elsewhere").Open, always("rich"))
		ninth := m.offered("/api/buy/hello", "rich", "the ninth", 0)
		refused := func(when string) {
			t.Helper()
			began := time.Now()
			r := <-m.begin(ninth)
			if r.Status != 429 || r.Code() != "rate_limited" || r.Str("billed") != "no" ||
				r.Str("retry") != "same_payment" || r.Header.Get("Retry-After") == "" {
				t.Errorf("%s the ninth is answered %d %s", when, r.Status, r.Raw)
			}
			if d := time.Since(began); d < 5*time.Second || d > 7*time.Second {
				t.Errorf("%s the ninth waited %s, want 5 s", when, d)
			}
		}
		refused("at first")
		m.stop() // the process ends with eight under way; what it knew is gone
		m.start(site)
		refused("after a crash")
		other := m.begin(m.offered("/api/buy/hello", "another", "of another", 0))
		late := m.begin(ninth)
		time.Sleep(time.Second)
		if got := m.states(); got[till.Unknown]+got[till.Settling] != 9 {
			t.Errorf("%v, want eight of one wallet and one of another on their way", got)
		}
		m.seal()
		if r := <-other; r.Status != 200 {
			t.Errorf("another wallet's is answered %d %s", r.Status, r.Raw)
		}
		m.seal()
		if r := <-late; r.Status != 200 {
			t.Errorf("the ninth, once there was room, is answered %d %s", r.Status, r.Raw)
		}
		for _, c := range eight {
			<-c
		}
		time.Sleep(time.Minute)
		if got := m.states(); got[till.Delivered] != 10 {
			t.Errorf("%v, want 10 delivered", got)
		}
	})
}

// The balance covers all that is open and not mined yet: what was mined a moment ago has left the
// balance, and must not be counted twice although the ledger does not know it yet.
func TestBalanceCoversWhatIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, nil)
		defer func() { m.stop() }()
		price := m.offered("/api/buy/hello", "small", "the first", 0).payload.value()
		m.chain.money = map[string]int64{"small": 3 * price}
		three := m.opened(3, always("small"))
		fourth := m.offered("/api/buy/hello", "small", "the fourth", 0)
		r := <-m.begin(fourth)
		if r.Status != 402 || r.Str("reason") != "insufficient_funds" || r.Str("billed") != "no" {
			t.Fatalf("a fourth payment of a wallet with money for three is answered %d %s", r.Status, r.Raw)
		}
		m.seal()
		for _, c := range three {
			if r := <-c; r.Status != 200 {
				t.Errorf("one of three is answered %d %s", r.Status, r.Raw)
			}
		}
		// Two more: the first of them is mined while nobody tells the till.
		m.chain.mu.Lock()
		m.chain.money["small"] += 2 * price
		m.chain.mu.Unlock()
		first := m.opened(1, always("small"))
		m.chain.mu.Lock()
		changed := m.chain.changed
		m.chain.changed = make(chan struct{}) // a block of which the till does not hear for a second
		m.chain.seal(false)
		m.chain.changed = changed
		m.chain.mu.Unlock()
		second := m.begin(m.offered("/api/buy/hello", "small", "the fifth", 0))
		synctest.Wait()
		m.seal()
		for _, c := range append(first, second) {
			if r := <-c; r.Status != 200 {
				t.Errorf("one of two more is answered %d %s", r.Status, r.Raw)
			}
		}
	})
}

// Payers with code together have 32 payments open; the last eight of these places are for those
// that settled before.
func TestContractsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, func(r rail.Rail) rail.Rail { return coded{r} })
		defer func() { m.stop() }()
		known := m.begin(m.offered("/api/buy/hello", "contract-known", "the first", 0))
		synctest.Wait()
		m.seal()
		if r := <-known; r.Status != 200 {
			t.Fatalf("a contract's first payment is answered %d %s", r.Status, r.Raw)
		}
		held := m.opened(railtest.HostileNamed("shares its code").Open,
			func(i int) string { return fmt.Sprintf("contract-%d", i) })
		r := <-m.begin(m.offered("/api/buy/hello", "contract-new", "one too many", 0))
		if r.Status != 429 || r.Str("retry") != "same_payment" || r.Str("billed") != "no" {
			t.Errorf("the 25th contract is answered %d %s", r.Status, r.Raw)
		}
		held = append(held, m.opened(8, always("contract-known"))...)
		r = <-m.begin(m.offered("/api/buy/hello", "contract-known", "the ninth", 0))
		if r.Status != 429 {
			t.Errorf("the 33rd payment of a contract is answered %d %s", r.Status, r.Raw)
		}
		plain := m.opened(2, func(i int) string { return fmt.Sprintf("plain-%d", i) })
		if got := m.states(); got[till.Settling]+got[till.Unknown] != 34 {
			t.Errorf("%v, want 32 of contracts and 2 of others on their way", got)
		}
		m.seal()
		for i, c := range append(held, plain...) {
			if r := <-c; r.Status != 200 && r.Status != 503 {
				t.Errorf("payment %d is answered %d %s", i, r.Status, r.Raw)
			}
		}
	})
}

// Purchases that only wait for the chain, or for room among the transactions under way, hold no
// place among those under way. An account has 48 transactions unmined at most, and they come to the
// node in the order of their numbers (M16).
func TestWaitingForTheChainHoldsNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, nil)
		defer func() { m.stop() }()
		all := m.opened(600, func(i int) string { return fmt.Sprintf("buyer-%d", i) })
		for range (600 + settle.MaxUnmined - 1) / settle.MaxUnmined {
			m.chain.mu.Lock()
			if n := len(m.chain.pool); n > settle.MaxUnmined || n == 0 {
				t.Errorf("%d transactions of one account are unmined, want 48 at most", n)
			}
			m.chain.mu.Unlock()
			m.seal()
		}
		if !slices.Equal(m.chain.came, slices.Sorted(maps.Keys(m.chain.seen))) {
			t.Errorf("the transactions came in the order %v", m.chain.came)
		}
		for i, c := range all {
			if r := <-c; r.Status != 200 {
				t.Fatalf("buyer %d of 600 is answered %d %s", i, r.Status, r.Raw)
			}
		}
	})
}

// purse is a rail whose relayer can pay for so many settlements at once.
type purse struct {
	rail.Rail
	settlements int64
}

func (p purse) Standing(ctx context.Context) (rail.Standing, error) {
	s, err := p.Rail.Standing(ctx)
	s.Need, s.Balance = big.NewInt(1), big.NewInt(p.settlements)
	return s, err
}

// A settlement counts among those that the relayer has to pay for until it is over, also when its
// buyer has gone away.
func TestASettlementOutlivesItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, func(r rail.Rail) rail.Rail { return purse{r, 1} })
		defer func() { m.stop() }()
		const path = "/api/buy/hello"
		gone := m.offered(path, "impatient", "of the impatient", 0)
		next := m.offered(path, "next", "of the next", 0)
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
		r.Header.Set("PAYMENT-SIGNATURE", gone.header)
		left := make(chan struct{})
		go func() {
			m.serve.ServeHTTP(httptest.NewRecorder(), r)
			close(left)
		}()
		synctest.Wait()
		leave()
		<-left
		if got := m.states(); got[till.Settling] != 1 {
			t.Fatalf("%v, want one on its way", got)
		}
		out := m.begin(next)
		synctest.Wait()
		select {
		case r := <-out:
			if r.Status != 503 || r.Code() != "settlement_unavailable" || r.Str("billed") != "no" {
				t.Errorf("a payment beyond what the relayer can pay for is answered %d %s", r.Status, r.Raw)
			}
		default:
			t.Errorf("a payment beyond what the relayer can pay for is taken: %v", m.states())
		}
		m.seal()
		again := m.begin(next)
		synctest.Wait()
		m.seal()
		if r := <-again; r.Status != 200 {
			t.Errorf("once the first is settled the next is answered %d %s", r.Status, r.Raw)
		}
	})
}

// Requests that wait for a settlement which this process drives are woken by its end, and do not
// wear out the ledger.
func TestWaitingRequestsLeaveTheLedgerAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		var views atomic.Int64
		m := &model{t: t, chain: newFakeChain(),
			db: ledger.NewMem(ledger.MemOptions{Calm: true, Fault: func(op string) (bool, error) {
				if op == "view" {
					views.Add(1)
				}
				return true, nil
			}})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		waiting := m.opened(settle.MaxUnmined, func(i int) string { return fmt.Sprintf("payer-%d", i) })
		before := views.Load()
		time.Sleep(10 * time.Second)
		if n := views.Load() - before; n > settle.MaxUnmined*5 {
			t.Errorf("48 requests that wait read the ledger %d times in 10 s, want five times each at most", n)
		}
		m.seal()
		for _, c := range waiting {
			if r := <-c; r.Status != 200 {
				t.Errorf("one of them is answered %d %s", r.Status, r.Raw)
			}
		}
	})
}

// A ledger that stops answering after the claim is not said to have claimed nothing.
func TestLedgerThatFailsAfterTheClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		var failing atomic.Bool
		m := &model{t: t, chain: newFakeChain(),
			db: ledger.NewMem(ledger.MemOptions{Calm: true, Fault: func(string) (bool, error) {
				if failing.Load() {
					return false, errDisk
				}
				return true, nil
			}})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		waits := m.begin(m.offered("/api/buy/hello", "payer", "on its way", 0))
		synctest.Wait()
		failing.Store(true)
		r := <-waits
		failing.Store(false)
		if r.Status != 503 || r.Str("billed") != "unknown" || r.Str("retry") != "same_payment" ||
			r.Str("recovery", "status_token") == "" || r.Response()["errorReason"] != "settlement_pending" {
			t.Errorf("a claimed payment whose ledger fails is answered %d %s", r.Status, r.Raw)
		}
		if got := m.states(); got[till.Settling] != 1 {
			t.Errorf("%v, want one on its way", got)
		}
	})
}
