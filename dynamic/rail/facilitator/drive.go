package facilitator

import (
	"context"
	"errors"
	"slices"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/gas"
)

// reasonReverted is the stock facilitator's word for a transaction that is in a block and moved nothing.
const reasonReverted = "invalid_exact_evm_transaction_failed"

// drive takes a settlement to its end: paid at the network's depth, or dead with its sequence number spent, or as often
// reverted as may be (decisions §4 M15). A later run begins by looking, so that a payment which a reorganisation took away
// is sent again.
func (h *Handler) drive(j *job, d *driver) error {
	if len(j.signed) == 0 {
		if err := h.begin(j); err != nil {
			if ref, ok := errors.AsType[*rail.Refusal](err); ok {
				h.conclude(j, Settled{Reason: ref.Reason, Message: ref.Message})
				h.forget(j) // it may be presented again, when the payer has more money for instance
				return nil
			}
			h.forget(j)
			return err
		}
	}
	tick := time.NewTicker(h.cfg.Poll)
	defer tick.Stop()
	var asked chan struct{}
	for {
		changed := j.rail.Changed()
		f, err := j.rail.Look(h.ctx, j.p, j.signed, j.mark, time.Now())
		if err == nil {
			var done bool
			if done, err = h.act(j, d, f); done {
				return nil
			}
		}
		if err != nil && h.ctx.Err() == nil {
			h.cfg.Log.Warn("settling", "network", j.p.Network, "payer", j.p.Payer, "nonce", j.p.Nonce, "err", err)
		}
		if asked != nil {
			close(asked)
			asked = nil
		}
		select {
		case <-h.ctx.Done():
			return h.ctx.Err()
		case asked = <-d.asks:
		case <-changed:
		case <-tick.C:
		}
	}
}

// begin verifies, signs and sends.
func (h *Handler) begin(j *job) error {
	mark, err := j.rail.Verify(h.ctx, j.p, j.want, time.Now())
	if err != nil {
		return err
	}
	err = h.cfg.Gas.Count(h.ctx, func(tx ledger.Tx) error { return h.cfg.Gas.Admit(tx, j.p.Network, j.p.Payer, mark.Code) })
	if err != nil {
		return err
	}
	d, err := j.rail.Draft(h.ctx, j.p)
	if err != nil {
		return err
	}
	j.mark = mark
	err = h.send(j, d)
	if err == nil {
		close(j.sent)
	}
	return err
}

// send signs a draft, pays for it out of the day's budgets where its number is new, and broadcasts it. A broadcast that
// fails may have happened, so the settlement is pending from here on.
func (h *Handler) send(j *job, d rail.Draft) error {
	price := d.Price()
	if price.Code == "" {
		price.Code = j.mark.Code
	}
	j.mark.Code = price.Code
	// The budgets come first: a number that was handed out cannot be given back.
	var held gas.Held
	err := h.cfg.Gas.Count(h.ctx, func(tx ledger.Tx) (err error) {
		held, err = h.cfg.Gas.Sign(tx, j.p.Network, j.p.Payer, j.p.Amount.Int64(), price)
		return err
	})
	if err != nil {
		return err
	}
	s, err := d.Sign(h.cfg.Sequencer)
	if err != nil {
		return err
	}
	j.held[s.ID] = held
	h.sign(j, s)
	return nil
}

// sign notes a signed settlement and broadcasts it.
func (h *Handler) sign(j *job, s rail.Signed) {
	j.signed = append(j.signed, s)
	h.conclude(j, Settled{Transaction: s.ID, Reason: Pending})
	h.again(j)
}

func (h *Handler) again(j *job) {
	ctx, cancel := context.WithTimeout(h.ctx, 30*time.Second)
	defer cancel()
	if err := j.rail.Send(ctx, j.signed[len(j.signed)-1]); err != nil && h.ctx.Err() == nil {
		h.cfg.Log.Warn("sending", "network", j.p.Network, "tx", j.signed[len(j.signed)-1].ID, "err", err)
	}
}

// act does what a finding asks for and reports whether the settlement is over.
func (h *Handler) act(j *job, run *driver, f rail.Finding) (done bool, err error) {
	if err := h.reverted(j, f.Reverts); err != nil {
		return false, err
	}
	newest := j.signed[len(j.signed)-1]
	switch f.State {
	case rail.Seen:
		return false, nil
	case rail.Paid:
		if err := h.settled(j); err != nil {
			return false, err
		}
		h.conclude(j, Settled{Success: true, Transaction: f.Proof.Tx, Amount: j.p.Amount.String()})
	case rail.Dead:
		h.conclude(j, Settled{Transaction: newest.ID, Reason: "invalid_transaction_state", Message: f.Reason})
	case rail.Waiting:
		over, err := h.help(j, f.Advice)
		if !over || err != nil {
			return false, err
		}
		// What lands later is found by the next who asks.
		run.end.Do(func() { close(run.over) })
		return true, nil
	}
	run.end.Do(func() { close(run.over) })
	if f.Unfilled == nil {
		// A filling under way is not mentioned until it is stuck.
		return !newest.Fill || time.Since(newest.At) > time.Minute, nil
	}
	d, err := j.rail.Replace(h.ctx, j.p, *f.Unfilled, true)
	if err != nil {
		return false, err
	}
	s, err := d.Sign(h.cfg.Sequencer)
	if err != nil {
		return false, err
	}
	j.signed = append(j.signed, s)
	h.again(j)
	return false, nil
}

