package facilitator

import (
	"context"
	"errors"
	"time"

	"agentstore/dynamic/rail"
)

// drive takes a settlement to its end: paid at the network's depth, or dead with its sequence number spent. A later
// run begins by looking, so that a payment which a reorganisation took away is sent again.
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

// send signs a draft and broadcasts it. A broadcast that fails may have happened, so the settlement is pending from
// here on.
func (h *Handler) send(j *job, d rail.Draft) error {
	s, err := d.Sign(h.cfg.Sequencer)
	if err != nil {
		return err
	}
	j.signed = append(j.signed, s)
	h.conclude(j, Settled{Transaction: s.ID, Reason: Pending})
	h.again(j)
	return nil
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
	newest := j.signed[len(j.signed)-1]
	switch f.State {
	case rail.Seen:
		return false, nil
	case rail.Paid:
		h.conclude(j, Settled{Success: true, Transaction: f.Proof.Tx, Amount: j.p.Amount.String()})
	case rail.Dead:
		h.conclude(j, Settled{Transaction: newest.ID, Reason: "invalid_transaction_state", Message: f.Reason})
	case rail.Waiting:
		h.conclude(j, Settled{Transaction: newest.ID, Reason: Pending})
		var d rail.Draft
		switch f.Advice {
		case rail.Wait:
			return false, nil
		case rail.Resend:
			h.again(j)
			return false, nil
		case rail.Bump:
			d, err = j.rail.Replace(h.ctx, j.p, newest, false)
		case rail.Redraft:
			d, err = j.rail.Draft(h.ctx, j.p)
		}
		if err != nil {
			return false, err
		}
		return false, h.send(j, d)
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

// conclude notes the present answer.
func (h *Handler) conclude(j *job, a Settled) {
	a.Network, a.Payer = j.want.Network, j.p.Payer
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = a
}
