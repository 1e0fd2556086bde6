package chaintest

import (
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
)

func TestPaysOnTheFirstChain(t *testing.T) {
	n := New(t, Options{Manual: true})
	pay := n.SignTransfer(n.Buyers[0], n.PayTo, 500_000)
	tx := n.Send(n.Relayer, n.Asset, pay.Call())
	if r := n.Receipt(tx.Hash()); r != nil {
		t.Fatal("mined before Seal")
	}
	n.MustSeal()
	r := n.Receipt(tx.Hash())
	if r == nil || r.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("receipt = %v, want success", r)
	}
	if got := n.Balance(n.PayTo); got != 500_000 {
		t.Errorf("balance of payTo = %d, want 500000", got)
	}
	if !n.Used(pay.From, pay.Nonce) {
		t.Error("the authorization is not marked as used")
	}
}
