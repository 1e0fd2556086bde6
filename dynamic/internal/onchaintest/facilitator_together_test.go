package onchaintest_test

import (
	"math/big"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/rail/facilitator"
)

// multicalls is how many transactions to Multicall3 are in blocks.
func (s *service) multicalls(t *testing.T) (n int) {
	t.Helper()
	for i := range s.Head().Number.Int64() + 1 {
		b, err := s.RPC.BlockByNumber(t.Context(), big.NewInt(i))
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range b.Transactions() {
			if tx.To() != nil && *tx.To() == chain.Multicall {
				n++
			}
		}
	}
	return n
}

// Payments that are presented at once are settled together, each answered with its own settlement,
// and found again by a process that knows nothing of them.
func TestPaymentsAreSettledTogether(t *testing.T) {
	const n = 24
	s := serviceWith(t, chaintest.Options{Buyers: n, Manual: true}, 0)
	ended := make(chan struct{})
	var sealing sync.WaitGroup
	sealing.Go(func() {
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				s.Seal()
			}
		}
	})
	defer func() { close(ended); sealing.Wait() }()
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = s.request(t, s.SignTransfer(s.Buyers[i], s.PayTo, 500_000), nil)
	}
	settle := func() []facilitator.Settled {
		out := make([]facilitator.Settled, n)
		var wg sync.WaitGroup
		for i, b := range bodies {
			wg.Go(func() {
				if status := s.post(t, "/settle", b, &out[i]); status != 200 || !out[i].Success ||
					out[i].Payer != s.Buyers[i].Address.Hex() {
					t.Errorf("payment %d = %d %+v", i, status, out[i])
				}
			})
		}
		wg.Wait()
		return out
	}
	first := settle()
	several := s.multicalls(t)
	if several == 0 {
		t.Error("no transaction for several")
	}
	if got := s.Balance(s.PayTo); got != n*500_000 {
		t.Errorf("payTo has %d, want %d payments", got, n)
	}
	s.stop()
	s.start(t)
	for i, a := range settle() {
		if a.Transaction != first[i].Transaction {
			t.Errorf("payment %d is answered with %s, before with %s", i, a.Transaction, first[i].Transaction)
		}
	}
	if got := s.multicalls(t); got != several || s.Balance(s.PayTo) != n*500_000 {
		t.Errorf("%d transactions for several after %d, payTo has %d", got, several, s.Balance(s.PayTo))
	}
}
