package evm_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// A stranger's settlement is what the payer authorized, in a final block: to this receiver, of this
// amount, and no plain transfer.
func TestSettled(t *testing.T) {
	t.Parallel()
	h := openOn(t, 8453)
	r := h.Rail().(*evm.Rail)
	payer, seller := h.Buyers[0], h.Buyers[1].Address
	pay := h.SignTransfer(payer, seller, 5_000)
	sent := h.Send(h.Minter, h.Asset, pay.Call()).Hash().Hex()
	again := h.Send(h.Minter, h.Asset, pay.Call()).Hash().Hex() // used already: it reverts
	plain := h.Send(payer, h.Asset, token.PayCall(seller, big.NewInt(5_000))).Hash().Hex()
	h.Seal()
	ask := func(tx string, from, to string, amount int64) error {
		t.Helper()
		_, err := r.Settled(t.Context(), rail.Settlement{Tx: tx, Payer: from, PayTo: to, Amount: big.NewInt(amount)})
		return err
	}
	p, s := payer.Address.Hex(), seller.Hex()
	if err := ask(sent, p, s, 5_000); !errors.Is(err, rail.ErrNotFinal) {
		t.Errorf("before it is final: %v", err)
	}
	h.Finalize()
	got, err := r.Settled(t.Context(), rail.Settlement{Tx: "0x" + strings.ToUpper(sent[2:]), Payer: strings.ToLower(p),
		PayTo: s, Amount: big.NewInt(5_000)})
	if err != nil || got.Tx != sent || got.Block == 0 || got.Time.IsZero() {
		t.Fatalf("settled: %+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		tx, from, to string
		amount       int64
		want         error
	}{
		"of another payer":      {sent, s, s, 5_000, rail.ErrOtherPayment},
		"to another":            {sent, p, p, 5_000, rail.ErrOtherPayment},
		"of more":               {sent, p, s, 5_001, rail.ErrOtherPayment},
		"of less":               {sent, p, s, 4_999, rail.ErrOtherPayment},
		"that reverted":         {again, p, s, 5_000, rail.ErrReverted},
		"that is a transfer":    {plain, p, s, 5_000, rail.ErrOtherPayment},
		"that nobody sent":      {"0x" + strings.Repeat("ab", 32), p, s, 5_000, rail.ErrNotFinal},
		"that is no hash":       {"0x12", p, s, 5_000, rail.ErrOtherPayment},
		"of an impossible name": {sent, "ada.eth", s, 5_000, rail.ErrOtherPayment},
	} {
		if err := ask(c.tx, c.from, c.to, c.amount); !errors.Is(err, c.want) {
			t.Errorf("a settlement %s: %v, want %v", name, err, c.want)
		}
	}
}
