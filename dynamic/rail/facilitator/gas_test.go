package facilitator_test

import (
	"testing"
	"time"

	"agentstore/cmd/devnet/chaintest"
	"agentstore/cmd/devnet/token"
	"agentstore/dynamic/rail/facilitator"
)

// relayed is how many transactions the relayer has in blocks.
func (s *shop) relayed(t *testing.T) uint64 {
	t.Helper()
	n, err := s.RPC.NonceAt(t.Context(), s.Relayer.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A payer whose contract accepts what it then reverts costs one transaction, however often it is handed in; and once the
// day's loss is reached nobody is taken who has not settled here before.
func TestHostileContractCostsOneRevert(t *testing.T) {
	s := openWith(t, chaintest.Options{Code: [][]byte{token.Turncoat, token.Burner}}, 1)
	honest := s.SignTransfer(s.Buyers[0], s.PayTo, 500_000)
	var a facilitator.Settled
	if s.post(t, "/settle", s.request(t, honest, nil), &a); !a.Success {
		t.Fatalf("settle = %+v", a)
	}
	before := s.relayed(t)
	began := time.Now()
	trap := s.SignWallet(chaintest.Wallet{Address: s.Coded[0].Address, Owner: s.Buyers[0]}, s.PayTo, 500_000)
	for range 3 {
		if s.post(t, "/settle", s.request(t, trap, nil), &a); a.Success || a.Reason != "invalid_exact_evm_transaction_failed" {
			t.Errorf("settle of a turncoat = %+v", a)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
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
	if status := s.post(t, "/settle", s.request(t, s.SignTransfer(s.Buyers[1], s.PayTo, 500_000), nil), &e); status != 429 {
		t.Errorf("a plain stranger after the day's loss: %d, want 429", status)
	}
	if s.post(t, "/settle", s.request(t, s.SignTransfer(s.Buyers[0], s.PayTo, 500_000), nil), &a); !a.Success {
		t.Errorf("one who settled before = %+v, want a success", a)
	}
	if n := s.relayed(t) - before; n != 2 {
		t.Errorf("%d transactions, want 2", n)
	}
}

// What is worth less than twice the cost of settling it is not settled.
func TestSmallestAmount(t *testing.T) {
	s := open(t)
	pay := s.SignTransfer(s.Buyers[0], s.PayTo, 1)
	body := s.request(t, pay, func(m map[string]any) {
		for _, want := range []map[string]any{m["paymentRequirements"].(map[string]any), m["paymentPayload"].(map[string]any)["accepted"].(map[string]any)} {
			want["amount"] = "1"
		}
	})
	var v facilitator.Verified
	if status := s.post(t, "/verify", body, &v); status != 200 || v.Valid || v.Reason != "invalid_payment_requirements" {
		t.Errorf("verify = %d %+v, want invalid_payment_requirements", status, v)
	}
	var a facilitator.Settled
	if s.post(t, "/settle", body, &a); a.Success || a.Reason != "invalid_payment_requirements" || s.relayed(t) != 0 {
		t.Errorf("settle = %+v after %d transactions", a, s.relayed(t))
	}
}
