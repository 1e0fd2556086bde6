package solana_test

import (
	"errors"
	"math/big"
	"testing"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/dynamic/rail"
)

// A stranger's settlement is what the payer signed, in a final block: to this receiver, of this
// amount, whoever paid its fee.
func TestSettled(t *testing.T) {
	t.Parallel()
	h := open(t)
	pay := h.pay(price)
	wire := cosigned(t, pay.wire(t))
	h.land(pay.wire(t))
	tx := sol.SignatureFromBytes(wire[1:65]).String()
	payer, to := pay.buyer.PublicKey().String(), pay.to.String()
	ask := func(tx, from, to string, amount int64) error {
		t.Helper()
		_, err := h.rail.Settled(t.Context(),
			rail.Settlement{Tx: tx, Payer: from, PayTo: to, Amount: big.NewInt(amount)})
		return err
	}
	if err := ask(tx, payer, to, price); !errors.Is(err, rail.ErrNotFinal) {
		t.Errorf("before it is final: %v", err)
	}
	h.Finalize()
	got, err := h.rail.Settled(t.Context(),
		rail.Settlement{Tx: tx, Payer: payer, PayTo: to, Amount: big.NewInt(price)})
	if err != nil || got.Tx != tx || got.Block == 0 || got.Time.IsZero() {
		t.Fatalf("settled: %+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		tx, from, to string
		amount       int64
		want         error
	}{
		"of another payer":    {tx, person("buyer-1").PublicKey().String(), to, price, rail.ErrOtherPayment},
		"of the fee payer":    {tx, person("feepayer").PublicKey().String(), to, price, rail.ErrOtherPayment},
		"to another":          {tx, payer, person("buyer-1").PublicKey().String(), price, rail.ErrOtherPayment},
		"of more":             {tx, payer, to, price + 1, rail.ErrOtherPayment},
		"that nobody sent":    {sol.Signature{9: 1}.String(), payer, to, price, rail.ErrNotFinal},
		"that is none":        {"l0O", payer, to, price, rail.ErrOtherPayment},
		"of an address of Ev": {tx, "0x1111111111111111111111111111111111111111", to, price, rail.ErrOtherPayment},
	} {
		if err := ask(c.tx, c.from, c.to, c.amount); !errors.Is(err, c.want) {
			t.Errorf("a settlement %s: %v, want %v", name, err, c.want)
		}
	}
}
