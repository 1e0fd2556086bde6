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
	"agentstore/dynamic/rail/evm"
	"agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
)

// load is one run: so many purchases, so many at once, by 256 wallets and with a key of its own each. It returns how many
// settled a second, and the time that all but one in a hundred took.
func (s *shop) load(atOnce, n int) (rate float64, p99 time.Duration) {
	s.t.Helper()
	const path = "/api/buy/hello"
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
				if r, err := s.try("GET", path, headers[i]); err != nil || r.status != 200 {
					s.t.Errorf("purchase %d of %d at once: %d %s, %v", i, atOnce, r.status, r.raw, err)
				}
				took[i] = time.Since(from)
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	if got := s.net.Balance(s.net.PayTo) - before; got != int64(n)*500_000 {
		s.t.Errorf("%d at once: payTo received %d, want %d payments", atOnce, got, n)
	}
	if got := s.relayedBy() - numbers; got != uint64(n) {
		s.t.Errorf("%d at once: %d settlements on the chain, want %d", atOnce, got, n)
	}
	slices.Sort(took)
	return float64(n) / elapsed.Seconds(), took[len(took)*99/100]
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

// The more buy at once, the more is sold, or as much: on one account and on four, with a block a second and with one for
// whatever comes, at 512 at once no less than four fifths of the best.
func TestSoakLoad(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("loads take minutes; set STORE_SOAK=1")
	}
	for _, c := range []struct {
		name     string
		accounts int
		every    time.Duration // between blocks; 0 is at once
	}{{"immediate blocks, one account", 1, 0}, {"a block a second, one account", 1, time.Second}, {"a block a second, four accounts", 4, time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			best, last := 0.0, 0.0
			for _, atOnce := range []int{32, 64, 128, 256, 512} {
				// Each on a chain of its own: one that seals for whatever comes is soon as far ahead of the clock as it may be.
				s, stop := underLoad(t, c.accounts, c.every)
				rate, p99 := s.load(atOnce, max(256, 2*atOnce))
				stop()
				t.Logf("%3d at once: %5.1f/s, 99 in 100 within %s", atOnce, rate, p99.Round(time.Millisecond))
				best, last = max(best, rate), rate
			}
			if last < 0.8*best {
				t.Errorf("%.1f/s at 512 at once, %.1f/s at best", last, best)
			}
		})
	}
}

// underLoad is a shop with so many relayer accounts, on a chain that seals a block at each tick, or whenever something comes.
func underLoad(t *testing.T, accounts int, every time.Duration) (s *shop, stop func()) {
	var more []chaintest.Key
	for range accounts - 1 {
		more = append(more, chaintest.NewKey(t))
	}
	s = newShop(t, shopOptions{manual: true, buyers: 256, chain: chaintest.Options{Lead: 250},
		config: func(c *till.Config) { c.MaxInFlight = 512 },
		evm: func(c *evm.Config) {
			c.Poll = 100 * time.Millisecond
			for _, k := range more {
				c.Relayers = append(c.Relayers, k.Private)
			}
		}})
	for _, k := range more {
		s.net.MustSealTxs(s.foreign(s.net.Minter, k.Address, 1e18, nil))
	}
	if every == 0 {
		s.net.SetAutomine(true)
		return s, s.stop
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				s.net.Seal()
			}
		}
	}()
	return s, func() { s.stop(); close(ended); <-stopped }
}
