package till

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Counted is how a counted good stands.
type Counted struct {
	*Offer
	Left int
	Out  *Error // why none is to be had, nil where one is
	// Waiting are the paid orders that wait for the keeper, within the good's window; nil for a
	// good that no hand makes.
	Waiting *int
}

// Stock says how every good stands that is counted, or that the store cannot make, in shelf order,
// and at what time of the ledger's clock.
func (t *Till) Stock(ctx context.Context) (at time.Time, stock []Counted, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		at, stock = tx.Now(), nil
		site := t.cfg.Site.Now()
		for _, g := range site.Goods {
			o := t.Good(site, g.ID)
			if o == nil {
				continue
			}
			if out := t.Away(o); out != nil {
				stock = append(stock, Counted{Offer: o, Out: out})
				continue
			}
			if o.Kind.Left == nil || !g.Stock && g.WeeklyInventory == 0 {
				continue
			}
			c, err := counts(tx, t.makerOn(site), o)
			if err != nil {
				return err
			}
			stock = append(stock, c)
		}
		return nil
	})
	if err != nil {
		return at, nil, ledgerDown(err)
	}
	return at, stock, nil
}

func counts(tx ledger.Tx, m goods.Maker, o *Offer) (Counted, error) {
	c := Counted{Offer: o}
	var err error
	if c.Left, err = o.Kind.Left(m, tx, o.Good); err != nil || o.Kind.Available == nil {
		return c, err
	}
	if o.Kind.Name == content.KindHuman {
		if c.Waiting, err = waiting(tx, o.Good); err != nil {
			return c, err
		}
	}
	if err = o.Kind.Available(m, tx, o.Good, nil); err != nil && !refused(err) {
		return c, err
	}
	// The answer to a buyer says it in the same words.
	c.Out, _ = errors.AsType[*Error](gateError(err))
	return c, nil
}

// waiting counts the orders of a good that were paid for within its window and are not answered. A
// good has so few places in a week that all are looked at; one past its window is a debt.
func waiting(tx ledger.Tx, good content.Good) (*int, error) {
	n, oldest := 0, goods.ISOWeek(tx.Now().Add(-time.Duration(good.WindowHours)*time.Hour))
	for at := tx.Now(); goods.ISOWeek(at) >= oldest; at = at.AddDate(0, 0, -7) {
		ids, err := goods.Placed(tx, good.ID, at)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
			if err != nil {
				return nil, err
			}
			if p.State == Promised || p.State == Held {
				n++
			}
		}
	}
	return &n, nil
}

// Counted goods are held for the payments that claimed them, and for as short a time as can be
// (M16): their authorizations are valid for two minutes, the first settlement of ours that reverts
// ends the hold, and what is held is told as held. A payment that lands later is settled_late:
// delivered if there is one left, else owed.

// holdFor is the validity that is asked for counted goods.
const holdFor = 120 * time.Second

// requirement is the accepts entry of a rail for an offer at an amount.
func requirement(r rail.Rail, o *Offer, amount int64) rail.Requirement {
	want := r.Requirement(amount)
	if o.Kind.Counted {
		return want.Within(holdFor)
	}
	return want
}

// isHeld completes the refusal of a unit that is only held.
func isHeld(e *Error) *Error {
	// What is settled or given up after its time is so as soon as the chain is deep enough.
	now := time.Now()
	if least := now.Add(5 * time.Second); e.Until.Before(least) {
		e.Until = least
	}
	e.Retry = e.Until.Sub(now)
	return e
}

// stockRefusal says on a refusal of stock what became of the payment that came with it.
func stockRefusal(err error) error {
	retry := "never"
	if e, ok := errors.AsType[*Error](err); ok {
		switch {
		case e.Code == CodeHeld, e.Code == CodeWordHeld, e.Code == CodeUnread && !e.Until.IsZero():
			retry = "after"
		case e.Code == CodeUnread:
			retry = "now"
		}
	}
	return withPayment(err, Outcome{Billed: "no", Retry: retry})
}

// endsHold reports whether a purchase holds a unit of a counted good, which the first revert ends.
func (t *Till) endsHold(p *Purchase) bool {
	_, k, err := t.order(p)
	return err == nil && k.Counted
}