// help follows the rail's advice for a settlement that has not landed, and reports whether no more of them may be made.
func (h *Handler) help(j *job, a rail.Advice) (over bool, err error) {
	newest := j.signed[len(j.signed)-1]
	if a != rail.Redraft {
		h.conclude(j, Settled{Transaction: newest.ID, Reason: Pending})
	}
	switch a {
	case rail.Resend:
		h.again(j)
	case rail.Bump:
		d, err := j.rail.Replace(h.ctx, j.p, newest, false)
		if err != nil {
			return false, err
		}
		s, err := d.Sign(h.cfg.Sequencer)
		if err != nil {
			return false, err
		}
		h.sign(j, s)
	case rail.Redraft:
		may := func(code string) bool { return gas.MayDraft(code != "", len(j.reverts), numbers(j.signed)) }
		over := Settled{Transaction: newest.ID, Reason: reasonReverted, Message: "its transaction reverted"}
		if !may(j.mark.Code) {
			h.conclude(j, over)
			return true, nil
		}
		d, err := j.rail.Draft(h.ctx, j.p)
		if ref, ok := errors.AsType[*rail.Refusal](err); ok && ref.Err == nil {
			over.Reason, over.Message = ref.Reason, ref.Message
			h.conclude(j, over)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if !may(d.Price().Code) {
			h.conclude(j, over)
			return true, nil
		}
		err = h.send(j, d)
		if _, spent := errors.AsType[*gas.Spent](err); spent || errors.Is(err, gas.ErrDear) {
			over.Message = err.Error()
			h.conclude(j, over)
			return true, nil
		}
		return false, err
	}
	return false, nil
}

// numbers is how many sequence numbers were signed for.
func numbers(signed []rail.Signed) int {
	seen := make(map[uint64]bool)
	for _, s := range signed {
		if !s.Fill {
			seen[s.Sequence] = true
		}
	}
	return len(seen)
}

// reverted counts each revert once, with why it did.
func (h *Handler) reverted(j *job, found []rail.Revert) error {
	for _, f := range found {
		if slices.Contains(j.reverts, f.Tx) {
			continue
		}
		why, err := j.rail.Explain(h.ctx, j.p, f)
		if err != nil {
			return err
		}
		// A replacement has the place of what it replaced, whose budget was taken.
		of := f.Tx
		for id := range j.held {
			if numberOf(j.signed, id) == numberOf(j.signed, f.Tx) {
				of = id
			}
		}
		err = h.cfg.Gas.Count(h.ctx, func(tx ledger.Tx) error {
			return h.cfg.Gas.Reverted(tx, j.p.Network, j.p.Payer, j.mark.Code, j.held[of], f, why)
		})
		if err != nil {
			return err
		}
		delete(j.held, of)
		j.reverts = append(j.reverts, f.Tx)
		h.cfg.Log.Warn("settlement reverted", "network", j.p.Network, "payer", j.p.Payer, "tx", f.Tx, "gas", f.Gas, "cost", f.Cost,
			"why", why.Reason, "payers_doing", why.Payer)
		if !why.Payer {
			h.cfg.Gas.Suspect(h.ctx, j.p.Network)
		}
	}
	return nil
}

// numberOf is the sequence number of a settlement.
func numberOf(signed []rail.Signed, id string) uint64 {
	i := slices.IndexFunc(signed, func(s rail.Signed) bool { return s.ID == id })
	if i < 0 {
		return 1<<64 - 1
	}
	return signed[i].Sequence
}

// settled gives back what was held for a payment that landed.
func (h *Handler) settled(j *job) error {
	var back []gas.Held
	for _, held := range j.held {
		back = append(back, held)
	}
	err := h.cfg.Gas.Count(h.ctx, func(tx ledger.Tx) error {
		return h.cfg.Gas.Settled(tx, j.p.Network, j.p.Payer, j.mark.Code, back)
	})
	if err == nil {
		clear(j.held)
	}
	return err
}

// conclude notes the present answer.
func (h *Handler) conclude(j *job, a Settled) {
	a.Network, a.Payer = j.want.Network, j.p.Payer
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = a
}
