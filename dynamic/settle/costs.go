package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/settle/gas"
)

// held is what was set aside for one transaction.
type held struct {
	Tx string `json:"tx"`
	gas.Held
}

// Ending is why nothing more is signed for a payment.
type Ending struct {
	Reason string
	Payer  bool // shown to be the payer's doing
}

// ErrReverted says that as many transactions for a payment have reverted as may.
var ErrReverted = errors.New("settle: its settlements reverted")

// reverted is the reason that the stock facilitator gives for a transaction that is in a block and
// moved nothing.
const reverted = "invalid_exact_evm_transaction_failed"

// Ended reports whether an error of Begin says that a payment cannot be settled, or may not be, and
// why.
func Ended(err error) (Ending, bool) {
	refusal, ok := errors.AsType[*rail.Refusal](err)
	_, spent := errors.AsType[*gas.Spent](err)
	switch {
	case ok:
		return Ending{refusal.Reason, refusal.Payer}, true
	case errors.Is(err, gas.ErrDear):
		return Ending{Reason: "settlement_costs_more_than_paid"}, true
	case errors.Is(err, rail.ErrNoGas), errors.Is(err, rail.ErrFees):
		return Ending{Reason: "settlement_unavailable"}, true
	case spent:
		return Ending{Reason: "settlement_refused_today"}, true
	}
	return Ending{}, false
}

// retried calls f until it returns something that is not a node's failure to answer, with short
// pauses, as long as ctx allows: one hiccup must not cost a buyer the worker's patience.
func retried[T any](ctx context.Context, d *Driver, s *Settlement, f func() (T, error)) (T, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		v, err := f()
		if _, over := Ended(err); err == nil || over || ctx.Err() != nil {
			return v, err
		}
		d.cfg.Log.Warn("chain not readable, asking again", "settlement", s.ID, "network", s.Network, "err", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return v, err
		}
	}
}

// redraft drafts another transaction for a member whose last number is spent, if it may draw one
// (M15).
func (d *Driver) redraft(ctx context.Context, r rail.Rail, s *Settlement, member int) (rail.Draft, error) {
	m := &s.Members[member]
	reverts, payers := s.reverted(member)
	last := &rail.Refusal{Reason: reverted, Message: "its settlement reverted", Err: ErrReverted, Payer: payers}
	if !gas.MayDraft(m.Mark.Local || m.Mark.Code != "", reverts, s.numbers(member)) {
		return nil, last
	}
	draft, err := r.Draft(ctx, []*rail.Payment{&m.Payment})
	if err == nil && !gas.MayDraft(draft.Price().Code != "", reverts, s.numbers(member)) {
		return nil, last // it has code by now
	}
	return draft, err
}

// numbers is how many sequence numbers were signed for a member, of all accounts together.
func (s *Settlement) numbers(member int) int {
	seen := make(map[place]bool)
	for _, sent := range s.Sent {
		if !sent.Fill && sent.settles(member) {
			seen[placeOf(sent)] = true
		}
	}
	return len(seen)
}

// reverted is how many transactions of a member reverted, and whether one did by what is shown to
// be the payer's doing.
func (s *Settlement) reverted(member int) (n int, payers bool) {
	for _, v := range s.Reverts {
		if i := s.sent(v.Tx); i < 0 || s.Sent[i].settles(member) {
			n++
			payers = payers || v.Payer
		}
	}
	return n, payers
}

// sent is the index of a transaction, -1 for one that is not among those that were signed.
func (s *Settlement) sent(tx string) int {
	return slices.IndexFunc(s.Sent, func(x Sent) bool { return x.ID == tx })
}

// place is what a transaction has of its relayer's account.
type place struct {
	account  string
	sequence uint64
}

func placeOf(s Sent) place { return place{s.Account, s.Sequence} }

// pay takes from the day's budgets what a signature for a new number costs, in the transaction that
// stores it.
func (d *Driver) pay(tx ledger.Tx, s *Settlement, sent Sent, price rail.Price) error {
	if sent.Fill || slices.ContainsFunc(s.Sent, func(o Sent) bool { return placeOf(o) == placeOf(sent) && sent.ID != "" }) {
		return nil
	}
	var brings int64
	for _, p := range s.payments(sent.Of) {
		brings += p.Amount.Int64()
	}
	m := s.first(sent)
	if price.Code == "" {
		price.Code = m.Mark.Code
	}
	m.Mark.Code = price.Code
	h, err := d.cfg.Gas.Sign(tx, s.Network, m.Payment.Payer, brings, price)
	if err != nil {
		return err
	}
	if h != (gas.Held{Day: h.Day}) {
		s.Held = append(s.Held, held{sent.ID, h})
	}
	return nil
}

