package till

import (
	"context"
	"errors"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/settle"
)

// owner is the till as it is told of a settlement, by whoever drives the one of purchase p. A
// settlement may have other members, which are purchases too.
type owner struct {
	t *Till
	p *Purchase
}

// Waits implements settle.Owner.
func (o *owner) Waits(waits bool) { o.t.waits(o.p.ID, waits) }

// Reverted implements settle.Owner: the payment leaves the open ones of its payer.
func (o *owner) Reverted(tx ledger.Tx, m settle.Member) error {
	p, err := read(tx, m.ID)
	if err != nil || p.Reverted {
		return err
	}
	p.Reverted = true
	return o.t.save(tx, p)
}

// Heard implements settle.Owner. Every arrow is a transaction of its own, and names the state that
// it starts from.
func (o *owner) Heard(ctx context.Context, s *settle.Settlement, m settle.Member, n settle.News) (more bool, err error) {
	p := o.p
	if m.ID != p.ID {
		if p, err = o.t.load(ctx, m.ID); err != nil {
			return false, err
		}
	}
	switch p.State {
	case Settling, Unknown:
		more, err = o.t.settlingHeard(ctx, p, n)
	case Promised, Delivered:
		more, err = o.t.deliveredHeard(ctx, p, n)
	case Refused, Failed, NotSettled:
		err = o.t.givenUpHeard(ctx, p, n)
	}
	if errors.Is(err, errMoved) {
		return false, nil // another hand moved it
	}
	return more, err
}

// settlingHeard: settling | unknown → settled | not_settled.
func (t *Till) settlingHeard(ctx context.Context, p *Purchase, n settle.News) (more bool, err error) {
	from := []State{Settling, Unknown}
	switch {
	case n.Unread:
		return true, nil
	case n.State == rail.Paid:
		return false, t.credit(ctx, p, from, Settled, n.Proof)
	case n.State == rail.Dead:
		why := settle.Ending{Reason: "invalid_transaction_state: " + n.Reason, Payer: n.Finding.Payer || n.PayersRevert}
		return false, t.giveUp(ctx, p.ID, from, NotSettled, why)
	case n.Over != nil:
		return false, t.giveUp(ctx, p.ID, from, NotSettled, *n.Over)
	case n.State == rail.Waiting && n.Reverted && t.endsHold(p):
		return false, t.giveUp(ctx, p.ID, from, NotSettled, settle.Ending{Reason: "settlement_reverted", Payer: n.PayersRevert})
	}
	return true, nil
}
