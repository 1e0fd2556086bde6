package problem

import "net/http"

// Code is one way to say no. Codes are permanent: each has a page at {base_url}/problems/<code> and
// may be tested for by clients.
type Code struct {
	Code   string
	Status int
	Title  string
}

// Codes is the table of all problem codes, by status and then by name.
var Codes = []Code{
	{"bad_request", http.StatusBadRequest, "The instruction cannot be read, or is for another door"},
	{"bad_since", http.StatusBadRequest, "The week is not written as YYYY-Www"},
	{"claim_challenge_invalid", http.StatusBadRequest, "The claim challenge is unknown, spent or expired"},
	{"idempotency_key_invalid", http.StatusBadRequest, "The Idempotency-Key is malformed"},
	{"idempotency_keys_disagree", http.StatusBadRequest, "The Idempotency-Key and the payment-identifier disagree"},
	{"invalid_input", http.StatusBadRequest, "An input is missing or invalid"},
	{"own_host_refused", http.StatusBadRequest, "The store does not read itself"},
	{"signature_invalid", http.StatusBadRequest, "The request's signature is refused"},
	{"target_refused", http.StatusBadRequest, "The store does not read that address"},
	{"url_missing", http.StatusBadRequest, "No URL was given"},
	{"url_unparseable", http.StatusBadRequest, "The text is not a URL"},
	{"bad_nonce", http.StatusUnauthorized, "The nonce is malformed"},
	{"bad_provider_key", http.StatusUnauthorized, "The request names another account's key"},
	{"bad_signature", http.StatusUnauthorized, "The signature is not the account's"},
	{"bad_timestamp", http.StatusUnauthorized, "The timestamp is not in Unix seconds"},
	{"missing_headers", http.StatusUnauthorized, "A header of the signature is missing"},
	{"stale_timestamp", http.StatusUnauthorized, "The timestamp is too far from now"},
	{"unauthorized", http.StatusUnauthorized, "A credential is missing or wrong"},
	{"payment_invalid", http.StatusPaymentRequired, "The payment cannot be taken"},
	{"payment_required", http.StatusPaymentRequired, "Payment required"},
	{"sign_in_refused", http.StatusPaymentRequired, "The sign-in does not hold"},
	{"claim_signature_invalid", http.StatusForbidden, "The claim signature does not prove the address"},
	{"cross_site_refused", http.StatusForbidden, "Another site's page sent this"},
	{"note_refused", http.StatusForbidden, "Nobody was shown to speak for the host"},
	{"screened", http.StatusForbidden, "Nothing is paid to this address"},
	{"not_at_the_counter", http.StatusNotFound, "The good is not sold on account"},
	{"not_found", http.StatusNotFound, "Not found"},
	{"unknown_account", http.StatusNotFound, "No account has this id"},
	{"method_not_allowed", http.StatusMethodNotAllowed, "Method not allowed"},
	{"not_acceptable", http.StatusNotAcceptable, "No acceptable representation"},
	{"request_timeout", http.StatusRequestTimeout, "The request took too long"},
	{"already_claimed", http.StatusConflict, "The settlement was claimed or told of already"},
	{"already_signed", http.StatusConflict, "The identity signed this before"},
	{"credit_ceiling", http.StatusConflict, "The account owes as much as it may"},
	{"domain_paid_this_week", http.StatusConflict, "A bounty of this domain was paid in this week"},
	{"idempotency_in_flight", http.StatusConflict, "The first request with this key is still under way"},
	{"no_callback", http.StatusConflict, "The order has no callback to send again"},
	{"not_open", http.StatusConflict, "The bounty is claimed"},
	{"not_quoted", http.StatusConflict, "The request is not quoted yet"},
	{"not_read", http.StatusConflict, "The reading could not be made"},
	{"opted_out", http.StatusConflict, "The host asks not to be read"},
	{"order_lost", http.StatusConflict, "The order was delivered before a restore"},
	{"order_released", http.StatusConflict, "What was held went back"},
	{"payment_already_used", http.StatusConflict, "The payment was used before"},
	{"payment_not_settled", http.StatusConflict, "The payment did not settle"},
	{"payment_reversed", http.StatusConflict, "The payment was reversed"},
	{"refund_owed", http.StatusConflict, "A refund is owed"},
	{"replayed", http.StatusConflict, "The nonce was used before"},
	{"settlement_not_final", http.StatusConflict, "No final block has the transaction yet"},
	{"sold_out", http.StatusConflict, "Sold out"},
	{"target_held", http.StatusConflict, "The host is being read for another order"},
	{"upstream_failed", http.StatusConflict, "The service behind the good gave no answer"},
	{"word_already_retired", http.StatusConflict, "The word is already retired"},
	{"expired", http.StatusGone, "The bounty has expired"},
	{"gone", http.StatusGone, "No longer sold or served"},
	{"precondition_failed", http.StatusPreconditionFailed, "The copy you hold is another one"},
	{"body_too_large", http.StatusRequestEntityTooLarge, "The request body is too large"},
	{"unsupported_media_type", http.StatusUnsupportedMediaType, "The request body has the wrong media type"},
	{"range_not_satisfiable", http.StatusRequestedRangeNotSatisfiable, "The range is beyond the end"},
	{"idempotency_conflict", http.StatusUnprocessableEntity, "The key was used for another request"},
	{"settlement_mismatch", http.StatusUnprocessableEntity, "The transaction is not the purchase"},
	{"settlement_predates", http.StatusUnprocessableEntity, "The purchase was made before the bounty"},
	{"transfer_failed", http.StatusUnprocessableEntity, "The transaction moved no money"},
	{"budget_spent", http.StatusTooManyRequests, "The budget of this minute is spent"},
	{"daily_cap", http.StatusTooManyRequests, "The day's limit is reached"},
	{"desk_rate_limited", http.StatusTooManyRequests, "The check desk has answered enough for this hour"},
	{"payment_refused_for_now", http.StatusTooManyRequests, "Payments of this payer are refused for now"},
	{"poll_too_soon", http.StatusTooManyRequests, "Polled too soon"},
	{"rate_limited", http.StatusTooManyRequests, "Too many requests"},
	{"read_today", http.StatusTooManyRequests, "The host was read by hand within the day"},
	{"header_too_large", http.StatusRequestHeaderFieldsTooLarge, "The request header is too large"},
	{"internal", http.StatusInternalServerError, "Internal error"},
	{"account_not_provisioned", http.StatusServiceUnavailable, "The account has no secret here yet"},
	{"counter_closed", http.StatusServiceUnavailable, "The trade counter is closed"},
	{"identity_unavailable", http.StatusServiceUnavailable, "Who signed cannot be found out at the moment"},
	{"ledger_unavailable", http.StatusServiceUnavailable, "The ledger cannot be reached"},
	{"page_unreadable", http.StatusServiceUnavailable, "The page cannot be read at the moment"},
	{"payment_unknown", http.StatusServiceUnavailable, "The outcome of the payment is not known yet"},
	{"payouts_disabled", http.StatusServiceUnavailable, "No rewards are paid at the moment"},
	{"screen_unavailable", http.StatusServiceUnavailable, "Whom nothing is paid to is not known at the moment"},
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
