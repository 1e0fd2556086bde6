package facilitator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// openWait is how long a payment waits for its payer's others to end.
const openWait = 5 * time.Second

// reserved is how long a payment counts as open that is being drafted; who dies meanwhile costs its
// payer that much patience.
const reserved = 10 * time.Minute

// idPrefix is how the ids of a facilitator's settlements begin, in a ledger that a till may have
// settlements in too.
const idPrefix = "fac_"

// resume drives what an earlier process has left on its way on a network, as soon as that can be
// read. Nobody may ask for it again, and all later numbers of the account wait behind it.
func (h *Handler) resume(n rail.Rail) {
	network := n.Info().Network
	for {
		left, err := h.cfg.Settles.Unfinished(h.ctx, idPrefix, network)
		if err == nil {
			for _, s := range left {
				h.takeUp(n, s)
			}
			return
		}
		h.cfg.Log.Warn("settlements left on their way not read", "network", network, "err", err)
		if !h.pause() {
			return
		}
	}
}

// takeUp drives a settlement that an earlier process may have left.
func (h *Handler) takeUp(n rail.Rail, s *settle.Settlement) {
	for _, m := range s.Members {
		p := m.Payment
		if !strings.HasPrefix(m.ID, idPrefix) {
			continue
		}
		a := asked{rail: n, p: &p, want: n.Requirement(p.Amount.Int64())}
		if !ofSeller(&p) {
			a.payer = p.Payer
		}
		if j, _ := h.job(&a); j != nil {
			h.driver(j)
		}
	}
}

// pause waits a second, and says whether to go on.
func (h *Handler) pause() bool {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}

// settlementID is the id of a payment's settlement, by which it is found again after a restart.
func settlementID(p *rail.Payment) string {
	sum := sha256.Sum256([]byte(p.ClaimKey()))
	return idPrefix + hex.EncodeToString(sum[:16])
}

// drive takes a settlement to its end: paid at the network's depth, or dead with its sequence
// number spent, or as often reverted as may be (package till, M15). A later run looks again, so
// that a payment which a reorganisation took away is sent again.
func (h *Handler) drive(j *job, d *driver) error {
	s, err := h.begin(j)
	if err != nil {
		h.forget(j) // it may be presented again, when the payer has more money for instance
		if ref, ok := errors.AsType[*rail.Refusal](err); ok {
			h.conclude(j, Settled{Reason: ref.Reason, Message: ref.Message})
			return nil
		}
		return err
	}
	for {
		err := h.cfg.Settles.Drive(h.ctx, s, &owner{h: h, j: j, d: d}, settlementID(j.p))
		if err == nil || h.ctx.Err() != nil {
			return err
		}
		// Its number is given out, and is not left open for a ledger that failed once.
		h.cfg.Log.Error("settlement stopped on its way", "settlement", s.ID, "network", s.Network, "err", err)
		if !h.pause() {
			return err
		}
		if now, err := h.cfg.Settles.Load(h.ctx, s.ID); err == nil {
			s = now
		}
	}
}

// begin finds the settlement of a payment, or verifies and signs one.
func (h *Handler) begin(j *job) (*settle.Settlement, error) {
	id := settlementID(j.p)
	s, err := h.cfg.Settles.Load(h.ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		s, err = h.first(j, id)
	}
	if err != nil {
		return nil, err
	}
	if stored := s.Member(id).Payment; !same(&stored, j.p) {
		return nil, &rail.Refusal{Reason: "duplicate_settlement"}
	}
	h.conclude(j, Settled{Transaction: s.Tx(id), Reason: Pending})
	return s, nil
}

// first verifies and signs a payment. One that is refused may be so because another process has
// settled it since: that one's settlement is its own then.
func (h *Handler) first(j *job, id string) (*settle.Settlement, error) {
	seen, _, err := h.check(h.ctx, j.asked)
	if err == nil && j.late {
		err = h.worth(h.ctx, j.asked)
	}
	var s *settle.Settlement
	if err == nil {
		s, err = h.admit(j, settle.Member{ID: id, Payment: *j.p, Verified: seen})
	}
	if err != nil {
		if kept, lookErr := h.cfg.Settles.Load(h.ctx, id); lookErr == nil {
			return kept, nil
		}
	}
	return s, err
}

// admit signs the settlement of a payment as soon as its payer has room for one more.
func (h *Handler) admit(j *job, m settle.Member) (s *settle.Settlement, err error) {
	least := h.cfg.Gas.Least(h.ctx, j.p.Network)
	if ofSeller(j.p) { // channel or hold pays for it, whose state was read
		err := h.cfg.Gas.Count(h.ctx, func(tx ledger.Tx) error {
			if ordersHold(j.p) {
				return nil // strangers' reverts never stand in the way of what ends a hold
			}
			_, err := h.cfg.Gas.Admit(tx, j.p.Network, j.p.Payer, "")
			return err
		})
		if err != nil {
			return nil, err
		}
		s, err := h.cfg.Settles.Begin(h.ctx, settle.Order{ID: m.ID, Members: []settle.Member{m},
			Arrow: func(tx ledger.Tx, _ *settle.Settlement) error {
				return errors.Join(j.notSold(tx), enterHold(tx, m), j.takeHold(tx, least))
			}})
		if taken, ok := errors.AsType[*turnTaken](err); ok {
			return nil, h.afterTurn(j, taken)
		}
		return s, err
	}
	a := &settle.Admission{OpenPayment: settle.OpenPaymentOf(m.ID, j.p, m.Verified), Proven: h.cfg.Gas.Proven}
	err = h.gate.Admit(h.ctx, a, j.rail, openWait, func(ctx context.Context) error {
		return h.cfg.Gas.Count(ctx, func(tx ledger.Tx) error {
			var err error
			if a.Alone, err = h.cfg.Gas.Admit(tx, j.p.Network, j.p.Payer, m.Verified.Code); err != nil {
				return err
			}
			if err := a.Check(tx); err != nil {
				return err
			}
			return settle.ReserveOpen(tx, a.OpenPayment, reserved)
		})
	})
	if full, ok := errors.AsType[*settle.NoRoom](err); ok {
		return nil, &rail.Refusal{Reason: "invalid_transaction_state",
			Message: full.Error() + "; send the same again in some seconds"}
	}
	if err != nil {
		return nil, err
	}
	s, err = h.cfg.Settles.Begin(h.ctx, settle.Order{ID: m.ID, Members: []settle.Member{m},
		Arrow: func(tx ledger.Tx, _ *settle.Settlement) error {
			return errors.Join(settle.EnterOpen(tx, a.OpenPayment), j.takeHold(tx, least))
		}})
	if err != nil && !errors.Is(err, ledger.ErrUnknown) { // it may be signed and stored
		err = errors.Join(err, h.cfg.Gas.Count(h.ctx, func(tx ledger.Tx) error { return leave(tx, m) }))
	}
	return s, err
}

