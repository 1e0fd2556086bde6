package onchaintest_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
)

// The more buy at once, the more is sold, or as much: on one account and on four, with a block a
// second and with one for whatever comes, on two nodes that share no code, at 512 at once no less
// than four fifths of the best.
func TestSoakLoad(t *testing.T) {
	soak(t)
	for _, c := range []struct {
		name string
		load
	}{
		{"go-ethereum, immediate blocks, one account", load{}},
		{"go-ethereum, a block a second, one account", load{every: time.Second}},
		{"go-ethereum, a block a second, four accounts", load{every: time.Second, more: 3}},
		{"anvil, immediate blocks, one account", load{anvil: true}},
		{"anvil, a block a second, one account", load{every: time.Second, anvil: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			best, last := 0.0, 0.0
			for _, atOnce := range []int{32, 64, 128, 256, 512} {
				last, _ = c.run(t, atOnce, max(256, 2*atOnce))
				best = max(best, last)
			}
			if last < 0.8*best {
				t.Errorf("%.1f/s at 512 at once, %.1f/s at best", last, best)
			}
		})
	}
}

// Three stores that share a ledger on PostgreSQL sell together no less than four fifths of what
// one sells that has its ledger in a file: with a block a second it is the chain that all wait
// for. Where a block comes at once, three fifths: nothing waits, and all of it is a matter of
// processors, which the chain, the server, the buyers and three stores share here: each buyer
// buys eight times at 128 at once and four times at 512, since until all have begun, and when
// the first have ended, there is less to put together. They take turns, and one pair differs
// from the next by a tenth and more: it is the middle one of seven.
func TestSoakReplicas(t *testing.T) {
	soak(t)
	for _, c := range []struct {
		every            time.Duration
		atOnce, n, pairs int
		least            float64
	}{{time.Second, 128, 512, 3, 0.8}, {time.Second, 512, 512, 3, 0.8}, {0, 128, 1024, 7, 0.6},
		{0, 512, 2048, 7, 0.6}} {
		var ratios []float64
		for range c.pairs {
			one, _ := load{every: c.every}.run(t, c.atOnce, c.n)
			three, _ := load{every: c.every, replicas: 3}.run(t, c.atOnce, c.n)
			ratios = append(ratios, three/one)
		}
		slices.Sort(ratios)
		middle := ratios[c.pairs/2]
		t.Logf("%d at once, a block every %s: three stores sell %.2f times what one does, of %.2f", c.atOnce, c.every,
			middle, ratios)
		if middle < c.least {
			t.Errorf("want %.1f at least", c.least)
		}
	}
}

func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("loads take minutes; set STORE_SOAK=1")
	}
}

// load says what is loaded.
type load struct {
	every    time.Duration // between blocks; 0 is one for whatever comes
	anvil    bool          // the node is anvil in place of go-ethereum
	more     int           // accounts of the relayer beside the first; none on anvil
	replicas int           // stores that share a PostgreSQL; 0 is one with a file
}

// run sells n goods, so many at once, by stores that are configured as one that is served, and
// returns how many a second, and how many in each transaction. Each has a chain of its own: one
// that seals for whatever comes is soon as far ahead of the clock as it may be. What it stood on is
// gone when it returns: of twenty chains, stores and databases the next would bear a part.
func (l load) run(t *testing.T, atOnce, n int) (rate, each float64) {
	t.Run(fmt.Sprintf("%d at once by %d", atOnce, max(1, l.replicas)), func(t *testing.T) {
		rate, each = l.sells(t, atOnce, n)
	})
	return rate, each
}

