// Package problem is how the service says no: RFC 9457 problem details with the older `error` field
// always beside. A code is a row of the table Codes with a page of its own at
// {base_url}/problems/<code>.
package problem

import (
	"net/http"
	"time"
)

// Error is an answer that is not the one asked for. Handlers return it; the server's one adapter
// writes it. Err is logged for 5xx and never sent.
type Error struct {
	Code    string         // a row of Codes: sold_out, invalid_input, …
	Status  int            // 0: the row's own status
	Detail  string         // for people: what happened and what to do next
	Fields  []Field        // invalid_input: which inputs and why
	Extra   map[string]any // further members of the object
	Header  http.Header    // headers of the answer
	Retry   time.Duration  // Retry-After, rounded up to whole seconds; 0: none
	Next    string         // next_step, where no payment was presented: what to do now
	Payment *Payment       // set on every error after a payment was presented
	Account *Account       // set on every error of an order that is billed to an account
	// OfClient says that a limit of the caller alone is reached (route.Client), so that one who is
	// told apart by a key would be let through: whoever did not sign is asked for a signature.
	OfClient bool
	Err      error
}

// Field names one invalid input.
type Field struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// Payment says what became of a presented payment.
type Payment struct {
	Delivered bool   `json:"delivered"`
	Billed    string `json:"billed"` // yes | no | unknown
	Retry     string `json:"retry"`  // never | now | after | same_payment
	NextStep  string `json:"next_step"`
}

// Account says what became of an order that is billed to an account. It stands where Payment does
// for orders that bring their payment.
type Account struct {
	Delivered bool
	Billed    bool
	Unknown   bool   // the ledger did not say: both are null then
	Retry     string // never | now | after
	NextStep  string
}

// Error implements error with the code and detail.
func (e *Error) Error() string {
	s := e.Code
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
