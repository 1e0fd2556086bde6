package till_test

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentstore/cmd/devnet/chaintest"
	"agentstore/dynamic/ledger/ledgertest"
	"agentstore/dynamic/rail/evm"
	"agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
)

// The more buy at once, the more is sold, or as much: on one account and on four, with a block a second and with one for
// whatever comes, on two nodes that share no code, at 512 at once no less than four fifths of the best.
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
				last = c.run(t, atOnce, max(256, 2*atOnce))
				best = max(best, last)
			}
			if last < 0.8*best {
				t.Errorf("%.1f/s at 512 at once, %.1f/s at best", last, best)
			}
		})
	}
}

// Three stores that share a ledger on PostgreSQL sell together no less than four fifths of what one sells that has its
// ledger in a file. They take turns.
func TestSoakReplicas(t *testing.T) {
	soak(t)
	for _, atOnce := range []int{128, 512} {
		var one, three []float64
		for range 3 {
			one = append(one, load{}.run(t, atOnce, 512))
			three = append(three, load{replicas: 3}.run(t, atOnce, 512))
		}
		slices.Sort(one)
		slices.Sort(three)
		if three[1] < 0.8*one[1] {
			t.Errorf("%d at once: %.1f/s of three stores, %.1f/s of one", atOnce, three[1], one[1])
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

// run sells n goods, so many at once, and returns how many a second. Each has a chain of its own: one that seals for
// whatever comes is soon as far ahead of the clock as it may be.
func (l load) run(t *testing.T, atOnce, n int) (rate float64) {
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
	o := shopOptions{net: net, config: func(c *till.Config) { c.MaxInFlight = 512 }, evm: func(c *evm.Config) {
		c.Poll = 100 * time.Millisecond
		for _, k := range more {
			c.Relayers = append(c.Relayers, k.Private)
		}
	}}
	var stores []*shop
	if l.replicas == 0 {
		stores = append(stores, newShop(t, o))
	} else {
		o.config = func(c *till.Config) { c.MaxInFlight, c.BaseURL, c.Exclusive = 512, childBase, false }
		dsn := ledgertest.Postgres(t)
		for range l.replicas {
			o.db = openPostgres(t, dsn)
			stores = append(stores, newShop(t, o))
		}
	}
	for _, k := range more {
		net.MustSealTxs(stores[0].foreign(net.Minter, k.Address, 1e18, nil))
	}
	ended := make(chan struct{})
	var sealing sync.WaitGroup
	switch {
	case l.anvil: // seals by itself
	case l.every == 0:
		net.SetAutomine(true)
	default:
		sealing.Go(func() {
			tick := time.NewTicker(l.every)
			defer tick.Stop()
			for {
				select {
				case <-ended:
					return
				case <-tick.C:
					net.Seal()
				}
			}
		})
	}
	rate = sell(t, stores, atOnce, n)
	for _, s := range stores {
		s.stop()
	}
	close(ended)
	sealing.Wait()
	return rate
}

// sell sells so many goods, so many at once, to 256 wallets and with a key of its own each, at stores that share a ledger.
// It returns how many a second, and says within what time all but one in a hundred were answered.
func sell(t *testing.T, stores []*shop, atOnce, n int) (rate float64) {
	const path = "/api/buy/hello"
	s := stores[0]
	ch := s.challenge(path)
	headers := make([]map[string]string, n)
	for i := range headers {
		headers[i] = map[string]string{"PAYMENT-SIGNATURE": s.pay(ch, 0, s.net.Buyers[i%len(s.net.Buyers)]),
			"Idempotency-Key": fmt.Sprintf("order-%d-%d-%d", atOnce, i, time.Now().UnixNano())}
	}
	before, numbers := s.net.Balance(s.net.PayTo), s.relayedBy()
	took := make([]time.Duration, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range atOnce {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				from := time.Now()
				if r, err := stores[i%len(stores)].try("GET", path, headers[i]); err != nil || r.status != 200 {
					t.Errorf("purchase %d of %d at once: %d %s, %v", i, atOnce, r.status, r.raw, err)
				}
				took[i] = time.Since(from)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	if got := s.net.Balance(s.net.PayTo) - before; got != int64(n)*500_000 {
		t.Errorf("%d at once: payTo received %d, want %d payments", atOnce, got, n)
	}
	if got := s.relayedBy() - numbers; got != uint64(n) {
		t.Errorf("%d at once: %d settlements on the chain, want %d", atOnce, got, n)
	}
	slices.Sort(took)
	rate = float64(n) / elapsed.Seconds()
	t.Logf("%3d at once, stores: %d, %5.1f/s, 99 in 100 within %s", atOnce, len(stores), rate, took[n*99/100].Round(time.Millisecond))
	return rate
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