func (l load) sells(t *testing.T, atOnce, n int) (rate, each float64) {
	net := chaintest.New(t, chaintest.Options{Manual: true, Buyers: 256, Lead: 250})
	if l.anvil {
		args := []string{"--slots-in-an-epoch", "1"}
		if l.every > 0 {
			args = append(args, "--block-time", fmt.Sprint(l.every.Seconds()))
		}
		net.Node = *chaintest.Anvil(t, net.Chain, args...)
	}
	var more []chaintest.Key
	for range l.more {
		more = append(more, chaintest.NewKey(t))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the store does
	configured := func(c *till.Config) { c.MaxInFlight, c.Patience = 512, 0 }
	o := shopOptions{net: net, config: configured, evm: func(c *evm.Config) {
		c.Poll = l.every / 10 // 0 is the network's
		for _, k := range more {
			c.Relayers = append(c.Relayers, k.Private)
		}
	}}
	var stores []*shop
	if l.replicas == 0 {
		stores = append(stores, newShop(t, o))
	} else {
		o.config = func(c *till.Config) {
			configured(c)
			c.BaseURL, c.Exclusive = childBase, false
		}
		dsn := ledgertest.Postgres(t)
		for range l.replicas {
			o.db = openPostgres(t, dsn)
			stores = append(stores, newShop(t, o))
			defer o.db.Close() // the server has no room for those of all runs
		}
	}
	for _, k := range more {
		net.MustSealTxs(stores[0].foreign(net.Minter, k.Address, 1e18, nil))
	}
	p, stop := pace{}, func() {}
	switch {
	case l.anvil: // seals by itself
	case l.every == 0:
		net.SetAutomine(true)
	default:
		p, stop = seal(net, l.every)
	}
	rate, each = sell(t, stores, atOnce, n, p)
	for _, s := range stores {
		s.stop()
	}
	stop()
	return rate, each
}

// pace is how a chain makes blocks: one every so often, or whenever something comes.
type pace struct {
	every  time.Duration
	sealed <-chan struct{} // receives when one was made, from who waits for it
}

// begin waits for a block, so that what is timed does not depend on how long what stood before it
// took.
func (p pace) begin() {
	if p.every > 0 {
		<-p.sealed
	}
}

// whole is a time since begin in whole blocks. What a store sells comes block by block: the moment
// between the last of them and the last answer is not a part of its rate.
func (p pace) whole(d time.Duration) time.Duration {
	if p.every > 0 {
		return max(p.every, d.Round(p.every))
	}
	return d
}

// seal makes a block on a chain every so often, until stop.
func seal(net *chaintest.Net, every time.Duration) (p pace, stop func()) {
	sealed, ended := make(chan struct{}), make(chan struct{})
	var sealing sync.WaitGroup
	sealing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				net.Seal()
			}
			select {
			case sealed <- struct{}{}:
			default:
			}
		}
	})
	return pace{every, sealed}, func() { close(ended); sealing.Wait() }
}

// sell sells so many goods, so many at once, to 256 wallets and with a key of its own each, at
// stores that share a ledger on a chain of that pace. It returns how many a second, and how many in
// each transaction, and says within what time all but one in a hundred were answered.
func sell(t *testing.T, stores []*shop, atOnce, n int, p pace) (rate, each float64) {
	const path = "/api/buy/hello"
	s := stores[0]
	ch := s.challenge(path)
	headers, paid := make([]map[string]string, n), make([]payment, n)
	for i := range headers {
		paid[i] = s.sign(ch, 0, s.net.Buyers[i%len(s.net.Buyers)], nil)
		headers[i] = map[string]string{"PAYMENT-SIGNATURE": paid[i].header(s.t),
			"Idempotency-Key": fmt.Sprintf("order-%d-%d-%d", atOnce, i, time.Now().UnixNano())}
	}
	before, numbers := s.net.Balance(s.net.PayTo), s.relayedBy()
	took := make([]time.Duration, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	p.begin()
	began := time.Now()
	for range atOnce {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				from := time.Now()
				if r, err := stores[i%len(stores)].try("GET", path, headers[i]); err != nil || r.Status != 200 {
					t.Errorf("purchase %d of %d at once: %d %s, %v", i, atOnce, r.Status, r.Raw, err)
				}
				took[i] = time.Since(from)
			}
		})
	}
	wg.Wait()
	elapsed := p.whole(time.Since(began))
	if got := s.net.Balance(s.net.PayTo) - before; got != int64(n)*500_000 {
		t.Errorf("%d at once: payTo received %d, want %d payments", atOnce, got, n)
	}
	for _, p := range paid {
		if !s.net.Used(p.From, p.Nonce) {
			t.Errorf("%d at once: a payment is not on the chain", atOnce)
		}
	}
	each = float64(n) / float64(s.relayedBy()-numbers)
	slices.Sort(took)
	rate = float64(n) / elapsed.Seconds()
	t.Logf("%3d at once, stores: %d, %5.1f/s, %4.1f a transaction, 99 in 100 within %s", atOnce, len(stores), rate,
		each,
		took[n*99/100].Round(time.Millisecond))
	return rate, each
}

// relayedBy is how many transactions all accounts of the relayer have in blocks.
func (s *shop) relayedBy() (sum uint64) {
	for _, r := range s.rails {
		for _, a := range r.Info().Accounts {
			sum += s.mined(common.HexToAddress(a))
		}
	}
	return sum
}
