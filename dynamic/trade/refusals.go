package trade

import (
	"cmp"
	"errors"
	"time"

	"store.example/agentstore/dynamic/problem"
)

// refusal is how the counter says no: a row. Nothing was delivered and nothing billed.
type refusal struct {
	code  string // of package problem
	when  string
	retry string // never | now | after
	next  string
}

const (
	signAnew = "Correct what is wrong, sign again with a new timestamp and nonce, and send it."
	laterOn  = "Send the same body under the same order_ref again later, signed anew."
	choose   = "Choose another good: GET /api/trade/catalog?account={account} lists those of the account."
)

// refusals is the table, in the order in which a request meets them. The contract has it.
var refusals = []refusal{
	{"cross_site_refused", "a page of another site sent it", "never", "Send it from the account's server."},
	{"body_too_large", "the body is longer than 1 MiB", "never", "Send a shorter body."},
	{"unsupported_media_type", "the body is not application/json", "now", signAnew},
	{"unknown_account", "no account has the id in the path", "never", "Use an id of the contract."},
	{"account_not_provisioned", "the account has no secret here yet", "after", laterOn},
	{"bad_provider_key", keyLabel + " names another account", "now", "Leave " + keyLabel + " out or correct it."},
	{"missing_headers", "a header of the dialect is missing, there twice, or of two dialects", "now", signAnew},
	{"bad_timestamp", "the timestamp is not in Unix seconds", "now", signAnew},
	{"stale_timestamp", "the timestamp is more than 300 seconds from the store's clock", "now", signAnew},
	{"bad_nonce", "the nonce is not of the dialect's form", "now", signAnew},
	{"bad_signature", "the signature is not the account's over these bytes", "now", "Try the same headers and body " +
		"at the check desk of the sandbox, which shows the signature that it expects."},
	{"bad_request", "the body is no instruction, is for another account or item, or an input is wrong", "now",
		signAnew},
	{"counter_closed", "the store was restored and is checked, or nonces of before are void", "after", laterOn},
	{"replayed", "the nonce was used before", "now", "Sign again with a new nonce. The same order_ref and body get " +
		"the first answer."},
	{"idempotency_conflict", "the order_ref was used for another body", "never", "Use a new order_ref for a new " +
		"order."},
	{"idempotency_in_flight", "the first request with this order_ref is still under way", "after", laterOn},
	{"not_found", "no good has the id in the path", "never", choose},
	{"gone", "the good is no longer sold", "never", choose},
	{"not_at_the_counter", "the good is not sold on account, or not to this account", "never", choose},
	{"target_refused", "the store does not read the address in the input", "never", "Name a public https address."},
	{"sold_out", "none is to be had", "after", laterOn},
	{"credit_ceiling", "the account would owe more than it may", "after", "Pay what is owed, and send the same body " +
		"again, signed anew. The statement says what is owed."},
	{"daily_cap", "the account would be billed more in a day than it may", "after", laterOn},
	{"desk_rate_limited", "the check desk has answered 120 times in this hour", "after", "Check again next hour."},
}

func refusalOf(code string) (refusal, bool) {
	for _, r := range refusals {
		if r.code == code {
			return r, true
		}
	}
	return refusal{}, false
}

// refuse says no by a row of the table.
func refuse(code, detail string, fields ...problem.Field) *problem.Error {
	return told(&problem.Error{Code: code, Detail: detail, Fields: fields})
}

// told says on a refusal what became of the order. Faults of ours are left to the server, which
// says that it is not known.
func told(e *problem.Error) *problem.Error {
	row, known := refusalOf(e.Code)
	if status, _ := problem.Lookup(e.Code); !known && cmp.Or(e.Status, status.Status) >= 500 {
		return e
	}
	e.Payment = nil
	e.Account = &problem.Account{Retry: cmp.Or(row.retry, "never"), NextStep: cmp.Or(row.next, signAnew)}
	if e.Account.Retry == "never" && e.Retry > 0 {
		e.Account.Retry = "after"
	}
	return e
}

// rateLimited says a spent budget in the counter's word.
func rateLimited(err error) error {
	e, ok := errors.AsType[*problem.Error](err)
	if !ok || e.Code != "budget_spent" {
		return err
	}
	e.Code = "desk_rate_limited"
	return told(e)
}

// down is the answer to an error of the ledger's; a refusal passes as it is.
func down(err error) error {
	if _, said := errors.AsType[*problem.Error](err); err == nil || said {
		return err
	}
	return &problem.Error{Code: "ledger_unavailable", Retry: 5 * time.Second, Err: err,
		Detail: "The store's ledger did not answer in time, so what became of this request is not known."}
}
