package till

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/gas"
)

// held is what was set aside for one settlement.
type held struct {
	Tx string `json:"tx"`
	gas.Held
}

// revert is a settlement of ours that reverted.
type revert struct {
	rail.Revert
	rail.Cause
}

// payersRevert reports whether one of the settlements reverted by what is shown to be the payer's doing.
func (p *Purchase) payersRevert() bool {
	return slices.ContainsFunc(p.Reverts, func(r revert) bool { return r.Payer })
}

// numbers is how many sequence numbers were signed for, of the relayer's accounts together.
func (p *Purchase) numbers() int {
	type place struct {
		account  string
		sequence uint64
	}
	seen := make(map[place]bool)
	for _, s := range p.Sent {
		if !s.Fill {
			seen[place{s.Account, s.Sequence}] = true
		}
	}
	return len(seen)
}

// ending is why a purchase is given up.
type ending struct {
	reason string
	payer  bool // shown to be the payer's doing: counts against it (M5)
}

// errReverted says that as many settlements of a purchase have reverted as may.
var errReverted = errors.New("till: its settlements reverted")

// ended reports whether an error of a draft, or of signing it, ends the purchase, and how.
func ended(err error) (ending, bool) {
	refusal, ok := errors.AsType[*rail.Refusal](err)
	_, spent := errors.AsType[*gas.Spent](err)
	switch {
	case ok:
		return ending{refusal.Reason, refusal.Payer}, true
	case errors.Is(err, errReverted):
		return ending{reason: "invalid_exact_evm_transaction_failed"}, true
	case errors.Is(err, gas.ErrDear):
		return ending{reason: "settlement_costs_more_than_paid"}, true
	case errors.Is(err, rail.ErrNoGas), errors.Is(err, rail.ErrFees):
		return ending{reason: "settlement_unavailable"}, true
	case spent:
		return ending{reason: "settlement_refused_today"}, true
	}
	return ending{}, false
}

// suspect has the network looked at anew where a purchase ends by what is not its payer's doing: others would end alike.
func (t *Till) suspect(ctx context.Context, p *Purchase, why ending) {
	if !why.payer {
		t.cfg.Gas.Suspect(ctx, p.Payment.Network)
	}
}

// retried calls f until it returns something that is not a node's failure to answer, with short pauses, as long as ctx
// allows: one hiccup must not cost a buyer the worker's patience.
func retried[T any](ctx context.Context, t *Till, p *Purchase, f func() (T, error)) (T, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		v, err := f()
		if _, over := ended(err); err == nil || over || ctx.Err() != nil {
			return v, err
		}
		t.cfg.Log.Warn("chain not readable, asking again", "purchase", p.ID, "network", p.Payment.Network, "err", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return v, err
		}
	}
}

// draft drafts the first settlement of a purchase.
func (t *Till) draft(ctx context.Context, r rail.Rail, p *Purchase) (rail.Draft, error) {
	d, err := retried(ctx, t, p, func() (rail.Draft, error) { return r.Draft(ctx, &p.Payment) })
	if err != nil {
		return nil, fmt.Errorf("drafting the settlement: %w", err)
	}
	return d, nil
}

// redraft drafts another settlement of a purchase whose last number is spent, if it may draw one (M15).
func (t *Till) redraft(ctx context.Context, r rail.Rail, p *Purchase) (rail.Draft, error) {
	last := ending{payer: p.payersRevert()}
	if !gas.MayDraft(p.Mark.Local || p.Mark.Code != "", len(p.Reverts), p.numbers()) {
		return nil, last.reverted()
	}
	d, err := r.Draft(ctx, &p.Payment)
	if err == nil && !gas.MayDraft(d.Price().Code != "", len(p.Reverts), p.numbers()) {
		return nil, last.reverted() // it has code by now
	}
	return d, err
}

// reverted is the error that ended turns into this ending.
func (e ending) reverted() error {
	return &rail.Refusal{Reason: "invalid_exact_evm_transaction_failed", Message: "its settlement reverted", Err: errReverted, Payer: e.payer}
}

// pay takes from the day's budgets what a signature for a new number costs, in the transaction that stores it.
func (t *Till) pay(tx ledger.Tx, p *Purchase, s rail.Signed, price rail.Price) error {
	if s.Fill || slices.ContainsFunc(p.Sent, func(o rail.Signed) bool { return o.Account == s.Account && o.Sequence == s.Sequence && s.ID != "" }) {
		return nil
	}
	if price.Code == "" {
		price.Code = p.Mark.Code
	}
	p.Mark.Code = price.Code
	h, err := t.cfg.Gas.Sign(tx, p.Payment.Network, p.Payment.Payer, p.Amount, price)
	if err != nil {
		return err
	}
	if h != (gas.Held{Day: h.Day}) {
		p.Held = append(p.Held, held{s.ID, h})
	}
	return nil
}

// landed gives back what was held for a purchase that is paid.
func (t *Till) landed(tx ledger.Tx, p *Purchase) error {
	var back []gas.Held
	for _, h := range p.Held {
		back = append(back, h.Held)
	}
	p.Held = nil
	return t.cfg.Gas.Settled(tx, p.Payment.Network, p.Payment.Payer, p.Mark.Code, back)
}

// noteReverts counts the reverts that the journal has not, once each, with why they did.
func (t *Till) noteReverts(ctx context.Context, r rail.Rail, p *Purchase, found []rail.Revert) (*Purchase, error) {
	for _, f := range found {
		known := func(p *Purchase) bool {
			return slices.ContainsFunc(p.Reverts, func(v revert) bool { return v.Tx == f.Tx })
		}
		if known(p) {
			continue
		}
		why, err := retried(ctx, t, p, func() (rail.Cause, error) { return r.Explain(ctx, &p.Payment, f) })
		if err != nil {
			return p, err
		}
		t.cfg.Log.Warn("settlement reverted", "purchase", p.ID, "network", p.Payment.Network, "tx", f.Tx, "gas", f.Gas, "cost", f.Cost,
			"why", why.Reason, "payers_doing", why.Payer)
		p2, err := t.advance(ctx, p.ID, []State{p.State}, "reverted", func(tx ledger.Tx, q *Purchase) error {
			if known(q) {
				return errMoved
			}
			// A replacement has the place of what it replaced.
			var of gas.Held
			i := slices.IndexFunc(q.Held, func(h held) bool { return h.Tx == f.Tx || q.replaced(h.Tx, f.Tx) })
			if i >= 0 {
				of = q.Held[i].Held
				q.Held = slices.Delete(q.Held, i, i+1)
			}
			q.Reverts = append(q.Reverts, revert{f, why})
			return t.cfg.Gas.Reverted(tx, q.Payment.Network, q.Payment.Payer, q.Mark.Code, of, f, why)
		})
		if err != nil {
			return p, err
		}
		p = p2
		if !why.Payer {
			t.cfg.Gas.Suspect(ctx, p.Payment.Network)
		}
	}
	return p, nil
}

// replaced reports whether two settlements have the same number.
func (p *Purchase) replaced(a, b string) bool {
	at := func(id string) int { return slices.IndexFunc(p.Sent, func(s rail.Signed) bool { return s.ID == id }) }
	i, j := at(a), at(b)
	return i >= 0 && j >= 0 && p.Sent[i].Account == p.Sent[j].Account && p.Sent[i].Sequence == p.Sent[j].Sequence
}