// first is the first member of a transaction, who stands for all of them where gas is counted:
// payers with code are settled alone.
func (s *Settlement) first(sent Sent) *Member {
	if len(sent.Of) > 0 {
		return &s.Members[sent.Of[0]]
	}
	return &s.Members[0]
}

// Landed notes that a member is paid, in the transaction that credits it: what was held for its
// transactions is given back, and its payer is one who settled. A settlement without a record has
// nothing to give back.
func (d *Driver) Landed(tx ledger.Tx, s *Settlement, member string) error {
	var back []gas.Held
	if s.ID != "" {
		now, err := Read(tx, s.ID)
		if err != nil {
			return err
		}
		s = now
		if back = s.takeHeld(); len(back) > 0 {
			if err := save(tx, s); err != nil {
				return err
			}
		}
	}
	m := s.Members[s.member(member)]
	return d.cfg.Gas.Settled(tx, s.Network, m.Payment.Payer, m.Mark.Code, back)
}

// takeHeld is what is held for a settlement, which then holds nothing.
func (s *Settlement) takeHeld() (all []gas.Held) {
	for _, h := range s.Held {
		all = append(all, h.Held)
	}
	s.Held = nil
	return all
}

// giveBack gives back what is held for a settlement of which nothing can land any more, or payers
// who let theirs expire would use up the day's budget and burn nothing. One that landed may hold
// something too, signed for while a reorganisation had it out; its subsidy was spent.
func (d *Driver) giveBack(ctx context.Context, s *Settlement, found []rail.Finding) (*Settlement, error) {
	if len(s.Held) == 0 || slices.ContainsFunc(found, func(f rail.Finding) bool { return !f.Final }) {
		return s, nil
	}
	landed := slices.ContainsFunc(found, func(f rail.Finding) bool { return f.State != rail.Dead })
	return d.advance(ctx, s, "given_back", func(tx ledger.Tx, s *Settlement) error {
		held := s.takeHeld()
		for i := range held {
			if landed {
				held[i].Subsidy = 0
			}
		}
		return d.cfg.Gas.GiveBack(tx, s.Network, held...)
	})
}

// explaining is how long a network is asked why a transaction reverted.
const explaining = 3 * time.Second

// explain finds out why a transaction reverted. A node keeps the state of a block for some minutes,
// so after an outage there may be nobody left to ask: then it is nobody's doing, because what else
// the chain says must not wait for it.
func (d *Driver) explain(ctx context.Context, r rail.Rail, s *Settlement, p *rail.Payment, f rail.Revert) (rail.Cause, error) {
	asking, cancel := context.WithTimeout(ctx, explaining)
	defer cancel()
	why, err := retried(asking, d, s, func() (rail.Cause, error) { return r.Explain(asking, p, f) })
	if err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("revert not explained", "settlement", s.ID, "network", s.Network, "tx", f.Tx, "err", err)
		return rail.Cause{}, nil
	}
	return why, err
}

// noteReverts counts the reverts that the record has not, once each, with why they did.
func (d *Driver) noteReverts(ctx context.Context, r rail.Rail, s *Settlement, found []rail.Revert, o Owner) (*Settlement, error) {
	for _, f := range found {
		if slices.ContainsFunc(s.Reverts, func(v Revert) bool { return v.Tx == f.Tx }) {
			continue
		}
		i := s.sent(f.Tx)
		if i < 0 {
			continue
		}
		m := s.first(s.Sent[i])
		why, err := d.explain(ctx, r, s, &m.Payment, f)
		if err != nil {
			return s, err
		}
		d.cfg.Log.Warn("settlement reverted", "settlement", s.ID, "network", s.Network, "payer", m.Payment.Payer, "tx", f.Tx, "gas", f.Gas,
			"cost", f.Cost, "why", why.Reason, "payers_doing", why.Payer)
		next, err := d.advance(ctx, s, "reverted", func(tx ledger.Tx, s *Settlement) error {
			// A replacement has the place of what it replaced.
			var of gas.Held
			h := slices.IndexFunc(s.Held, func(h held) bool {
				k := s.sent(h.Tx)
				return k >= 0 && placeOf(s.Sent[k]) == placeOf(s.Sent[i])
			})
			if h >= 0 {
				of = s.Held[h].Held
				s.Held = slices.Delete(s.Held, h, h+1)
			}
			s.Reverts = append(s.Reverts, Revert{f, why})
			for k, m := range s.Members {
				if s.Sent[i].settles(k) {
					if err := o.Reverted(tx, m); err != nil {
						return err
					}
				}
			}
			m := s.first(s.Sent[i])
			return d.cfg.Gas.Reverted(tx, s.Network, m.Payment.Payer, m.Mark.Code, of, f, why)
		})
		if err != nil {
			return s, err
		}
		s = next
		if !why.Payer {
			d.cfg.Gas.Suspect(ctx, s.Network)
		}
	}
	return s, nil
}
