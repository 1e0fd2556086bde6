package till

import (
	"context"
	"errors"
	"strings"
	"time"

	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// What a buyer is told while a network, or every network, takes no payment.

// enter counts a payment that was verified, so that nobody fills the count with worthless ones,
// among those that the relayer of its network has to pay for, unless it cannot pay for one more;
// left is to be called when nobody here drives its settlement any more, or it was not begun, and
// not when the client is gone.
func (t *Till) enter(ctx context.Context, o *matched) (left func(), err error) {
	network := o.p.payment.Network
	t.mu.Lock()
	under := t.under[network]
	t.under[network]++
	t.mu.Unlock()
	left = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.under[network]--
	}
	_, amount := o.settles()
	if err := t.cfg.Gas.Take(ctx, network, amount, under); err != nil {
		left()
		return nil, err
	}
	return left, nil
}

// outRetry is how soon to ask a store again that can settle nowhere.
const outRetry = 30 * time.Second

// whileOut answers a payment whose network takes none at present. Nothing is claimed, but a buyer
// who comes back with the key of an earlier purchase gets that.
func (t *Till) whileOut(ctx context.Context, o *matched, err error) (*Sale, error) {
	outage, ok := errors.AsType[*settle.GasOutage](err)
	if !ok {
		return nil, err
	}
	e := &Error{Code: CodeOutage, Retry: outage.Retry, Network: outage.Name, Reason: outage.Reason,
		Elsewhere: len(t.leftOut(o.offer)) < len(t.cfg.Rails)}
	return t.otherwise(ctx, o, e.paid("no", "same_payment"))
}

// refuseOrOut answers a payment that the chain refuses: with fresh terms where that is this
// payment's trouble, as an outage where it turns out to be everybody's.
func (t *Till) refuseOrOut(ctx context.Context, o *matched, refusal *rail.Refusal) (*Sale, error) {
	if strings.HasSuffix(refusal.Reason, "simulation_failed") {
		t.cfg.Gas.Suspect(ctx, o.p.payment.Network)
		if err := t.cfg.Gas.Take(ctx, o.p.payment.Network, o.amount(), 0); err != nil {
			return t.whileOut(ctx, o, err)
		}
	}
	return nil, t.refuse(o.asked, refusal)
}

// spent turns the guard's refusal of a payer into an answer.
func spent(err error) error {
	s, ok := errors.AsType[*settle.GasSpent](err)
	if !ok {
		return err
	}
	return (&Error{Code: CodeGasSpent, Retry: s.Retry, Network: s.Network}).paid("no", "after")
}
