package till

import (
	"errors"
	"time"

	"store.example/agentstore/dynamic/rail"
)

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
