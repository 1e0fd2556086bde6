package onchaintest_test

import (
	"fmt"
	"testing"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
)

// each gives each payment a transaction of its own.
func each(c *evm.Config) { c.Together = 1 }

// mined is how many transactions of an account are in blocks.
func (s *shop) mined(a common.Address) uint64 {
	s.t.Helper()
	n, err := s.net.RPC.NonceAt(s.t.Context(), a, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Settlements go out over all accounts of the relayer, to the one with most room first; an account
// without gas sends nothing; and what one of them lost in a reorganisation, or never sent, is seen
// to on that account.
func TestSeveralRelayerAccounts(t *testing.T) {
	t.Parallel()
	more := []chaintest.Key{chaintest.NewKey(t), chaintest.NewKey(t), chaintest.NewKey(t)}
	s := newShop(t, shopOptions{manual: true, evm: func(c *evm.Config) {
		each(c)
		for _, k := range more {
			c.Relayers = append(c.Relayers, k.Private)
		}
	}})
	for _, k := range more[:2] { // the third has no gas
		s.net.MustSealTxs(s.foreign(s.net.Minter, k.Address, 1e18, nil))
	}
	const path, n = "/api/buy/hello", 30
	accounts := []common.Address{s.net.Relayer.Address, more[0].Address, more[1].Address}
	sell := func(between func()) []tilltest.Reply {
		t.Helper()
		ch := s.challenge(path)
		headers := make([]map[string]string, n)
		for i := range headers {
			headers[i] = map[string]string{"PAYMENT-SIGNATURE": s.pay(ch, 0, s.net.Buyers[i%5])}
		}
		var want uint64
		for _, a := range accounts {
			want += s.mined(a)
		}
		out := make(chan []tilltest.Reply)
		go func() {
			out <- s.atOnce(n, func(int) string { return path }, func(i int) map[string]string { return headers[i] })
		}()
		until(t, "the settlements to be in the pool", func() bool {
			var sum uint64
			for _, a := range accounts {
				p, err := s.net.RPC.PendingNonceAt(t.Context(), a)
				if err != nil {
					return false
				}
				sum += p
			}
			return sum == want+n
		})
		between()
		return <-out
	}
	for i, r := range sell(func() { s.net.MustSeal() }) {
		s.want(fmt.Sprintf("payment %d", i), r, 200, "")
	}
	for _, a := range accounts {
		if got := s.mined(a); got != n/3 {
			t.Errorf("%s sent %d of %d, want a third", a, got, n)
		}
	}
	if got := s.mined(more[2].Address); got != 0 {
		t.Errorf("an account without gas sent %d", got)
	}
	// The node forgets all of them.
	for i, r := range sell(func() { s.net.Drop(); s.net.SetAutomine(true) }) {
		s.want(fmt.Sprintf("payment %d that was dropped", i), r, 200, "")
	}
	s.net.SetAutomine(false)
	// A payer cancels: the number is used up on the account that has it.
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	answer := make(chan tilltest.Reply, 1)
	go func() {
		r, _ := s.try("GET", path, map[string]string{"PAYMENT-SIGNATURE": p.header(t)})
		answer <- r
	}()
	until(t, "its settlement", func() bool {
		k, err := s.net.RPC.PendingTransactionCount(t.Context())
		return err == nil && k > 0
	})
	s.net.MustSealTxs(s.foreign(s.net.Minter, s.net.Asset, 0, s.cancel(s.net.Buyers[0], p)))
	s.want("a payment that was withdrawn", <-answer, 402, "payment_invalid")
	s.net.SetAutomine(true)
	for i := range 6 {
		r, _ := s.buy(path, s.net.Buyers[i%5], nil)
		s.want(fmt.Sprintf("purchase %d after it", i), r, 200, "")
	}
	delivered := 0
	for _, p := range tilltest.Purchases(t, s.db) {
		if p.State == till.Delivered {
			delivered++
		}
	}
	if delivered != 2*n+6 || s.net.Balance(s.net.PayTo) != int64(delivered)*500_000 {
		t.Errorf("%d delivered, payTo has %d", delivered, s.net.Balance(s.net.PayTo))
	}
}
