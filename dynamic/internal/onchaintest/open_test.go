package onchaintest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger/ledgertest"
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
	var floods []tilltest.Reply
	wg.Go(func() {
		floods = s.atOnce(flood, func(int) string { return path }, func(i int) map[string]string { return headers[i] })
	})
	got := make([]tilltest.Reply, honest)
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
		if r.Status == 200 {
			sold++
		} else {
			t.Errorf("honest buyer %d is answered %d %s", i, r.Status, r.Raw)
		}
	}
	answers := map[string]int{}
	for _, r := range floods {
		answers[fmt.Sprintf("%d %s %s", r.Status, r.Code(), r.Str("reason"))]++
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

// Two replicas that claim at the same time count together: what a wallet has buys no more than
// that, and no wallet has more than eight open.
// It runs by itself: its authorizations are not to expire while other tests have the machine.
func TestReplicasCountOpenPaymentsTogether(t *testing.T) {
	dsn := ledgertest.Postgres(t)
	config := func(c *till.Config) {
		c.BaseURL, c.Exclusive, c.OpenWait, c.SettleWait = childBase, false, time.Second, 2*time.Second
		c.RepeatWait = 2 * time.Second // no block comes while the others are presented again
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
			for _, p := range tilltest.Purchases(t, one.db) {
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
