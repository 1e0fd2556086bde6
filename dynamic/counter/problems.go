package counter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/till"
)

// A row says a code of the till in words. Members of the document that hold data are added by
// extra.
type row struct {
	code    till.Code
	problem string // the code of package problem, which has the status; "" takes till.Error.Reason
	detail  text
	next    text // what to do about the payment, where one was presented
	extra   func(*Counter, *till.Error) map[string]any
}

// A text says what a till.Error means.
type text func(*Counter, *till.Error) string

// plain is a text that is always the same.
func plain(s string) text { return func(*Counter, *till.Error) string { return s } }

// problems is the table of every code that the till returns. TestEveryCodeHasARow walks it.
var problems = []row{
	{code: till.CodeLedger, problem: "ledger_unavailable",
		detail: plain("The store's ledger did not answer in time, so what became of this request is not known."),
		next: byRetry(map[string]string{"now": correct,
			"same_payment": "Send the identical request with the identical payment again: if it was claimed it is " +
				"recognised, and it is never charged twice."})},
	{code: till.CodeClosed, problem: "store_closed",
		detail: plain("The store was restored from a backup and is being checked against the chain. It takes no " +
			"orders until the keeper reopens it."),
		next: plain("Come back later. What you bought before is not lost.")},

	{code: till.CodeUnknownItem, problem: "not_found", next: plain(correct),
		detail: func(c *Counter, e *till.Error) string {
			for _, p := range content.Publications {
				if strings.HasPrefix("/"+e.Item, p.Index+"/") {
					return "There is no such " + p.One + ". Those that are sold are listed at " + c.BaseURL +
						p.Index + "."
				}
			}
			if strings.HasPrefix(e.Item, goods.CommissionPrefix) {
				return "No request has this id. It stands in the answer of POST /api/request."
			}
			return "No good has this id. The shelf is at " + c.BaseURL + "/menu.json."
		}},
	{code: till.CodeNotQuoted, problem: "not_quoted",
		detail: plain("The request is filed, and the keeper has not quoted it yet."),
		next:   plain("Come back later: nothing can be paid before there is a price. The keeper quotes by hand.")},
	{code: till.CodeNotHeld, problem: "not_found", next: plain(correct),
		detail: func(c *Counter, e *till.Error) string {
			return "What is paid for this is not held. It is paid for at once at " + c.BaseURL + e.Item + "."
		}},
	{code: till.CodeDeclined, problem: "gone",
		detail: plain("The keeper has read the request and does not take it on."),
		next:   plain("Nothing to do, and nothing is owed. POST /api/request files another one.")},
	{code: till.CodeGone, problem: "gone", next: plain(correct),
		detail: func(c *Counter, e *till.Error) string {
			s := fmt.Sprintf("%s is no longer sold. %s", e.Gone.ID, e.Gone.Reason)
			if e.Gone.FoldedInto != "" {
				s += " Look at " + c.BaseURL + "/menu/" + e.Gone.FoldedInto + "."
			}
			return strings.TrimSpace(s)
		},
		extra: func(_ *Counter, e *till.Error) map[string]any {
			if e.Gone.FoldedInto == "" {
				return nil
			}
			return map[string]any{"folded_into": e.Gone.FoldedInto}
		}},
	{code: till.CodeBadInput, problem: "invalid_input", next: stock,
		detail: func(_ *Counter, e *till.Error) string { return e.Field + ": " + e.Problem }},
	{code: till.CodeSoldOut, problem: "sold_out", next: stock,
		detail: func(c *Counter, e *till.Error) string {
			return e.Item + " is sold out and will not come back. The rest of the shelf is at " + c.BaseURL +
				"/menu.json."
		}},
	{code: till.CodeReopens, problem: "sold_out", next: stock, extra: at("reopens_at"),
		detail: func(_ *Counter, e *till.Error) string {
			return fmt.Sprintf("%s is sold out until %s.", e.Item, stamp(e.Until))
		}},
	{code: till.CodeHeld, problem: "sold_out", next: stock, extra: at("held_until"),
		detail: func(_ *Counter, e *till.Error) string {
			return "All that is left of " + e.Item + " is held" + holdEnds(e.Until)
		}},
	{code: till.CodeAway, problem: "settlement_unavailable", next: stock,
		detail: func(_ *Counter, e *till.Error) string {
			return e.Item + " cannot be made at the moment: " + cmp.Or(e.Problem, "what it is made with") +
				" is not to be had here. Nothing was charged."
		}},
	{code: till.CodeWordHeld, problem: "sold_out", next: stock, extra: at("held_until"),
		detail: func(_ *Counter, e *till.Error) string {
			return fmt.Sprintf("%q is held", e.Word) +
				holdEnds(e.Until)
		}},
	{code: till.CodeWordTaken, problem: "word_already_retired", next: stock,
		detail: func(_ *Counter, e *till.Error) string {
			return fmt.Sprintf("%q is on the register already. Choose another word, or leave detail out and we choose "+
				"one.", e.Word)
		}},

	{code: till.CodeUnread, next: stock, detail: func(_ *Counter, e *till.Error) string { return e.Problem },
		extra: func(c *Counter, e *till.Error) map[string]any {
			if e.Until.IsZero() {
				return nil
			}
			return at("held_until")(c, e)
		}},

	{code: till.CodeKeyMalformed, problem: "idempotency_key_invalid",
		detail: plain("Idempotency-Key must be one value of 16 to 128 printable ASCII characters, with or without " +
			"double quotes around it. This request did nothing."),
		next: plain("Send the same payment again with the key corrected or left out.")},
	{code: till.CodePaymentKey, problem: "idempotency_key_invalid",
		detail: plain("The payment-identifier extension holds an id that is not 16 to 128 letters, digits, _ or -. " +
			"This request did nothing."),
		next: plain("Sign again with a valid id or none.")},
	{code: till.CodeKeysDisagree, problem: "idempotency_keys_disagree",
		detail: plain("The Idempotency-Key header and the payment-identifier extension name different keys. Send one " +
			"of them, or both equal."),
		next: plain("Send the same payment again with the header corrected.")},
	{code: till.CodeKeyConflict, problem: "idempotency_conflict",
		detail: plain("This Idempotency-Key was used by this wallet for another order. Use a new key for a new order."),
		next:   plain("Send the same payment again with a new key, or repeat the first order with this one.")},
	{code: till.CodeKeyInFlight, problem: "idempotency_in_flight",
		detail: plain("The first request with this key is still under way. The payment that came with this one was " +
			"not used."),
		next: plain("Send the identical request again after Retry-After."),
		extra: func(c *Counter, e *till.Error) map[string]any {
			return map[string]any{"recovery": c.till.Recovery(e.Purchase.ID), "charged_now": false}
		}},

	{code: till.CodeRefused, problem: "payment_invalid",
		detail: func(_ *Counter, e *till.Error) string {
			return "The payment was not taken: " + e.Refusal.Error() + ". Nothing was charged."
		},
		next:  plain("Read the reason, ask for fresh terms without a payment, and sign again."),
		extra: reasonOf},
	{code: till.CodeSignIn, problem: "sign_in_refused", extra: reasonOf,
		detail: func(_ *Counter, e *till.Error) string {
			return "The sign-in does not hold: " + e.Refusal.Error() + ". Nothing was charged, and nothing of any " +
				"purchase was given."
		},
		next: plain("Ask for fresh terms without a sign-in, and sign what their sign-in-with-x says, as it stands. " +
			"Paying is answered with the purchase too where an equal order of this wallet is minutes old.")},
	{code: till.CodeAlreadyUsed, problem: "payment_already_used",
		detail: plain("This authorization was used or presented before and this request does not prove to come from " +
			"its sender. This request charged nothing. If the wallet is yours, everything bought with it is at POST " +
			"/api/claims."),
		next: func(c *Counter, e *till.Error) string {
			if e.Escrowed {
				return c.escrowed()
			}
			return usedNext[e.Payment.Billed]
		},
		extra: func(*Counter, *till.Error) map[string]any {
			return map[string]any{"charged_now": false}
		}},

	{code: till.CodeFull, problem: "rate_limited",
		detail: plain("Too many purchases are under way."),
		next:   plain("Send the same request with the same payment again in a moment.")},
	{code: till.CodeHoldsUnit, problem: "rate_limited", next: plain(inAMoment),
		detail: noRoom(func(e *till.Error) string {
			return "this wallet holds a unit of " + e.Item + " already, which is not settled"
		})},
	{code: till.CodeManyOpen, problem: "rate_limited", next: plain(inAMoment),
		detail: noRoom(func(e *till.Error) string {
			return fmt.Sprintf("%d payments of this wallet are under way",
				e.Count)
		})},
	{code: till.CodeManyCoded, problem: "rate_limited", next: plain(inAMoment),
		detail: noRoom(func(e *till.Error) string {
			return fmt.Sprintf("%d payments of smart wallets are under way",
				e.Count)
		})},
	{code: till.CodeOneAtATime, problem: "rate_limited", next: plain(inAMoment),
		detail: noRoom(func(*till.Error) string {
			return "payments of others have reverted there today, so that wallets that have not paid here before go " +
				"one at a time, and another one's is under way"
		})},
	{code: till.CodeManyRefused, problem: "rate_limited",
		detail: plain("Many payments from this address were refused within a minute, so that few of them are checked " +
			"at a time, and there is no room at present. This one was not looked at."),
		next: plain("Send the same payment again after the time in Retry-After. A wallet that has paid here before " +
			"is not kept waiting.")},
	{code: till.CodeManyAnswered, problem: "rate_limited",
		detail: func(_ *Counter, e *till.Error) string {
			return fmt.Sprintf("This key bought something already, and %d fresh payments were answered with that.",
				e.Count)
		},
		next: plain("Send the payment that bought it once more, byte for byte, read its purchase-status, or prove " +
			"the wallet at /api/claims/challenge. With a key of its own the payment buys another one.")},
	{code: till.CodeFundsMoving, problem: "rate_limited", next: plain(inAMoment),
		detail: noRoom(func(*till.Error) string { return "this wallet's other payments keep changing" })},
	{code: till.CodeNotSettling, problem: "payment_refused_for_now",
		detail: func(_ *Counter, e *till.Error) string {
			return fmt.Sprintf("At least %d payments of this wallet did not settle within a day, so nothing is made "+
				"ahead for it for now.", e.Count)
		},
		next: plain("Come back after the time in Retry-After, or pay from another wallet.")},
	{code: till.CodeGasSpent, problem: "payment_refused_for_now",
		detail: func(_ *Counter, e *till.Error) string {
			return "Payments of others have reverted on " + e.Network +
				" and used up what the store spends on that in a day. Until midnight UTC only wallets that have paid " +
				"here before are taken there."
		},
		next: plain("Pay on another network, from a wallet that has bought here before, or come back after the time " +
			"in Retry-After.")},

	{code: till.CodeRestarting, problem: "settlement_unavailable",
		detail: plain("The store is restarting and takes no new payments for a moment."),
		next:   plain("Send the same request with the same payment again in a few seconds.")},
	{code: till.CodeNowhere, problem: "settlement_unavailable",
		detail: func(_ *Counter, e *till.Error) string {
			why := make([]string, len(e.LeftOut))
			for i, o := range leftOuts(e.LeftOut) {
				why[i] = o.Name + ": " + o.Reason
			}
			return "No payment can be taken at the moment. " + strings.Join(why, ". ") + "."
		},
		next: plain(notClaimed + ", or let it expire."),
		extra: func(_ *Counter, e *till.Error) map[string]any {
			return map[string]any{"left_out": leftOuts(
				e.LeftOut)}
		}},
	{code: till.CodeOutage, problem: "settlement_unavailable",
		detail: func(_ *Counter, e *till.Error) string {
			return "No payment is taken on " + e.Network + " at the moment: " + e.Reason + "."
		},
		next: func(_ *Counter, e *till.Error) string {
			if e.Elsewhere {
				return notClaimed + ", or ask for terms without a payment and pay on another network."
			}
			return notClaimed + "."
		}},
	{code: till.CodeUnreadable, problem: "settlement_unavailable",
		detail: plain("The network of this payment cannot be read at the moment."),
		next: plain("Send the same request with the same payment again in a few seconds, or pay on another " +
			"network.")},

	{code: till.CodeRefConflict, problem: "idempotency_conflict",
		detail: plain("This order_ref was used for another request, and it stands for that one for ever. Send the " +
			"first request's body again, byte for byte, or a new order under a new order_ref.")},
	{code: till.CodeRefLost, problem: "order_lost",
		detail: plain("An order of this name was delivered and billed before the store was restored from a backup, " +
			"and its answer is not here any more. Ask the keeper; order again under a new order_ref.")},
	{code: till.CodeCreditCeiling, problem: "credit_ceiling", extra: left,
		detail: func(_ *Counter, e *till.Error) string {
			return "The account may owe " + content.FormatUSDC(e.Left) + " USD more at present, and this order costs " +
				"more than that."
		}},
	{code: till.CodeDailyCap, problem: "daily_cap", extra: left,
		detail: func(_ *Counter, e *till.Error) string {
			return "The day's limit of this account is reached. A new day begins at " + stamp(e.Until) + "."
		}},

	{code: till.CodePolled, problem: "poll_too_soon",
		detail: plain("This order was read less than a minute ago, and nothing has happened to it since.")},
	{code: till.CodeUnauthorized, problem: "unauthorized", next: plain("Nothing was charged. Sign what extensions " +
		"says, as it stands, or send the status token."),
		detail: plain("Send Authorization: Bearer with the status_token that came with this purchase. Without it, " +
			"sign in as extensions says, or prove your wallet at POST /api/claims."), extra: reasonOf},
	{code: till.CodeNoChallenge, problem: "claim_challenge_invalid",
		detail: plain("This nonce is of no open challenge for this wallet: it was never given out for it, was " +
			"answered already, or is older than five minutes. Ask for a new one at POST /api/claims/challenge.")},
	{code: till.CodeNotSigned, problem: "claim_signature_invalid",
		detail: func(_ *Counter, e *till.Error) string {
			return "The signature does not prove this wallet (" + e.Refusal.Error() +
				"). The challenge is not spent: sign its text exactly as it stands and send that."
		}},
	{code: till.CodeProvingBudget, problem: "budget_spent", next: plain(signAgain),
		detail: plain("The signature is not by the address's own key, and no more contracts are asked for the " +
			"moment. The challenge is not spent. Send the same again after the time in Retry-After, while it is " +
			"valid.")},
	{code: till.CodeProvingDown, problem: "settlement_unavailable", next: plain(signAgain),
		detail: plain("The network of this wallet cannot be read at the moment. The challenge is not spent; send the " +
			"same again.")},
	{code: till.CodeNetworkDown, problem: "settlement_unavailable", next: plain(signAgain),
		detail: plain("The network cannot be read at the moment. Try again later.")},
}

