package onchaintest_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
)

// relayed is how many transactions the relayer has in blocks.
func (s *service) relayed(t *testing.T) uint64 {
	t.Helper()
	n, err := s.RPC.NonceAt(t.Context(), s.Relayer.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A payer whose contract accepts what it then reverts costs one transaction, however often it is
// handed in; and once the day's loss is reached no contract is taken that has not settled here
// before, and plain accounts are.
func TestHostileContractCostsOneRevert(t *testing.T) {
	s := serviceWith(t, chaintest.Options{Code: [][]byte{token.Turncoat, token.Burner}}, 100) // for one of them
	honest := s.SignTransfer(s.Buyers[0], s.PayTo, 500_000)
	var a facilitator.Settled
	if s.post(t, "/settle", s.request(t, honest, nil), &a); !a.Success {
		t.Fatalf("settle = %+v", a)
	}
	before := s.relayed(t)
	began := time.Now()
	trap := s.SignWallet(chaintest.Wallet{Address: s.Coded[0].Address, Owner: s.Buyers[0]}, s.PayTo, 500_000)
	for range 3 {
		if s.post(t, "/settle", s.request(t, trap, nil), &a); a.Success ||
			a.Reason != "invalid_exact_evm_transaction_failed" {
			t.Errorf("settle of a turncoat = %+v", a)
		}
	}
	// Who waits for more than there is is answered after half a minute, three times.
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s: the answer waits for what is over", took)
	}
	if n := s.relayed(t) - before; n != 1 {
		t.Errorf("%d transactions for a turncoat, want 1", n)
	}
	other := s.SignWallet(chaintest.Wallet{Address: s.Coded[1].Address, Owner: s.Buyers[0]}, s.PayTo, 500_000)
	var e struct{ Error string }
	if status := s.post(t, "/settle", s.request(t, other, nil), &e); status != 429 || e.Error == "" {
		t.Errorf("a stranger after the day's loss: %d %+v, want 429", status, e)
	}
	if s.post(t, "/settle", s.request(t, s.SignTransfer(s.Buyers[1], s.PayTo, 500_000), nil), &a); !a.Success {
		t.Errorf("a plain stranger after the day's loss = %+v, want a success", a)
	}
	if s.post(t, "/settle", s.request(t, s.SignTransfer(s.Buyers[0], s.PayTo, 500_000), nil), &a); !a.Success {
		t.Errorf("one who settled before = %+v, want a success", a)
	}
	if n := s.relayed(t) - before; n != 3 {
		t.Errorf("%d transactions, want 3", n)
	}
}

// What is worth less than twice the cost of settling it is not settled.
func TestFacilitatorSmallestAmount(t *testing.T) {
	s := openService(t)
	body := s.amount(t, 1)
	var v facilitator.Verified
	if status := s.post(t, "/verify", body, &v); status != 200 || v.Valid ||
		v.Reason != "invalid_payment_requirements" {
		t.Errorf("verify = %d %+v, want invalid_payment_requirements", status, v)
	}
	var a facilitator.Settled
	if s.post(t, "/settle", body, &a); a.Success || a.Reason != "invalid_payment_requirements" || s.relayed(t) != 0 {
		t.Errorf("settle = %+v after %d transactions", a, s.relayed(t))
	}
}

// A wallet with money for one payment signs many and has them all settled at once: one is sent, and
// honest payers are settled meanwhile.
func TestMoneyForOneSettlesOne(t *testing.T) {
	const flood, honest = 60, 4
	s := serviceWith(t, chaintest.Options{Manual: true, Buyers: honest}, 0)
	gift := s.SignTransfer(s.Buyers[0], s.Poor.Address, 500_000)
	s.Send(s.Minter, s.Asset, gift.Call())
	s.MustSeal()
	before := s.relayed(t)

	sealing, stop := context.WithCancel(t.Context())
	var seals sync.WaitGroup
	seals.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-tick.C:
				if _, err := s.Seal(); err != nil {
					t.Errorf("sealing: %v", err)
				}
			case <-sealing.Done():
				return
			}
		}
	})
	defer seals.Wait()
	defer stop()

	answers := make([]facilitator.Settled, flood+honest)
	var wg sync.WaitGroup
	for i := range answers {
		who := s.Poor
		if i >= flood {
			who = s.Buyers[i-flood]
		}
		body := s.request(t, s.SignTransfer(who, s.PayTo, 500_000), nil)
		wg.Go(func() { s.post(t, "/settle", body, &answers[i]) })
	}
	wg.Wait()
	reasons := map[string]int{}
	for i, a := range answers {
		if i < flood {
			reasons[a.Reason]++
		} else if !a.Success {
			t.Errorf("an honest payer: %+v", a)
		}
	}
	if reasons[""] != 1 {
		t.Errorf("money for one settled %d: %v", reasons[""], reasons)
	}
	if n := s.relayed(t) - before; n > honest+1 { // some are settled together
		t.Errorf("%d transactions, want %d at most: %v", n, honest+1, reasons)
	}
}

// costly is a rail on which settling costs so much.
type costly struct {
	rail.Rail
	cost int64
}

func (r costly) Standing(ctx context.Context) (rail.Standing, error) {
	s, err := r.Rail.Standing(ctx)
	s.Cost = r.cost
	return s, err
}

// amount asks for so much and pays it.
func (s *service) amount(t *testing.T, n int64) []byte {
	t.Helper()
	return s.request(t, s.SignTransfer(s.Buyers[0], s.PayTo, n), func(m map[string]any) {
		for _, want := range []map[string]any{m["paymentRequirements"].(map[string]any),
			m["paymentPayload"].(map[string]any)["accepted"].(map[string]any)} {
			want["amount"] = strconv.FormatInt(n, 10)
		}
	})
}

// Twice the cost is enough to the unit, and one unit less is not.
func TestFacilitatorSmallestAmountToTheUnit(t *testing.T) {
	s := openService(t)
	cheap := s.rail
	for _, c := range []struct {
		amount int64
		cost   int64
		ok     bool
	}{{500_000, 250_000, true}, {500_001, 250_001, false}} {
		s.stop()
		s.rail = costly{cheap, c.cost}
		s.start(t)
		var v facilitator.Verified
		if status := s.post(t, "/verify", s.amount(t, c.amount), &v); status != 200 || v.Valid != c.ok {
			t.Errorf("%d where settling costs %d: %d %+v, want valid %v", c.amount, c.cost, status, v, c.ok)
		}
	}
}
