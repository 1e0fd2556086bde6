package till_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/railtest"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// blocks seals a block now and then, as a chain does that does not wait for anybody's transaction.
func (s *shop) blocks(every time.Duration) {
	done := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := s.net.Seal(); err != nil && ctx.Err() == nil {
				s.t.Errorf("sealing: %v", err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	}()
	s.t.Cleanup(func() { stop(); <-done })
}

// reverted counts the relayer's transactions that the chain took and that came to nothing, and
// their gas.
func (s *shop) reverted() (n int, gas uint64) {
	s.t.Helper()
	ctx := s.t.Context()
	head, err := s.net.RPC.BlockNumber(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	for b := range head + 1 {
		rs, err := s.net.RPC.BlockReceipts(ctx, numbered(b))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range rs {
			if r.Status == types.ReceiptStatusFailed {
				n, gas = n+1, gas+r.GasUsed
			}
		}
	}
	return n, gas
}

// One plain wallet with money for one payment signs 540 of them, and presents them all at once.
// That must cost the store nothing, and honest buyers buy on meanwhile. How many of the 540 are
// sent at all is decided where they are claimed, so the order in which a relayer sends them (M16's
// in-order sender, over several relayers) has no part in this.
func TestMoneyForOnePaysForOne(t *testing.T) {
	t.Parallel()
	const honest = 12
	row := railtest.HostileNamed("floods")
	flood := 540
	if testing.Short() {
		flood = 100 // with the race detector the node that runs in this process is what is flooded
	}
	s := newShop(t, shopOptions{manual: true, buyers: honest})
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	price := s.sign(ch, 0, s.net.Buyers[0], nil).Value.Int64()
	gift := s.net.SignTransfer(s.net.Buyers[0], s.net.Poor.Address, price)
	s.net.Send(s.net.Minter, s.net.Asset, gift.Call())
	s.net.MustSeal()
	if got := s.net.Balance(s.net.Poor.Address); got != price {
		t.Fatalf("the flooder has %d", got)
	}
	headers := make([]map[string]string, flood)
	for i := range headers {
		headers[i] = map[string]string{"PAYMENT-SIGNATURE": s.pay(ch, 0, s.net.Poor)}
	}
	good := make([]map[string]string, honest)
	for i := range good {
		good[i] = map[string]string{"PAYMENT-SIGNATURE": s.pay(ch, 0, s.net.Buyers[i])}
	}
	s.blocks(200 * time.Millisecond)

	var wg sync.WaitGroup
	var floods []reply
	wg.Go(func() {
		floods = s.atOnce(flood, func(int) string { return path }, func(i int) map[string]string { return headers[i] })
	})
	got := make([]reply, honest)
	for i := range got {
		wg.Go(func() {
			time.Sleep(time.Duration(100*i) * time.Millisecond) // over the time of the flood
			r, err := s.try("GET", path, good[i])
			if err != nil {
				t.Error(err)
			}
			got[i] = r
		})
	}
	wg.Wait()
	sold := 0
	for i, r := range got {
		if r.status == 200 {
			sold++
		} else {
			t.Errorf("honest buyer %d is answered %d %s", i, r.status, r.raw)
		}
	}
	answers := map[string]int{}
	for _, r := range floods {
		answers[fmt.Sprintf("%d %s %s", r.status, r.code(), r.str("reason"))]++
	}
	reverted, gas := s.reverted()
	t.Logf("%d authorizations with money for one: %v; %d reverted transactions (%d gas); %d of %d honest purchases",
		flood, answers, reverted, gas, sold, honest)
	if reverted > flood*row.Reverts || gas > uint64(flood)*row.Gas {
		t.Errorf("%d of our transactions reverted, %d gas; want %d of each authorization", reverted, gas, row.Reverts)
	}
	if answers["200  "] > row.Open {
		t.Errorf("money for one bought %d", answers["200  "])
	}
}

func numbered(b uint64) rpc.BlockNumberOrHash {
	return rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(b))
}

// coded is a rail on which payers whose name begins with "contract" have code, as Verify finds out.
type coded struct{ rail.Rail }

func (c coded) Verify(ctx context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Mark, error) {
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
	if r.status != 402 {
		m.t.Fatalf("GET %s = %d %s, want 402", path, r.status, r.raw)
	}
	ch := decodeChallenge(m.t, r.header.Get("PAYMENT-REQUIRED"))
	if valid == 0 {
		valid = time.Duration(ch["accepts"].([]any)[0].(map[string]any)["maxTimeoutSeconds"].(float64)) * time.Second
	}
	return m.signed(path, payer, nonce, ch, valid)
}

// begin presents a payment without waiting for its answer.
func (m *model) begin(s *modelSale) <-chan reply {
	out := make(chan reply, 1)
	go func() {
		r, _ := m.do(s.path, map[string]string{"PAYMENT-SIGNATURE": s.header})
		out <- r
	}()
	return out
}

// opened presents n payments of one payer each made by its own goroutine, and waits until they are
// under way.
func (m *model) opened(n int, payer func(int) string) []<-chan reply {
	var out []<-chan reply
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
	for _, p := range purchases(m.t, m.db) {
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
			if r.status != 429 || r.code() != "rate_limited" || r.str("billed") != "no" ||
				r.str("retry") != "same_payment" || r.header.Get("Retry-After") == "" {
				t.Errorf("%s the ninth is answered %d %s", when, r.status, r.raw)
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
		if r := <-other; r.status != 200 {
			t.Errorf("another wallet's is answered %d %s", r.status, r.raw)
		}
		m.seal()
		if r := <-late; r.status != 200 {
			t.Errorf("the ninth, once there was room, is answered %d %s", r.status, r.raw)
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
		if r.status != 402 || r.str("reason") != "insufficient_funds" || r.str("billed") != "no" {
			t.Fatalf("a fourth payment of a wallet with money for three is answered %d %s", r.status, r.raw)
		}
		m.seal()
		for _, c := range three {
			if r := <-c; r.status != 200 {
				t.Errorf("one of three is answered %d %s", r.status, r.raw)
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
			if r := <-c; r.status != 200 {
				t.Errorf("one of two more is answered %d %s", r.status, r.raw)
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
		if r := <-known; r.status != 200 {
			t.Fatalf("a contract's first payment is answered %d %s", r.status, r.raw)
		}
		held := m.opened(railtest.HostileNamed("shares its code").Open,
			func(i int) string { return fmt.Sprintf("contract-%d", i) })
		r := <-m.begin(m.offered("/api/buy/hello", "contract-new", "one too many", 0))
		if r.status != 429 || r.str("retry") != "same_payment" || r.str("billed") != "no" {
			t.Errorf("the 25th contract is answered %d %s", r.status, r.raw)
		}
		held = append(held, m.opened(8, always("contract-known"))...)
		r = <-m.begin(m.offered("/api/buy/hello", "contract-known", "the ninth", 0))
		if r.status != 429 {
			t.Errorf("the 33rd payment of a contract is answered %d %s", r.status, r.raw)
		}
		plain := m.opened(2, func(i int) string { return fmt.Sprintf("plain-%d", i) })
		if got := m.states(); got[till.Settling]+got[till.Unknown] != 34 {
			t.Errorf("%v, want 32 of contracts and 2 of others on their way", got)
		}
		m.seal()
		for i, c := range append(held, plain...) {
			if r := <-c; r.status != 200 && r.status != 503 {
				t.Errorf("payment %d is answered %d %s", i, r.status, r.raw)
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
			if r := <-c; r.status != 200 {
				t.Fatalf("buyer %d of 600 is answered %d %s", i, r.status, r.raw)
			}
		}
	})
}

// Two replicas that claim at the same time count together: what a wallet has buys no more than
// that, and no wallet has more than eight open.
// It runs by itself: its authorizations are not to expire while other tests have the machine.
func TestReplicasCountOpenPaymentsTogether(t *testing.T) {
	dsn := ledgertest.Postgres(t)
	config := func(c *till.Config) {
		c.BaseURL, c.Exclusive, c.OpenWait, c.SettleWait = childBase, false, time.Second, 2*time.Second
	}
	one := newShop(t, shopOptions{db: openPostgres(t, dsn), config: config, manual: true, evm: each})
	two := newShop(t, shopOptions{net: one.net, db: openPostgres(t, dsn), config: config, evm: each})
	const path = "/api/buy/hello"
	began := time.Now()
	ch := one.challenge(path)
	price := one.sign(ch, 0, one.net.Buyers[0], nil).Value.Int64()
	gift := one.net.SignTransfer(one.net.Buyers[1], one.net.Poor.Address, 2*price)
	one.net.Send(one.net.Minter, one.net.Asset, gift.Call())
	one.net.MustSeal()
	for _, c := range []struct {
		payer chaintest.Key
		want  int
	}{{one.net.Poor, 2}, {one.net.Buyers[0], 8}} {
		headers := make([]map[string]string, 20)
		for i := range headers {
			headers[i] = map[string]string{"PAYMENT-SIGNATURE": one.pay(ch, 0, c.payer)}
		}
		open := 0
		// On a slow machine a payment may find no turn in its wait; it comes again, as its answer
		// says.
		for tries := 0; open < c.want && tries < 20; tries++ {
			var wg sync.WaitGroup
			for i, s := range []*shop{one, two} {
				wg.Go(func() {
					s.atOnce(10, func(int) string { return path },
						func(n int) map[string]string { return headers[2*n+i] })
				})
			}
			wg.Wait()
			open = 0
			for _, p := range purchases(t, one.db) {
				if p.Payment.Payer == c.payer.Address.Hex() {
					open++
				}
			}
		}
		if open != c.want {
			t.Errorf("%d payments of a wallet are open over two stores, want %d", open, c.want)
		}
		one.net.MustSeal() // each wallet has a new block to begin with, and its payments are in one in time
	}
	// What stood still for longer than an authorization is good for may have sent some too late.
	if n, gas := one.reverted(); n != 0 && time.Since(began) < 4*time.Minute {
		t.Errorf("%d of our transactions reverted, %d gas", n, gas)
	}
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
			if r.status != 503 || r.code() != "settlement_unavailable" || r.str("billed") != "no" {
				t.Errorf("a payment beyond what the relayer can pay for is answered %d %s", r.status, r.raw)
			}
		default:
			t.Errorf("a payment beyond what the relayer can pay for is taken: %v", m.states())
		}
		m.seal()
		again := m.begin(next)
		synctest.Wait()
		m.seal()
		if r := <-again; r.status != 200 {
			t.Errorf("once the first is settled the next is answered %d %s", r.status, r.raw)
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
			if r := <-c; r.status != 200 {
				t.Errorf("one of them is answered %d %s", r.status, r.raw)
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
		if r.status != 503 || r.str("billed") != "unknown" || r.str("retry") != "same_payment" ||
			r.str("recovery", "status_token") == "" || r.response()["errorReason"] != "settlement_pending" {
			t.Errorf("a claimed payment whose ledger fails is answered %d %s", r.status, r.raw)
		}
		if got := m.states(); got[till.Settling] != 1 {
			t.Errorf("%v, want one on its way", got)
		}
	})
}