// What is said of several codes.
const (
	correct = "Correct the request. The payment you sent was not used; send it again with the corrected request, " +
		"or let it expire."
	inAMoment  = "Send the same request with the same payment again in a moment: it was not used."
	signAgain  = "Nothing was charged. Sign in again after Retry-After; do not pay again for what you bought."
	notClaimed = "Your payment was not claimed. Send the same request with the same payment again after Retry-After, " +
		"while its authorization is valid"
)

// reasonOf says why a payment or a sign-in was not taken, where that is known.
func reasonOf(_ *Counter, e *till.Error) map[string]any {
	if e.Refusal == nil {
		return nil
	}
	return map[string]any{"reason": e.Refusal.Reason}
}

// byRetry is a text for each word of Outcome.Retry.
func byRetry(texts map[string]string) text {
	return func(_ *Counter, e *till.Error) string { return texts[e.Payment.Retry] }
}

// stock is what to do where something is not to be had.
var stock = byRetry(map[string]string{
	"now":   correct,
	"after": "Nothing was charged. Come back after held_until; let this authorization expire.",
	"never": "Nothing was charged. Choose something else; let the authorization expire.",
})

// usedNext says what to do about a used authorization, by whether it paid. Only where it certainly
// did not pay is another one suggested.
var usedNext = map[string]string{
	"yes": "It has paid: do not sign another one for the same order. Prove the wallet at POST " +
		"/api/claims/challenge and POST /api/claims and get back what it bought.",
	"no": "It did not pay. Prove the wallet at POST /api/claims/challenge and POST /api/claims, or sign a new " +
		"payment for a new purchase.",
	"unknown": "It may have paid: do not sign another one for the same order. Prove the wallet at POST " +
		"/api/claims/challenge and POST /api/claims, which tell.",
}

