package till

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
)

// repeat answers a payment that is claimed already (M1): its own sender gets the purchase, everybody else nothing.
func (t *Till) repeat(w http.ResponseWriter, r *http.Request, c Claim, p *presented) error {
	if !p.proves(c) {
		return t.alreadyUsed(r.Context(), p.payment)
	}
	return t.answerRepeat(w, r, &repeated{purchase: c.Purchase, slot: c.Answered})
}

// emptyWallet reports a refusal of a payment whose signature is good and whose payer has too little. The payer is
// proved, and may still fetch what was paid for.
func emptyWallet(err error) bool {
	refusal, ok := errors.AsType[*rail.Refusal](err)
	return ok && strings.HasSuffix(refusal.Reason, "insufficient_balance")
}

// otherwise answers a request that cannot be taken, whatever payment came with it: with the purchase its key belongs to, if
// there is one and the payment proves its payer; with what became of the payment, where it was used before; else with the
// error that stood in its way.
func (t *Till) otherwise(w http.ResponseWriter, r *http.Request, o *offer, err error) error {
	if t.cfg.Gas.Ready(r.Context(), o.p.payment.Network) != nil {
		return err // whose signature it is cannot be known
	}
	mark, refused := o.p.rail.Verify(r.Context(), o.p.payment, o.terms, o.at)
	if refused != nil && !emptyWallet(refused) {
		if used := t.usedBefore(r.Context(), o, refused); used != nil {
			return used
		}
		return err
	}
	o.local = mark.Local
	return t.replaySlot(w, r, o, err)
}

// replaySlot answers a request that cannot be taken with the purchase its key belongs to, if there is one; else with
// the error that stood in its way. The payer is proved by the payment's signature, which the rail has checked.
func (t *Till) replaySlot(w http.ResponseWriter, r *http.Request, o *offer, otherwise error) error {
	if o.key == "" {
		return otherwise
	}
	var rep *repeated
	ctx, cancel := ledgerContext(r.Context())
	defer cancel()
	err := t.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		rep = nil
		c, err := ledger.GetJSON[Claim](tx, authKey(o.p.payment))
		if err == nil { // claimed meanwhile, by another request with the same payment
			if !o.p.proves(c) {
				return errUsed
			}
			rep = &repeated{purchase: c.Purchase, slot: c.Answered}
			return nil
		}
		if !errors.Is(err, errNotFound) {
			return err
		}
		if rep, err = t.slot(tx, o); err != nil || rep == nil {
			return err
		}
		return ledger.SetJSON(tx, authKey(o.p.payment), Claim{Purchase: rep.purchase, Header: o.p.replayDigest(), Answered: true})
	})
	if errors.Is(err, errUsed) {
		return t.alreadyUsed(r.Context(), o.p.payment)
	}
	if err != nil {
		return ledgerDown(err)
	}
	if rep == nil {
		return otherwise
	}
	return t.answerRepeat(w, r, rep)
}

// answerRepeat waits for the first and gives its answer.
func (t *Till) answerRepeat(w http.ResponseWriter, r *http.Request, rep *repeated) error {
	p, err := t.await(r.Context(), rep.purchase, t.cfg.RepeatWait)
	if err != nil {
		return ledgerDown(err)
	}
	if rep.slot && p.open() {
		e := &problem.Error{Code: "idempotency_in_flight", Status: http.StatusConflict, Retry: 5 * time.Second,
			Detail:  "The first request with this key is still under way. The payment that came with this one was not used.",
			Extra:   map[string]any{"recovery": t.recovery(p.ID), "charged_now": false},
			Payment: &problem.Payment{Billed: "no", Retry: "after", NextStep: "Send the identical request again after Retry-After."}}
		return e
	}
	return t.answer(w, p, true)
}

// await waits until a purchase is no longer on its way, or wait is over, or the client is gone. A purchase that is
// driven elsewhere is read again now and then.
func (t *Till) await(ctx context.Context, id string, wait time.Duration) (*Purchase, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		t.mu.Lock()
		f := t.flights[id]
		t.mu.Unlock()
		p, err := t.load(ctx, id)
		if err != nil || !p.open() {
			return p, err
		}
		var done <-chan struct{}
		pause := 200 * time.Millisecond
		if f != nil {
			done, pause = f.done, 5*time.Second
		}
		again := time.NewTimer(pause)
		select {
		case <-done:
		case <-again.C:
		case <-deadline.C:
			again.Stop()
			return t.load(ctx, id)
		case <-ctx.Done():
			again.Stop()
			// The request's time may be up with its client still there, who needs the way back to the purchase.
			return t.load(context.WithoutCancel(ctx), id)
		}
		again.Stop()
	}
}

// answer gives a purchase's answer as it stands.
func (t *Till) answer(w http.ResponseWriter, p *Purchase, replay bool) error {
	switch {
	case p.State == Delivered:
		return t.writeDelivered(w, p, replay)
	case p.open():
		return t.notYet(p)
	default:
		return t.ended(p)
	}
}
