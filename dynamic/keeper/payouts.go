package keeper

import (
	"context"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// Payout is the category of what was paid back: both halves of its lines are below zero, so that
// the sum of a network is what stays.
const Payout Category = "payout"

// payouts makes the lines of what was paid back on a network in a span of time: of each debt that
// is noted as paid, and of each whose payout was redeemed, which the chain alone says. What the
// keeper paid by hand is his word.
func (d *Inbox) payouts(ctx context.Context, r rail.Rail, from, to time.Time) (lines []Line, err error) {
	debts, err := d.cfg.Till.Debts(ctx, true)
	if err != nil {
		return nil, err
	}
	in := func(p *rail.Proof) bool { return p != nil && !p.BlockTime.Before(from) && p.BlockTime.Before(to) }
	type pair struct {
		till.Debt
		found *rail.Proof
	}
	var pairs []pair
	of := map[till.Spot]string{} // the debt that a transfer paid
	for _, debt := range debts {
		if debt.Purchase.Payment.Network != r.Info().Network || debt.Paid != nil && !in(debt.Paid) {
			continue
		}
		found, err := redeemed(ctx, r, debt)
		if err != nil {
			return nil, fmt.Errorf("payout of %s: %w", debt.ID, err)
		}
		if found != nil {
			of[spotOf(found)] = debt.ID
		}
		if in(debt.Paid) || in(found) {
			pairs = append(pairs, pair{debt, found})
		}
	}
	for _, p := range pairs {
		other := ""
		if p.Paid != nil && of[spotOf(p.Paid)] != p.ID {
			other = of[spotOf(p.Paid)]
		}
		lines = append(lines, payoutLine(p.Debt, p.found, other))
	}
	return lines, nil
}

func spotOf(p *rail.Proof) till.Spot { return till.Spot{Tx: p.Tx, Log: p.LogIndex} }

// redeemed is the final Transfer by which a payout of a debt was redeemed, nil for none.
func redeemed(ctx context.Context, r rail.Rail, d till.Debt) (*rail.Proof, error) {
	pays, ok := r.(rail.Payouts)
	if !ok {
		return nil, nil
	}
	for _, o := range d.Payouts {
		p := d.Payment(o.From, o.ValidBefore)
		p.Signature = o.Signature
		red, err := pays.Redeemed(ctx, p, d.Purchase.Proof.Block)
		if err != nil || red.Proof != nil {
			return red.Proof, err
		}
	}
	return nil, nil
}

// payoutLine holds what is noted of a debt against what the chain has of it. other is the debt that
// was paid by the transfer that is noted, where it is not this one.
func payoutLine(d till.Debt, found *rail.Proof, other string) Line {
	p := d.Purchase
	l := Line{Network: p.Payment.Network, PurchaseID: p.ID, Item: p.Item, State: string(p.State), Category: Payout}
	at := found
	if at == nil {
		at = d.Paid
	}
	l.Time, l.Block, l.Tx, l.LogIndex = at.BlockTime.UTC(), at.Block, at.Tx, at.LogIndex
	byHand := d.Paid != nil && d.Paid.ByOther && d.Paid.Block == 0
	if d.Paid != nil {
		l.Ledger = -p.Amount
	}
	if found != nil {
		l.Chain = -p.Amount
	}
	switch {
	case d.Paid == nil:
		l.finds("payout_not_noted", "It is of %s.", d.ID)
	case byHand && found != nil:
		l.Ledger, l.Chain = -p.Amount, -2*p.Amount
		l.finds("paid_twice", "By hand it was %s, of %s.", d.Paid.Tx, d.ID)
	case other != "":
		l.finds("payout_twice", "They are %s and %s.", d.ID, other)
	case byHand:
		l.Explained = p.Amount
	case found == nil:
		l.finds("payout_not_on_chain", "It is of %s.", d.ID)
	case spotOf(found) != spotOf(d.Paid):
		l.finds("payout_moved", "It has %s, log %d, of %s.", d.Paid.Tx, d.Paid.LogIndex, d.ID)
	}
	if p.State == till.Reversed {
		l.finds("payout_of_nothing", "It is of %s.", d.ID)
	}
	return l.close()
}
