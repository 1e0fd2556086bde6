package settle

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// setAside is what was held for a member of one transaction.
type setAside struct {
	Tx     string `json:"tx"`
	Member int    `json:"member,omitzero"`
	GasHeld
}

// Ending is why nothing more is signed for a payment.
type Ending struct {
	Reason string
	Payer  bool // shown to be the payer's doing
}

// ErrReverted says that as many transactions for a payment have reverted as may.
var ErrReverted = errors.New("settle: its settlements reverted")

// Ended reports whether an error of Begin says that a payment cannot be settled, or may not be, and
// why.
func Ended(err error) (Ending, bool) {
	refusal, ok := errors.AsType[*rail.Refusal](err)
	_, spent := errors.AsType[*GasSpent](err)
	switch {
	case ok:
		return Ending{refusal.Reason, refusal.Payer}, true
	case errors.Is(err, ErrGasDear):
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
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return v, err
		}
	}
}

// redraft drafts another transaction for a member whose last number is spent, if it may draw one
// (M15).
func (d *Driver) redraft(ctx context.Context, r rail.Rail, s *Settlement, member int) (rail.Draft, error) {
	m := &s.Members[member]
	reverts, payers := s.reverted(member)
	last := &rail.Refusal{Reason: r.Info().Reverted, Message: "its settlement reverted", Err: ErrReverted,
		Payer: payers}
	if !MayDraft(m.Verified.Local || m.Verified.Code != "", reverts, s.numbers(member)) {
		return nil, last
	}
	draft, err := r.Draft(ctx, []*rail.Payment{&m.Payment})
	if err == nil && !MayDraft(draft.Price().Code != "", reverts, s.numbers(member)) {
		return nil, last // it has code by now
	}
	return draft, err
}

// numbers is how many sequence numbers were signed for a member, of all accounts together.
func (s *Settlement) numbers(member int) int {
	seen := make(map[accountNumber]bool)
	for _, sent := range s.Sent {
		if !sent.Fill && sent.settles(member) {
			seen[numberOf(sent)] = true
		}
	}
	return len(seen)
}

