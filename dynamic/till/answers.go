package till

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail/x402"
)

// withPayment says on an error what became of the payment. Errors that are not problems pass as they are.
func withPayment(err error, pay problem.Payment) error {
	e, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	e.Payment = &pay
	return e
}

func notBilled(retry, next string) problem.Payment {
	return problem.Payment{Billed: "no", Retry: retry, NextStep: next}
}

// ledgerDown is the answer when the ledger fails and it is not known what it holds.
func ledgerDown(err error) error {
	if _, ok := errors.AsType[*problem.Error](err); ok {
		return err
	}
	return withPayment(&problem.Error{Code: "ledger_unavailable", Status: http.StatusServiceUnavailable, Retry: 5 * time.Second, Err: err,
		Detail: "The store's ledger did not answer in time, so what became of this request is not known."},
		problem.Payment{Billed: "unknown", Retry: "same_payment", NextStep: "Send the identical request with the identical payment again: if it was claimed it is recognised, and it is never charged twice."})
}

// recovery is how a buyer comes back to a purchase. The token is private to the buyer.
type recovery struct {
	PurchaseID  string `json:"purchase_id"`
	StatusToken string `json:"status_token"`
	StatusURL   string `json:"status_url"`
}

func (t *Till) recovery(id string) recovery {
	return recovery{id, t.statusToken(id), t.cfg.BaseURL + "/api/purchase-status/" + id}
}

// notYet is the answer while a purchase is on its way: 503 with everything that is needed to come back, and no terms,
// because a stock client would sign again.
func (t *Till) notYet(p *Purchase) error {
	billed := "unknown"
	detail := "Your payment is being settled and the outcome is not known yet. Do not sign another one."
	if p.State == Settled || p.State == SettledLate {
		billed, detail = "yes", "Your payment has settled and the goods are being signed. Do not sign another one."
	}
	h := http.Header{}
	response, err := x402.Encode(x402.SettleResponse{
		ErrorReason: "settlement_pending", Payer: p.Payment.Payer, Transaction: p.tx(), Network: p.Payment.Network,
	})
	if err != nil {
		return err
	}
	h.Set(x402.HeaderResponse, response)
	return &problem.Error{Code: "payment_unknown", Status: http.StatusServiceUnavailable, Retry: 5 * time.Second, Header: h, Detail: detail,
		Extra: map[string]any{"recovery": t.recovery(p.ID)},
		Payment: &problem.Payment{Billed: billed, Retry: "same_payment",
			NextStep: "Send the identical request with the identical payment again, or read recovery.status_url with recovery.status_token as bearer."}}
}

// ended is the answer for a purchase that ended without goods.
func (t *Till) ended(p *Purchase) error {
	h := http.Header{}
	e := &problem.Error{Header: h, Extra: map[string]any{"recovery": t.recovery(p.ID), "reason": p.Reason}}
	retry := "now"
	if !p.Final {
		retry = "after"
	}
	next := "Sign a new payment if you still want it."
	if retry == "after" {
		next = fmt.Sprintf("The authorization you sent can be used by its holder until %s; if it should land after all, this purchase is delivered or refunded. After that, sign a new one.",
			time.Unix(min(p.Payment.ValidBefore, 1<<40), 0).UTC().Format(time.RFC3339))
	}
	switch p.State {
	case NotSettled:
		response, err := x402.Encode(x402.SettleResponse{ErrorReason: p.Reason, Payer: p.Payment.Payer, Transaction: p.tx(), Network: p.Payment.Network})
		if err != nil {
			return err
		}
		h.Set(x402.HeaderResponse, response)
		e.Code, e.Status = "payment_invalid", http.StatusPaymentRequired
		e.Detail = "The payment did not go through (" + p.Reason + "), so the goods were kept back. Nothing was charged."
		e.Payment = &problem.Payment{Billed: "no", Retry: retry, NextStep: next}
		// No PAYMENT-REQUIRED, which x402 keeps for payments that were not tried: a stock client would take it for an
		// invitation. It reads no body, so whoever decides to sign again finds the terms there, as in every 402.
		site := t.cfg.Site.Now()
		if g, ok := site.Good(p.Item); ok {
			switch _, terms, err := t.freshTerms(asked{site, g, http.MethodGet, p.Fingerprint}, p.Reason, t.cfg.Now()); {
			case isOut(err): // no terms at present, but what every 402 says
				key := suggestion()
				key.SuggestedKey = suggestedKey(p.Fingerprint, t.cfg.Now())
				e.Extra["warning"], e.Extra["idempotency"], e.Extra["left_out"] = ceilingWarning(g), key, t.leftOut(g)
			case err != nil:
				return err
			default:
				maps.Copy(terms, e.Extra)
				e.Extra = terms
			}
		}
		e.Extra["note"] = "The goods are made first and the payment is settled after. It was not, so nothing was taken. To buy after all, do what next_step says and sign one of the offers in accepts."
	case Refused:
		e.Code, e.Status = "sold_out", http.StatusConflict
		e.Detail = "The order could not be taken (" + p.Reason + "). Nothing was charged."
		e.Payment = &problem.Payment{Billed: "no", Retry: retry, NextStep: next}
	case Failed:
		e.Code, e.Status = "internal", http.StatusInternalServerError
		e.Detail = "The goods could not be made, so your payment was not settled. Nothing was charged."
		e.Payment = &problem.Payment{Billed: "no", Retry: retry, NextStep: next}
	case RefundOwed:
		e.Code, e.Status = "refund_owed", http.StatusConflict
		e.Detail = "Your payment arrived after this purchase had been given up, and the goods are gone. What you paid is owed to you and is paid back to the wallet that paid."
		e.Extra["owed_usdc"] = usdc(p.Amount)
		e.Payment = &problem.Payment{Billed: "yes", Retry: "never", NextStep: "Nothing to do: the refund goes to the paying wallet on the same network. Its state stands at recovery.status_url."}
	case Reversed:
		e.Code, e.Status = "payment_reversed", http.StatusConflict
		e.Detail = "The chain took this payment back after the goods had been delivered. The certificate says so."
		e.Payment = &problem.Payment{Delivered: true, Billed: "no", Retry: "now", NextStep: "Sign a new payment if you want the goods to stand."}
	case FromChain, Uncredited:
		return usedError("yes")
	default:
		return fmt.Errorf("till: purchase in state %s has no answer", p.State)
	}
	return e
}

// closedError is the answer of a store that was restored and not reopened (M13).
func closedError() error {
	return withPayment(&problem.Error{Code: "store_closed", Status: http.StatusServiceUnavailable, Retry: 5 * time.Minute,
		Detail: "The store was restored from a backup and is being checked against the chain. It takes no orders until the keeper reopens it."},
		notBilled("same_payment", "Come back later. What you bought before is not lost."))
}

var errNotFound = ledger.ErrNotFound
