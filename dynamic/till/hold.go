package till

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"agentstore/content"
	"agentstore/dynamic/goods"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
)

// Counted goods are held for the payments that claimed them, and for as short a time as can be (decisions §4 M16): their
// authorizations are valid for two minutes, the first settlement of ours that reverts ends the hold, and what is held is
// told as held. A payment that lands later is settled_late: delivered if there is one left, else owed.

// holdFor is the validity that is asked for counted goods.
const holdFor = 120 * time.Second

// counted reports whether an order of a good takes a unit that nobody else can have meanwhile.
func counted(g content.Good) bool {
	k, err := goods.Of(g)
	return err == nil && k.Counted
}

// requirement is the accepts entry of a rail for a good at an amount.
func requirement(r rail.Rail, g content.Good, amount int64) rail.Requirement {
	want := r.Requirement(amount)
	if counted(g) {
		return want.Within(holdFor)
	}
	return want
}

// holdError turns the refusal of a unit that is only held into an answer; nil where it is gone.
func holdError(what string, until, now time.Time) *problem.Error {
	if until.IsZero() {
		return nil
	}
	// What is settled or given up after its time is so as soon as the chain is deep enough.
	if least := now.Add(5 * time.Second); until.Before(least) {
		until = least
	}
	at := until.UTC().Truncate(time.Second).Format(time.RFC3339)
	return &problem.Error{Code: "sold_out", Status: http.StatusConflict, Retry: until.Sub(now),
		Detail: fmt.Sprintf("%s for payments that are not settled yet. What is not paid for comes back, the first by %s.", what, at),
		Extra:  map[string]any{"held_until": at}}
}

// stockRefusal says on a refusal of stock what became of the payment that came with it.
func stockRefusal(err error) error {
	if e, ok := errors.AsType[*problem.Error](err); ok && e.Extra["held_until"] != nil {
		return withPayment(err, notBilled("after", "Nothing was charged. Come back after held_until; let this authorization expire."))
	}
	return withPayment(err, notBilled("never", "Nothing was charged. Choose something else; let the authorization expire."))
}

// endsHold reports whether a purchase holds a unit of a counted good, which the first revert ends.
func (t *Till) endsHold(p *Purchase) bool {
	_, k, err := t.order(p)
	return err == nil && k.Counted
}