// leave counts a payment as open no longer.
func leave(tx ledger.Tx, m settle.Member) error {
	if ordersHold(&m.Payment) {
		return settle.LeaveOpen(tx, turnOf(m))
	}
	return settle.LeaveOpen(tx, settle.OpenPaymentOf(m.ID, &m.Payment, m.Verified))
}

// owner is a handler as it is told of one of its settlements.
type owner struct {
	h *Handler
	j *job
	d *driver

	now   chan struct{} // closed after the look under way
	heard bool          // in that look
}

// Waits implements settle.Owner. Who asked for a look before it began has had it when the drive
// pauses.
func (o *owner) Waits(waits bool) {
	o.j.begun.Do(func() { close(o.j.sent) }) // a drive sends before it looks
	o.j.mu.Lock()
	defer o.j.mu.Unlock()
	switch {
	case waits && o.heard:
		close(o.now)
		o.now, o.heard = nil, false
	case waits && o.now == nil:
		o.now, o.j.looked = o.j.looked, make(chan struct{})
	}
}

// Reverted implements settle.Owner.
func (*owner) Reverted(tx ledger.Tx, m settle.Member) error { return leave(tx, m) }

// Heard implements settle.Owner: it notes the present answer, and goes on until the sequence number
// is used up too.
func (o *owner) Heard(ctx context.Context, s *settle.Settlement, m settle.Member, n settle.News) (more bool,
	err error) {
	o.heard = true
	all := s.Signed(m.ID)
	newest := all[len(all)-1]
	switch {
	case n.Unread || n.State == rail.Seen:
		return true, nil
	case n.State == rail.Paid && o.j.paid():
	case n.State == rail.Paid:
		a, err := paid(ctx, o.j.rail, &m.Payment, n.Proof.Tx)
		ref, refused := errors.AsType[*rail.Refusal](err)
		if refused {
			a = Settled{Transaction: n.Proof.Tx, Reason: ref.Reason, Message: ref.Message}
		} else if err != nil {
			return true, err
		}
		err = o.h.cfg.Gas.Count(ctx, func(tx ledger.Tx) error {
			return errors.Join(o.h.cfg.Settles.Landed(tx, s, m.ID), bringHold(tx, m), leave(tx, m))
		})
		if err != nil {
			return true, err
		}
		o.h.conclude(o.j, a)
	case n.State == rail.Dead:
		if err := o.h.cfg.Gas.Count(ctx, func(tx ledger.Tx) error { return leave(tx, m) }); err != nil {
			return true, err
		}
		reason := "invalid_transaction_state"
		if n.Reverted { // the transaction that is named is in a block, and moved nothing
			reason = revertedOf(o.j.rail, &m.Payment)
		}
		o.h.conclude(o.j, Settled{Transaction: newest.ID, Reason: reason, Message: n.Reason})
	case n.Over != nil:
		a := Settled{Transaction: newest.ID, Reason: n.Over.Reason, Message: "its transaction reverted"}
		if strings.HasPrefix(a.Reason, "settlement_") { // a word of this store's own
			a.Reason, a.Message = revertedOf(o.j.rail, &m.Payment), n.Over.Reason
		}
		if err := o.h.cfg.Gas.Count(ctx, func(tx ledger.Tx) error { return leave(tx, m) }); err != nil {
			return true, err
		}
		o.h.conclude(o.j, a)
		o.d.end.Do(func() { close(o.d.over) })
		return false, nil // what lands later is found by the next who asks
	default:
		if n.Advice != rail.Redraft {
			o.h.conclude(o.j, Settled{Transaction: newest.ID, Reason: Pending})
		}
		return true, nil
	}
	o.d.end.Do(func() { close(o.d.over) })
	// A filling under way is not mentioned until it is stuck.
	return n.Unfilled != nil || newest.Fill && time.Since(newest.At) < time.Minute, nil
}

// conclude notes the present answer, and tells of an end.
func (h *Handler) conclude(j *job, a Settled) {
	a.Network, a.Payer = j.want.Network, j.payer
	j.mu.Lock()
	news := j.last != a
	j.last = a
	j.mu.Unlock()
	switch {
	case !news || h.cfg.Outcome == nil:
	case a.Success:
		h.cfg.Outcome(a.Network, "settled")
	case a.Reason != Pending:
		h.cfg.Outcome(a.Network, a.Reason)
	}
}