// reverted is how many transactions of a member reverted, those left out in which others were to
// blame, and whether one did by what is shown to be the payer's doing.
func (s *Settlement) reverted(member int) (n int, payers bool) {
	for _, v := range s.Reverts {
		if v.Member == member && !v.Others {
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

// accountNumber is what a transaction has of its relayer's account.
type accountNumber struct {
	account  string
	sequence uint64
}

func numberOf(s Sent) accountNumber { return accountNumber{s.Account, s.Sequence} }

// pay takes from the day's budgets what a signature for a new number costs, in the transaction that
// stores it; of several members each its part.
func (d *Driver) pay(tx ledger.Tx, s *Settlement, sent Sent, price rail.Price) error {
	if sent.Fill || slices.ContainsFunc(s.Sent, func(o Sent) bool {
		return numberOf(o) == numberOf(sent) &&
			sent.ID != ""
	}) {
		return nil
	}
	n := int64(len(s.payments(sent.Of)))
	price.Cost, price.Most = (price.Cost+n-1)/n, (price.Most+n-1)/n
	for i := range s.Members {
		if !sent.settles(i) {
			continue
		}
		m, price := &s.Members[i], price
		price.Code = cmp.Or(price.Code, m.Verified.Code)
		m.Verified.Code = price.Code
		h, err := d.cfg.Gas.Sign(tx, s.Network, m.Payment.Payer, m.Payment.Amount.Int64(), price)
		switch {
		case err != nil && n > 1:
			return &rail.Apart{Which: []int{i}, Err: err}
		case err != nil:
			return err
		case h != (GasHeld{Day: h.Day}):
			s.Held = append(s.Held, setAside{sent.ID, i, h})
		}
	}
	return nil
}

// Landed notes that a member is paid, in the transaction that credits it: what was held for its
// transactions is given back, and its payer is one who settled. What may go back to the payer is
// not paid yet, and makes up for no reverts. A settlement without a record has nothing to give
// back.
func (d *Driver) Landed(tx ledger.Tx, s *Settlement, member string) error {
	i := s.member(member)
	m := s.Members[i]
	var back []GasHeld
	if s.ID != "" {
		now, err := d.Read(tx, s.ID)
		if err != nil {
			return err
		}
		m = now.Members[i]
		if now.holds(i) {
			if now, err = Read(tx, s.ID); err != nil {
				return err
			}
			back = now.takeHeld(i)
			if err := save(tx, now); err != nil {
				return err
			}
		}
	}
	paid := m.Payment.Amount.Int64()
	if m.Payment.Returnable() {
		paid = 0
	}
	return d.cfg.Gas.Settled(tx, GasPayer{s.Network, m.Payment.Payer, m.Verified.Code}, paid, back)
}

// holds reports whether something is held for a member.
func (s *Settlement) holds(member int) bool {
	return slices.ContainsFunc(s.Held, func(h setAside) bool { return h.Member == member })
}

// takeHeld is what is held for a member, for which nothing is held then.
func (s *Settlement) takeHeld(member int) (all []GasHeld) {
	s.Held = slices.DeleteFunc(s.Held, func(h setAside) bool {
		if h.Member == member {
			all = append(all, h.GasHeld)
		}
		return h.Member == member
	})
	return all
}

// giveBack gives back what is held for a member of which nothing can land any more, or payers who
// let theirs expire would use up the day's budget and burn nothing. One that landed may hold
// something too, signed for while a reorganisation had it out; its subsidy was spent.
func (d *Driver) giveBack(ctx context.Context, s *Settlement, member int, f rail.Finding) (*Settlement, error) {
	if !f.Final || !s.holds(member) {
		return s, nil
	}
	return d.advance(ctx, s, []int{member}, "given_back", func(tx ledger.Tx, s *Settlement) error {
		held := s.takeHeld(member)
		for i := range held {
			if f.State != rail.Dead {
				held[i].Subsidy = 0
			}
		}
		return d.cfg.Gas.GiveBack(tx, s.Network, s.Members[member].Payment.Payer, held...)
	})
}

// explaining is how long a network is asked why a transaction reverted.
const explaining = 3 * time.Second

// explain finds out why a transaction reverted. A node keeps the state of a block for some minutes,
// so after an outage there may be nobody left to ask: then it is nobody's doing, because what else
// the chain says must not wait for it.
func (d *Driver) explain(ctx context.Context, r rail.Rail, s *Settlement, p *rail.Payment, f rail.Revert) (rail.Cause,
	error) {
	asking, cancel := context.WithTimeout(ctx, explaining)
	defer cancel()
	why, err := retried(asking, d, s, func() (rail.Cause, error) { return r.Explain(asking, p, f) })
	if err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("revert not explained", "settlement", s.ID, "network", s.Network, "tx", f.Tx, "err", err)
		return rail.Cause{}, nil
	}
	return why, err
}

// noteReverts counts the reverts of a member that the record has not, once each, with why they did.
func (w watching) noteReverts(ctx context.Context, s *Settlement, member int, found []rail.Revert) (*Settlement,
	error) {
	for _, f := range found {
		if i := s.sent(f.Tx); i < 0 || s.counted(f.Tx, member) {
			continue
		}
		m := &s.Members[member]
		why, err := w.explain(ctx, w.rail, s, &m.Payment, f)
		if err != nil {
			return s, err
		}
		w.cfg.Log.Warn("settlement reverted", "settlement", s.ID, "network", s.Network, "payer", m.Payment.Payer, "tx",
			f.Tx, "gas", f.Gas,
			"cost", f.Cost, "why", why.Reason, "payers_doing", why.Payer, "others_doing", why.Others)
		next, err := w.advance(ctx, s, []int{member}, "reverted", func(tx ledger.Tx, s *Settlement) error {
			s.Reverts = append(s.Reverts, Revert{f, why, member})
			m := s.Members[member]
			if !why.Others {
				if err := w.owner.Reverted(tx, m); err != nil {
					return err
				}
			}
			return w.cfg.Gas.Reverted(tx, GasPayer{s.Network, m.Payment.Payer, m.Verified.Code}, s.takeHeldOf(f.Tx,
				member),
				f, why)
		})
		if err != nil {
			return s, err
		}
		s = next
		if !why.Payer {
			w.cfg.Gas.Suspect(ctx, s.Network)
		}
	}
	return s, nil
}

// counted reports whether the revert of a member in a transaction is in the record.
func (s *Settlement) counted(tx string, member int) bool {
	return slices.ContainsFunc(s.Reverts, func(v Revert) bool { return v.Tx == tx && v.Member == member })
}

// takeHeldOf takes what is held for a member of one transaction. A replacement has the place of
// what it replaced.
func (s *Settlement) takeHeldOf(tx string, member int) (of GasHeld) {
	place := numberOf(s.Sent[s.sent(tx)])
	s.Held = slices.DeleteFunc(s.Held, func(h setAside) bool {
		k := s.sent(h.Tx)
		mine := h.Member == member && k >= 0 && numberOf(s.Sent[k]) == place
		if mine {
			of = h.GasHeld
		}
		return mine
	})
	return of
}