// escrowed says how a payment comes back that an escrow holds for no order that is known.
func (c *Counter) escrowed() string {
	return "It went into the escrow, and no order here is known to have it, as after the loss of a ledger: do not " +
		"sign another one for the same order. What nobody captures is yours: from captureDeadline of its terms " +
		"on the wallet that paid takes it back, alone, by reclaim, with the payment's information as the event " +
		"PaymentAuthorized of its transaction has it. " + c.BaseURL + "/holds has the call."
}

func noRoom(why func(*till.Error) string) text {
	return func(_ *Counter, e *till.Error) string {
		return "There is no room for this payment at the moment: " + why(e) + "."
	}
}

// left says what a limit of an account still has room for, in US dollars.
func left(_ *Counter, e *till.Error) map[string]any {
	return map[string]any{"left_usd": content.FormatUSDC(e.Left)}
}

func holdEnds(until time.Time) string {
	return fmt.Sprintf(" for payments that are not settled yet. What is not paid for comes back, the first by %s.",
		stamp(until))
}

func at(name string) func(*Counter, *till.Error) map[string]any {
	return func(_ *Counter, e *till.Error) map[string]any { return map[string]any{name: stamp(e.Until)} }
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// request is what an answer to it needs to know of a request.
type request struct {
	Request
	came    payment // a payment's protocol answers for it
	to      pay.Carrier
	channel *pay.Channel // of a voucher that is out of step, which fresh terms tell; nil for none
}

// channelOf is how a channel stands, for a client whose voucher is out of step; nil for one that is
// not known. A voucher that was taken before more was claimed says nothing of that any more.
func channelOf(r *channels.Row) *pay.Channel {
	if r == nil {
		return nil
	}
	c := &pay.Channel{State: r.Seen, Charged: r.Charged}
	if r.Last != nil && r.Last.Max >= r.Charged {
		c.Last = &r.Last.Voucher
	}
	return c
}

// problem says an error of the till as a problem; other errors pass as they are.
func (c *Counter) problem(err error, r request) error {
	e, ok := errors.AsType[*till.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case till.CodeInputs:
		return withPayment(e.Err, e.Payment)
	case till.CodeUnderWay:
		return c.underWay(e, r)
	case till.CodeEnded:
		return c.ended(e, r)
	}
	for _, row := range problems {
		if row.code == e.Code {
			return c.inWords(row, e, r)
		}
	}
	return err
}

// Problem says an error of the till as a problem, for orders that bring no payment; other errors
// pass as they are.
func (c *Counter) Problem(err error) error { return c.problem(err, request{}) }

// allowanceRequired is the stock reason that is answered 412 and not 402: no other signature helps
// before the payer has approved Permit2 (x402 2.5).
const allowanceRequired = "permit2_allowance_required"

func (c *Counter) inWords(row row, e *till.Error, r request) error {
	p := &problem.Error{Code: cmp.Or(row.problem, e.Reason), Retry: e.Retry, OfClient: e.OfClient, Err: e.Err,
		Detail: row.detail(c, e)}
	if e.Field != "" {
		p.Fields = []problem.Field{{Field: e.Field, Problem: e.Problem}}
	}
	if e.Payment != nil {
		p.Payment = &problem.Payment{Delivered: e.Payment.Delivered, Billed: e.Payment.Billed, Retry: e.Payment.Retry,
			NextStep: row.next(c, e)}
	}
	if row.extra != nil {
		p.Extra = row.extra(c, e)
	}
	switch e.Code {
	case till.CodeUnauthorized:
		p.Header = http.Header{"Www-Authenticate": {`Bearer realm="purchase-status"`}}
	case till.CodeRefused, till.CodeSignIn:
		r.channel = channelOf(e.Channel)
		terms, err := c.freshTerms(r, e.Quote, e.Refusal.Reason)
		if err != nil {
			return err
		}
		maps.Copy(terms, p.Extra)
		p.Extra, p.Header = terms, http.Header{"Cache-Control": privateNoStore}
		if e.Refusal.Reason == allowanceRequired {
			p.Status = http.StatusPreconditionFailed
		}
	}
	return p
}

// withPayment says on a problem what became of the payment that came along.
func withPayment(err error, o *till.Outcome) error {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || o == nil {
		return err
	}
	p.Payment = &problem.Payment{Delivered: o.Delivered, Billed: o.Billed, Retry: o.Retry, NextStep: correct}
	return p
}

// unfit is the answer to a request with several payments or one of a kind that is not offered, of
// which none is used.
func unfit(u *pay.Unfit) error {
	return &problem.Error{Code: "payment_invalid", Status: http.StatusBadRequest, Detail: u.Message +
		" None in this request was used.",
		Extra: map[string]any{"reason": u.Reason},
		Payment: &problem.Payment{Billed: "no", Retry: "now",
			NextStep: "Send the request with one payment of a kind that its terms ask for, and let every other " +
				"expire."}}
}
