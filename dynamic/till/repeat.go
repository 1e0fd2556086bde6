package till

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// repeat answers a payment that is claimed already (M1): its own sender gets the purchase,
// everybody else nothing.
func (t *Till) repeat(ctx context.Context, c Claim, p *Presented) (*Sale, error) {
	if !p.proves(c) {
		return nil, t.alreadyUsed(ctx, p.payment)
	}
	return t.answerRepeat(ctx, &repeated{purchase: c.Purchase, slot: c.Answered})
}

// emptyWallet reports a refusal of a payment whose signature is good and whose payer has too
// little. The payer is proved, and may still fetch what was paid for.
func emptyWallet(err error) bool {
	refusal, ok := errors.AsType[*rail.Refusal](err)
	return ok && refusal.Short
}

// otherwise answers a request that cannot be taken, whatever payment came with it: with the
// purchase its key belongs to, if there is one and the payment proves its payer; with what became
// of the payment, where it was used before; else with the error that stood in its way.
func (t *Till) otherwise(ctx context.Context, o *matched, err error) (*Sale, error) {
	if t.cfg.Gas.Ready(ctx, o.p.payment.Network) != nil {
		return nil, err // whose signature it is cannot be known
	}
	seen, refused := o.verify(ctx)
	if refused != nil && !emptyWallet(refused) {
		if used := t.usedBefore(ctx, o, refused); used != nil {
			return nil, used
		}
		return nil, err
	}
	o.local = seen.Local
	return t.replaySlot(ctx, o, err)
}

// replaySlot answers a request that cannot be taken with the purchase its key belongs to, if there
// is one; else with the error that stood in its way. The payer is proved by the payment's
// signature, which the rail has checked.
func (t *Till) replaySlot(ctx context.Context, o *matched, otherwise error) (*Sale, error) {
	if o.key == "" {
		return nil, otherwise
	}
	var rep *repeated
	err := t.update(ctx, func(tx ledger.Tx) (err error) {
		rep, err = t.earlier(tx, o)
		return err
	})
	switch refusal, refused := errors.AsType[*rail.Refusal](err); {
	case errors.Is(err, errUsed):
		return nil, t.alreadyUsed(ctx, o.p.payment)
	case errors.Is(err, errAnswered):
		return nil, manyAnswered()
	case refused:
		return nil, t.refuse(o.asked, refusal)
	case err != nil:
		return nil, ledgerDown(err)
	}
	if rep == nil {
		return nil, otherwise
	}
	return t.answerRepeat(ctx, rep)
}

// earlier finds the purchase that a request repeats, by its payment, which may be claimed
// meanwhile, or by its key. The payer of another one is proved by a fresh authorization: it is
// recorded as answered and never settled.
func (t *Till) earlier(tx ledger.Tx, o *matched) (*repeated, error) {
	c, found, err := claimIn(tx, o.p.payment)
	switch {
	case err != nil:
		return nil, err
	case found && !o.p.proves(c):
		return nil, errUsed
	case found:
		return &repeated{purchase: c.Purchase, slot: c.Answered}, nil
	}
	rep, err := t.slot(tx, o)
	if err != nil || rep == nil {
		return nil, err
	}
	return rep, o.answer(tx, rep.purchase)
}

// answerRepeat waits for the first and gives its answer.
func (t *Till) answerRepeat(ctx context.Context, rep *repeated) (*Sale, error) {
	p, err := t.await(ctx, rep.purchase, t.cfg.RepeatWait)
	if err != nil {
		return nil, ledgerDown(err)
	}
	if rep.slot && p.Open() {
		return nil, (&Error{Code: CodeKeyInFlight, Retry: 5 * time.Second, Purchase: p}).paid("no", "after")
	}
	t.noteFetched(ctx, p)
	sale, err := t.answer(p, true)
	if sale != nil {
		sale.Unspent = rep.unspent
	}
	return sale, err
}

// await waits until a purchase is no longer on its way, or wait is over, or the client is gone. One
// that is driven here is as its run stored it, and one that is driven elsewhere is read now and
// then.
func (t *Till) await(ctx context.Context, id string, wait time.Duration) (*Purchase, error) {
	deadline := time.After(wait)
	for first := true; ; first = false {
		t.mu.Lock()
		f := t.runs[id]
		t.mu.Unlock()
		if f == nil || !first {
			p, err := t.load(ctx, id)
			if err != nil || !p.Open() {
				return p, err
			}
		}
		var done <-chan struct{}
		pause := 200 * time.Millisecond
		if f != nil {
			done, pause = f.done, 5*time.Second
		}
		select {
		case <-done:
			if f.end != nil && !f.end.Open() {
				return f.end, nil
			}
		case <-time.After(pause):
		case <-deadline:
			return t.load(ctx, id)
		case <-ctx.Done():
			// The request's time may be up with its client still there, who needs the way back to
			// the purchase.
			return t.load(context.WithoutCancel(ctx), id)
		}
	}
}

// answer gives a purchase's answer as it stands.
func (t *Till) answer(p *Purchase, replay bool) (*Sale, error) {
	switch {
	case p.State == Delivered || p.State == Promised || p.InEscrow():
		body, err := t.body(p)
		if err != nil {
			return nil, ledgerDown(err)
		}
		return &Sale{Purchase: p, Body: body, Replay: replay}, nil
	case p.Open():
		return nil, t.notYet(p)
	default:
		return nil, t.ended(p)
	}
}

// notYet is the answer while a purchase is on its way.
func (t *Till) notYet(p *Purchase) error {
	billed := "unknown"
	if p.State == Asking || p.State == Settled || p.State == SettledLate {
		billed = "yes"
	}
	return (&Error{Code: CodeUnderWay, Retry: 5 * time.Second, Purchase: p}).paid(billed, "same_payment")
}

// ended is the answer for a purchase that ended without goods.
func (t *Till) ended(p *Purchase) error {
	e := &Error{Code: CodeEnded, Purchase: p}
	retry := "now"
	if !p.Final {
		retry = "after"
	}
	switch p.State {
	case NotSettled:
		e.paid("no", retry)
		site := t.cfg.Site.Now()
		o := t.offer(site, p.Item)
		if o != nil && p.Held != nil {
			o = t.byHold(o)
		}
		if o == nil {
			return e
		}
		o, err := t.priced(context.Background(), o)
		if err != nil {
			return e
		}
		q, err := t.quote(asked{site: site, offer: o, print: p.Fingerprint})
		if e.Quote = q; q == nil {
			return err
		}
	case Refused, Failed, Released:
		e.paid("no", retry)
	case RefundOwed:
		e.paid("yes", "never")
	case Reversed:
		e.paid("no", "now").Payment.Delivered = !p.DeliveredAt.IsZero()
	case FromChain, Uncredited:
		return usedError("yes")
	default:
		return fmt.Errorf("till: purchase in state %s has no answer", p.State)
	}
	return e
}

// withPayment says on an answer what became of the payment; other errors pass as they are.
func withPayment(err error, o Outcome) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Payment = &o
	}
	return err
}

func isAnswer(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

var errNotFound = ledger.ErrNotFound
