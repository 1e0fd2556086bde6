package till_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/npmtest"
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

// Three stores that share a ledger on PostgreSQL sell together no less than four fifths of what one
// sells that has its ledger in a file. With a block a second it is the chain that all wait for.
// Where a block comes at once nothing waits, and all of it is a matter of processors, which the
// chain, the server, the buyers and three stores share here: each buyer buys eight times at 128 at
// once and four times at 512, since until all have begun, and when the first have ended, there is
// less to put together. They take turns, and one pair differs from the next by a tenth and more: it
// is the middle one of seven.
func TestSoakReplicas(t *testing.T) {
	soak(t)
	for _, c := range []struct {
		every            time.Duration
		atOnce, n, pairs int
	}{{time.Second, 128, 512, 3}, {time.Second, 512, 512, 3}, {0, 128, 1024, 7}, {0, 512, 2048, 7}} {
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
		if middle < 0.8 {
			t.Error("want 0.8 at least")
		}
	}
}

// Where there is a queue, one transaction settles many, and no fewer are sold: 256 at once by
// wallets that bought before. Batched and not take turns.
func TestSoakBatches(t *testing.T) {
	soak(t)
	const atOnce, n = 256, 768
	for _, c := range []struct {
		name          string
		batched, peer load
		faster, fewer float64 // at least
	}{
		{"a block a second, one account", load{every: time.Second}, load{every: time.Second}, 2, 10},
		{"a block a second, six accounts", load{every: time.Second, more: 5}, load{every: time.Second, more: 5}, 1, 10},
		{"immediate blocks, one account", load{}, load{}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.batched.warm, c.peer.warm, c.peer.alone = true, true, true
			var ratios, each []float64
			for range 3 {
				rate, in := c.batched.run(t, atOnce, n)
				other, _ := c.peer.run(t, atOnce, n)
				ratios, each = append(ratios, rate/other), append(each, in)
			}
			slices.Sort(ratios)
			slices.Sort(each)
			t.Logf("%.2f times as many a second, %.1f a transaction", ratios[1], each[1])
			if ratios[1] < c.faster || each[1] < c.fewer {
				t.Errorf("want %.1f times and %.0f a transaction at least", c.faster, c.fewer)
			}
		})
	}
}

// The stock seller, @x402/express with the stock facilitator in its process, sells no more than a
// sixth of what a store of one account does, with a block a second. As its documents have it most
// payments of 256 at once meet one number of the relayer's account, and few are sold. Where its
// numbers are counted and it asks often, as it is helped to here, it settles as many in a block as
// a node's pool keeps of one account, which are 64: of 256 at once a store sells four times that,
// which is to each buyer in each block, and of 512 more. They take turns.
func TestSoakAgainstStock(t *testing.T) {
	soak(t)
	for _, c := range []struct {
		name   string
		atOnce int
		faster float64 // at least
		env    []string
		stock  func(t *testing.T, s *shop, p pace) float64
	}{
		{"as documented", 256, 6, []string{"AS_DOCUMENTED=1"}, func(t *testing.T, s *shop, p pace) float64 {
			return attempt(t, s, 256, p)
		}},
		{"helped", 256, 3.9, nil, func(t *testing.T, s *shop, p pace) float64 {
			rate, _ := sell(t, []*shop{s}, 256, 512, p) // whose payments are valid for a minute
			return rate
		}},
		{"helped, more at once", 512, 6, nil, func(t *testing.T, s *shop, p pace) float64 {
			rate, _ := sell(t, []*shop{s}, 512, 512, p)
			return rate
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ratios []float64
			for range 3 {
				ours, _ := load{every: time.Second, warm: true}.run(t, c.atOnce, 3*c.atOnce)
				ratios = append(ratios, ours/runStock(t, c.env, c.stock))
			}
			slices.Sort(ratios)
			t.Logf("%.1f times as many a second as the stock seller", ratios[1])
			if ratios[1] < c.faster {
				t.Errorf("want %.1f times at least", c.faster)
			}
		})
	}
}

// attempt buys so many at once, once each, and returns how many a second were sold: answered and on
// the chain.
func attempt(t *testing.T, s *shop, n int, p pace) float64 {
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	paid := make([]payment, n)
	for i := range paid {
		paid[i] = s.sign(ch, 0, s.net.Buyers[i%len(s.net.Buyers)], nil)
	}
	var answered atomic.Int64
	var wg sync.WaitGroup
	p.begin()
	began := time.Now()
	for _, pay := range paid {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("PAYMENT-SIGNATURE", pay.header(t))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return // not answered
			}
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				answered.Add(1)
			}
		})
	}
	wg.Wait()
	elapsed := p.whole(time.Since(began))
	settled := 0
	for _, pay := range paid {
		if s.net.Used(pay.From, pay.Nonce) {
			settled++
		}
	}
	t.Logf("%d at once, the stock seller: %d answered with the goods, %d settled, in %s", n, answered.Load(), settled,
		elapsed)
	if answered.Load() == 0 || settled == 0 {
		t.Error("it sold nothing")
	}
	return float64(answered.Load()) / elapsed.Seconds()
}

// runStock starts the stock seller on a chain with a block a second, and returns what buys there
// says that it sold a second.
func runStock(t *testing.T, env []string, buys func(*testing.T, *shop, pace) float64) float64 {
	source := filepath.Join("..", "..", "cmd", "bench", "stock")
	modules, err := npmtest.Modules(filepath.Join("..", "..", "cmd", "devnet"))
	if err != nil {
		t.Fatal(err)
	}
	// Node looks for packages above the script, so it stands beside them.
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join(source, "seller.mjs"))
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "seller.mjs"), script, 0o600),
		os.Symlink(modules, filepath.Join(dir, "node_modules")))
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := free.Addr().String()
	_, port, _ := net.SplitHostPort(listen)
	free.Close()
	chain := chaintest.New(t, chaintest.Options{Manual: true, Buyers: 256, Lead: 250})
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "seller.mjs"))
	said := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Env = append(append(os.Environ(), env...), "PORT="+port, "RPC="+chain.URL, "PAY_TO="+chain.PayTo.Hex(),
		"RELAYER="+chain.Relayer.Hex())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	s := &shop{t: t, net: chain, url: "http://" + listen}
	until(t, "the stock seller's terms", func() bool {
		r, err := s.try("GET", "/api/buy/hello", nil)
		return err == nil && r.status == 402
	})
	p, stop := seal(chain, time.Second)
	defer stop()
	rate := buys(t, s, p)
	if t.Failed() {
		t.Logf("the stock seller: %.2000s", said)
	}
	return rate
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
	alone    bool          // each payment has a transaction of its own
	warm     bool          // each wallet has bought before
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
		if l.alone {
			c.Together = 1
		}
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
	if l.warm {
		sell(t, stores, 256, 256, p)
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
				if r, err := stores[i%len(stores)].try("GET", path, headers[i]); err != nil || r.status != 200 {
					t.Errorf("purchase %d of %d at once: %d %s, %v", i, atOnce, r.status, r.raw, err)
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
