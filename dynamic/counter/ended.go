package counter

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/till"
)

// tell says in the payment's protocol why a purchase did not succeed, or not yet.
func (c *Counter) tell(r request, p *till.Purchase, reason string) error {
	return r.came.by.Answer(r.to, r.came.p, pay.Outcome{Reason: reason, Payer: p.Payment.Payer, Transaction: p.Tx(),
		Network: p.Payment.Network})
}

// underWay is the answer while a purchase is on its way: 503 with everything that is needed to come
// back, and no terms, because a stock client would sign again.
func (c *Counter) underWay(e *till.Error, r request) error {
	p := e.Purchase
	detail := "Your payment is being settled and the outcome is not known yet. Do not sign another one."
	switch {
	case p.State == till.Asking:
		detail = "Your payment has settled, and the service behind the good has not answered yet. It is asked again " +
			"for an hour; then what you paid is owed to you. Do not sign another one."
	case e.Payment.Billed == "yes":
		detail = "Your payment has settled and the goods are being signed. Do not sign another one."
	}
	if err := c.tell(r, p, "settlement_pending"); err != nil {
		return err
	}
	return &problem.Error{Code: "payment_unknown", Retry: e.Retry, Detail: detail,
		Extra: map[string]any{"recovery": c.till.Recovery(p.ID)},
		Payment: &problem.Payment{Billed: e.Payment.Billed, Retry: e.Payment.Retry,
			NextStep: "Send the identical request with the identical payment again, or read recovery.status_url with " +
				"recovery.status_token as bearer."}}
}

// endings is how a purchase that ended without goods is told, by its state. What did not settle is
// told as the payment's protocol has it.
var endings = map[till.State]struct{ problem, detail, next string }{
	till.NotSettled: {"", "The payment did not go through (%s), so the goods were kept back. Nothing was charged.", ""},
	till.Refused:    {"sold_out", "The order could not be taken (%s). Nothing was charged.", ""},
	till.Failed: {"internal", "The goods could not be made, so your payment was not settled. Nothing was charged.",
		""},
	till.RefundOwed: {"refund_owed",
		"Your payment arrived after this purchase had been given up, and the goods are gone. What you paid is owed " +
			"to you and is paid back to the wallet that paid.",
		"Nothing to do: the refund goes to the paying wallet on the same network. Its state stands at " +
			"recovery.status_url."},
	till.Released: {"order_released",
		"What was held for this order went back to the wallet that paid (%s). Nothing was charged.", ""},
	till.Reversed: {"payment_reversed", "The chain took this payment back after the goods had been delivered. The " +
		"certificate says so.",
		"Sign a new payment if you want the goods to stand."},
}

// takenBack is how one is told that the chain took back before it was delivered.
const takenBack = "The chain took this payment back before what was promised for it was made, and nothing is owed. " +
	"What the order held was given back."

// ended is the answer for a purchase that ended without goods.
func (c *Counter) ended(e *till.Error, r request) error {
	p := e.Purchase
	how := endings[p.State]
	if p.State == till.NotSettled {
		how.problem = r.came.row.NotSettled
	}
	out := &problem.Error{Code: how.problem, Detail: how.detail,
		Extra: map[string]any{"recovery": c.till.Recovery(p.ID), "reason": p.Reason},
		Payment: &problem.Payment{Delivered: e.Payment.Delivered, Billed: e.Payment.Billed, Retry: e.Payment.Retry,
			NextStep: how.next}}
	if why := notMade(p.Reason); p.State == till.Failed && why != nil {
		out.Code, out.Detail = why.Code, why.Detail
	}
	if how.next == "" {
		out.Payment.NextStep = "Sign a new payment if you still want it."
		if row, _ := problem.Lookup(out.Code); p.State == till.NotSettled && row.Status != http.StatusPaymentRequired {
			out.Payment.NextStep = "Send the request without a payment if you still want it: its answer has fresh " +
				"terms."
		}
		if e.Payment.Retry == "after" {
			out.Payment.NextStep = fmt.Sprintf("The authorization you sent can be used by its holder until %s; if it "+
				"should land after all, this purchase is delivered or refunded. After that, sign a new one.",
				stamp(time.Unix(min(p.Payment.ValidBefore, 1<<40), 0)))
		}
	}
	switch p.State {
	case till.NotSettled, till.Refused, till.Released:
		out.Detail = fmt.Sprintf(how.detail, p.Reason)
	case till.Reversed:
		if !e.Payment.Delivered {
			out.Detail, out.Payment.NextStep = takenBack, "Sign a new payment if you still want it."
		}
	case till.RefundOwed:
		out.Extra["owed_usdc"] = content.FormatUSDC(p.Amount)
		if why, is := strings.CutPrefix(p.Reason, goods.CodeUpstream+": "); is {
			out.Detail = "Your payment settled, and the service behind the good gave nothing for it: " + why + ". " +
				"What you paid is owed to you and is paid back to the wallet that paid."
		}
	}
	if p.State != till.NotSettled {
		return out
	}
	if err := c.tell(r, p, p.Reason); err != nil {
		return err
	}
	if row, _ := problem.Lookup(out.Code); row.Status != http.StatusPaymentRequired {
		return out
	}
	if err := c.termsAgain(e.Quote, out, r); err != nil {
		return err
	}
	out.Extra["note"] = "The goods are made first and the payment is settled after. It was not, so nothing was " +
		"taken. To buy after all, do what next_step says and sign one of the offers in accepts."
	return out
}

// notMade says why a reading was not made, nil where it was something else that was not.
func notMade(reason string) *problem.Error {
	code, says, _ := strings.Cut(reason, ": ")
	if _, ok := problem.Lookup(code); !ok {
		return nil
	}
	return &problem.Error{Code: code, Detail: says + " Your payment was not settled, and nothing was charged."}
}

// termsAgain puts terms into the body of an answer to a payment that did not settle, and not beside
// it: what stands there is kept for payments that were not tried, and a stock client would take it
// for an invitation. It reads no body, so whoever decides to sign again finds the terms there, as
// in every 402.
func (c *Counter) termsAgain(q *till.Quote, out *problem.Error, r request) error {
	if q == nil { // no longer sold
		return nil
	}
	if len(c.till.Accepts(q)) == 0 { // no terms at present, but what every 402 says
		key := suggestion()
		key.SuggestedKey = till.Suggested(q.Fingerprint, c.Now())
		out.Extra["warning"], out.Extra["idempotency"], out.Extra["left_out"] = ceilingWarning(q.Offer), key,
			leftOuts(q.LeftOut)
		return nil
	}
	r.Method = http.MethodGet
	terms, err := c.freshTerms(r, q, "")
	if err != nil {
		return err
	}
	maps.Copy(terms, out.Extra)
	out.Extra = terms
	return nil
}
