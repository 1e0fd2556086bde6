package keeper

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// CheckPayout implements rail.Payouts.
func (q *quiet) CheckPayout(*rail.Payment) error { return nil }

// Redeemed implements rail.Payouts: by account and nonce.
func (q *quiet) Redeemed(_ context.Context, p *rail.Payment, _ uint64) (rail.Redemption, error) {
	proof := q.redeemed[p.Payer+p.Nonce]
	return rail.Redemption{Proof: proof, Used: proof != nil, Final: q.final.Time}, q.fails
}

// owed puts a debt into the ledger, with what was signed for it and how it is noted as paid.
func (w *world) owed(signed []string, paid *rail.Proof) (d till.Debt) {
	w.t.Helper()
	p := w.sold("hello", till.Uncredited, 500_000, noon.Add(-40*24*time.Hour)) // of an earlier month
	id := w.till.DebtID(p)
	rec := map[string]any{"purchase": p.ID}
	var payouts []till.Payout
	for _, from := range signed {
		payouts = append(payouts, till.Payout{From: from, ValidBefore: noon.Add(time.Hour).Unix(), At: noon})
	}
	if payouts != nil {
		rec["payouts"] = payouts
	}
	if paid != nil {
		rec["paid"] = paid
	}
	w.set(ledger.DebtKey(id), rec)
	d, err := w.till.Debt(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// proof is a transfer of the month of these tests.
func (w *world) proof() *rail.Proof {
	w.n++
	return &rail.Proof{Tx: fmt.Sprintf("0x%064x", 13*w.n), LogIndex: 3, Block: 77, BlockTime: noon}
}

// redeems has a payout of a debt redeemed on the chain.
func (w *world) redeems(d till.Debt, from string, p *rail.Proof) {
	if w.net.redeemed == nil {
		w.net.redeemed = map[string]*rail.Proof{}
	}
	w.net.redeemed[from+d.Nonce] = p
}

// What was paid back stands against the chain: each planted difference is named, and what is as it
// should be is none.
func TestPayoutsInTheBooks(t *testing.T) {
	t.Parallel()
	hand := func(w *world) *rail.Proof { p := w.proof(); p.Block, p.ByOther = 0, true; return p }
	for name, c := range map[string]struct {
		plant      func(*world)
		kind       Kind
		chain, own int64 // of the payouts
	}{
		"redeemed and noted": {func(w *world) {
			p := w.proof()
			w.redeems(w.owed([]string{"0xold", "0xnew"}, p), "0xnew", p)
		}, "", -500_000, -500_000},
		"signed and not redeemed": {func(w *world) { w.owed([]string{"0xnew"}, nil) }, "", 0, 0},
		"by hand":                 {func(w *world) { w.owed(nil, hand(w)) }, "", 0, -500_000},
		"of another month": {func(w *world) {
			p := w.proof()
			p.BlockTime = p.BlockTime.AddDate(0, 1, 0)
			w.redeems(w.owed([]string{"0xnew"}, p), "0xnew", p)
		}, "", 0, 0},
		"noted alone": {func(w *world) { w.owed([]string{"0xnew"}, w.proof()) }, "payout_not_on_chain", 0, -500_000},
		"redeemed alone": {func(w *world) { w.redeems(w.owed([]string{"0xnew"}, nil), "0xnew", w.proof()) },
			"payout_not_noted", -500_000, 0},
		"elsewhere": {func(w *world) { w.redeems(w.owed([]string{"0xnew"}, w.proof()), "0xnew", w.proof()) },
			"payout_moved", -500_000, -500_000},
		"by hand too": {func(w *world) { w.redeems(w.owed([]string{"0xnew"}, hand(w)), "0xnew", w.proof()) },
			"paid_twice", -1_000_000, -500_000},
		"two by one": {func(w *world) {
			p := w.proof()
			w.redeems(w.owed([]string{"0xnew"}, p), "0xnew", p)
			w.owed([]string{"0xnew"}, p)
		}, "payout_twice", -500_000, -1_000_000},
		"of what was taken back": {func(w *world) {
			p := w.proof()
			d := w.owed([]string{"0xnew"}, p)
			w.redeems(d, "0xnew", p)
			d.Purchase.State = till.Reversed
			w.save(d.Purchase)
		}, "payout_of_nothing", -500_000, -500_000},
	} {
		w := newWorld(t)
		w.swept()
		c.plant(w)
		b := w.books()
		var want []Kind
		if c.kind != "" {
			want = []Kind{c.kind}
		}
		var sum Sum
		for _, s := range b.Networks[0].Sums {
			if s.Name == string(Payout) {
				sum = s
			}
		}
		if got := b.kinds(); !slices.Equal(got, want) || sum.Chain != c.chain || sum.Ledger != c.own ||
			b.Networks[0].Error != "" {
			t.Errorf("%s: told as %v, %+v, %s", name, got, sum, b.Networks[0].Error)
		}
	}
}
