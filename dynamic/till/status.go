package till

import (
	"context"
	"crypto/hmac"
	"errors"

	"store.example/agentstore/dynamic/ledger"
)

// Status is a purchase as its buyer may see it, with what was delivered for it.
type Status struct {
	*Purchase
	Body []byte // nil where nothing was delivered
	Paid *Paid  // nil where no channel was charged
	// Where is where the money is that is held for an order, nil of others.
	Where *HeldView
}

// Status returns a purchase to the holder of its token. A wrong token and an unknown id get the
// same answer.
func (t *Till) Status(ctx context.Context, id, token string) (Status, error) {
	if !hmac.Equal([]byte(token), []byte(t.statusToken(id))) {
		return Status{}, &Error{Code: CodeUnauthorized}
	}
	p, err := t.load(ctx, id)
	if errors.Is(err, errNotFound) {
		return Status{}, &Error{Code: CodeUnauthorized}
	}
	if err != nil {
		return Status{}, ledgerDown(err)
	}
	t.noteFetched(ctx, p)
	return t.statusOf(p)
}

func (t *Till) statusOf(p *Purchase) (Status, error) {
	s, err := t.status(p)
	if err != nil {
		return Status{}, ledgerDown(err)
	}
	return s, nil
}

func (t *Till) status(p *Purchase) (s Status, err error) {
	s.Purchase = p
	switch p.State {
	case Promised, Delivered, Reversed, Held, Capturing, Voiding, Released:
		if !p.DeliveredAt.IsZero() { // not taken back before it was delivered
			s.Body, err = t.body(p)
		}
	}
	if err == nil {
		s.Where, err = t.HeldView(p)
	}
	if err != nil || p.Spent == nil {
		return s, err
	}
	err = t.view(context.Background(), func(tx ledger.Tx) (err error) {
		s.Paid, err = paidBy(tx, p)
		return err
	})
	return s, err
}

// Billed says what a buyer may believe of the money in a state: yes, no or unknown.
func (p *Purchase) Billed() string {
	switch p.State {
	case Asking, Settled, Promised, Delivered, SettledLate, RefundOwed, FromChain, Uncredited, Held, Capturing, Voiding:
		return "yes"
	case Settling, Unknown, Claimed, GoodsReady:
		return "unknown"
	}
	return "no"
}

// Owed reports whether what was paid is owed to the payer.
func (p *Purchase) Owed() bool {
	return p.State == RefundOwed || p.State == FromChain || p.State == Uncredited
}

// view runs f on a snapshot of the ledger.
func (t *Till) view(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	return t.cfg.DB.View(ctx, f)
}

// update runs f in a ledger transaction with a deadline of its own.
func (t *Till) update(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	return t.cfg.DB.Update(ctx, f)
}
