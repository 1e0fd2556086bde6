package problem

import "net/http"

// Code is one way to say no. Codes are permanent: each has a page at {base_url}/problems/<code> and may be tested for
// by clients.
type Code struct {
	Code   string
	Status int
	Title  string
}

// Codes is the table of all problem codes, by status and then by name.
var Codes = []Code{
	{"bad_since", http.StatusBadRequest, "The week is not written as YYYY-Www"},
	{"claim_challenge_invalid", http.StatusBadRequest, "The claim challenge is unknown, spent or expired"},
	{"idempotency_key_invalid", http.StatusBadRequest, "The Idempotency-Key is malformed"},
	{"idempotency_keys_disagree", http.StatusBadRequest, "The Idempotency-Key and the payment-identifier disagree"},
	{"invalid_input", http.StatusBadRequest, "An input is missing or invalid"},
	{"own_host_refused", http.StatusBadRequest, "The store does not read itself"},
	{"target_refused", http.StatusBadRequest, "The store does not read that address"},
	{"url_missing", http.StatusBadRequest, "No URL was given"},
	{"url_unparseable", http.StatusBadRequest, "The text is not a URL"},
	{"unauthorized", http.StatusUnauthorized, "A credential is missing or wrong"},
	{"payment_invalid", http.StatusPaymentRequired, "The payment cannot be taken"},
	{"payment_required", http.StatusPaymentRequired, "Payment required"},
	{"claim_signature_invalid", http.StatusForbidden, "The claim signature does not prove the address"},
	{"not_found", http.StatusNotFound, "Not found"},
	{"method_not_allowed", http.StatusMethodNotAllowed, "Method not allowed"},
	{"not_acceptable", http.StatusNotAcceptable, "No acceptable representation"},
	{"request_timeout", http.StatusRequestTimeout, "The request took too long"},
	{"idempotency_in_flight", http.StatusConflict, "The first request with this key is still under way"},
	{"payment_already_used", http.StatusConflict, "The payment was used before"},
	{"payment_reversed", http.StatusConflict, "The payment was reversed"},
	{"refund_owed", http.StatusConflict, "A refund is owed"},
	{"sold_out", http.StatusConflict, "Sold out"},
	{"word_already_retired", http.StatusConflict, "The word is already retired"},
	{"gone", http.StatusGone, "No longer sold or served"},
	{"precondition_failed", http.StatusPreconditionFailed, "The copy you hold is another one"},
	{"body_too_large", http.StatusRequestEntityTooLarge, "The request body is too large"},
	{"unsupported_media_type", http.StatusUnsupportedMediaType, "The request body has the wrong media type"},
	{"range_not_satisfiable", http.StatusRequestedRangeNotSatisfiable, "The range is beyond the end"},
	{"idempotency_conflict", http.StatusUnprocessableEntity, "The key was used for another request"},
	{"budget_spent", http.StatusTooManyRequests, "The budget of this minute is spent"},
	{"payment_refused_for_now", http.StatusTooManyRequests, "Payments of this payer are refused for now"},
	{"poll_too_soon", http.StatusTooManyRequests, "Polled too soon"},
	{"rate_limited", http.StatusTooManyRequests, "Too many requests"},
	{"read_today", http.StatusTooManyRequests, "The host was read by hand within the day"},
	{"header_too_large", http.StatusRequestHeaderFieldsTooLarge, "The request header is too large"},
	{"internal", http.StatusInternalServerError, "Internal error"},
	{"ledger_unavailable", http.StatusServiceUnavailable, "The ledger cannot be reached"},
	{"page_unreadable", http.StatusServiceUnavailable, "The page cannot be read at the moment"},
	{"payment_unknown", http.StatusServiceUnavailable, "The outcome of the payment is not known yet"},
	{"settlement_unavailable", http.StatusServiceUnavailable, "Payments cannot be settled at the moment"},
	{"store_closed", http.StatusServiceUnavailable, "The store is closed"},
}

// Lookup returns the row of a code.
func Lookup(code string) (Code, bool) {
	for _, c := range Codes {
		if c.Code == code {
			return c, true
		}
	}
	return Code{}, false
}
