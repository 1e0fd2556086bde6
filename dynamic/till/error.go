package till

import (
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/rail"
)

// Error says why an order was not answered with what was ordered, as codes and data. The words, and
// what a protocol makes of it, are the counter's.
type Error struct {
	Code Code
	// Payment says what became of the payment that was presented, nil where there is nothing to
	// say.
	Payment *Outcome
	// Retry is when the same may be tried again; 0 says nothing of it.
	Retry time.Duration
	// Purchase is the one that this is about, for its buyer alone.
	Purchase *Purchase
	// Quote is on what terms the order may be paid anew.
	Quote   *Quote
	Item    string               // that was asked for, or is held
	Word    string               // that was asked for
	Field   string               // that is wrong, with Problem
	Problem string               // that the kind of the good has with Field
	Until   time.Time            // of a hold, or when a good is to be had again
	Count   int                  // of what there is too many of
	Left    int64                // of a limit of an account, in millionths of a dollar
	Gone    *content.RetiredGood // what is no longer sold
	Refusal *rail.Refusal        // why a rail or a protocol did not take a payment
	Channel *channels.Row        // of a voucher that is out of step, if its channel is known
	Network string               // CAIP-2, or its name where Reason stands beside
	Reason  string               // why the network takes no payment
	// Elsewhere says that other networks take payments for the same.
	Elsewhere bool
	// Escrowed says of a payment that was used before that it went into an escrow, and that no
	// order here is known to have it.
	Escrowed bool
	// OfClient says of a budget that the client's own part is spent and there is some for others.
	OfClient bool
	LeftOut  []LeftOut // every network, where none takes a payment
	Err      error     // the cause, for the log
}

// Error implements error.
func (e *Error) Error() string {
	s := "till: " + string(e.Code)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Outcome says what became of a presented payment.
type Outcome struct {
	Delivered bool
	Billed    string // yes | no | unknown
	Retry     string // never | now | after | same_payment
}

// paid says on an error what became of the payment, and returns it.
func (e *Error) paid(billed, retry string) *Error {
	e.Payment = &Outcome{Billed: billed, Retry: retry}
	return e
}

// Code names what stands in the way of an order.
type Code string

// The codes. Where the same problem has several causes that a buyer answers differently, each is a
// code.
const (
	CodeLedger Code = "ledger" // the ledger did not answer; what it holds is not known
	CodeClosed Code = "closed" // the store was restored and is not reopened (M13)

	CodeUnknownItem Code = "unknown_item"
	CodeGone        Code = "gone" // Gone
	CodeNotQuoted   Code = "not_quoted"
	CodeDeclined    Code = "declined"
	CodeNotHeld     Code = "not_held"  // Item is the path at which it is paid at once
	CodeInputs      Code = "inputs"    // what Order.Inputs found, in Err
	CodeBadInput    Code = "bad_input" // Field, Problem: the kind of the good refuses it
	CodeSoldOut     Code = "sold_out"  // Item
	CodeReopens     Code = "reopens"   // Item, Until: sold out until then
	CodeHeld        Code = "held"      // Item, Until: what is left is held by payments that are not settled
	CodeAway        Code = "away"      // Item: what it is made with is not to be had now
	CodeWordHeld    Code = "word_held" // Word, Until
	CodeWordTaken   Code = "word_taken"
	CodeUnread      Code = "unread" // Reason, Problem, Until: the target is not read, or not now

	CodeKeyMalformed  Code = "key_malformed"     // Order.BadKey
	CodePaymentKey    Code = "payment_key"       // the key in the payment is malformed
	CodeKeysDisagree  Code = "keys_disagree"     // the request's key and the payment's
	CodeKeyConflict   Code = "key_conflict"      // the key is of another order of this wallet
	CodeKeyInFlight   Code = "key_in_flight"     // Purchase: the first request with the key is under way
	CodeRefused       Code = "refused"           // Refusal, Quote: the payment was not taken
	CodeSignIn        Code = "sign_in"           // Refusal, Quote: the sign-in does not hold
	CodeAlreadyUsed   Code = "already_used"      // of the purchase nothing is said
	CodeFull          Code = "full"              // too many purchases are under way in this process
	CodeHoldsUnit     Code = "holds_unit"        // Item: this wallet holds one, not settled
	CodeManyOpen      Code = "many_open"         // Count payments of this wallet are under way
	CodeManyCoded     Code = "many_coded"        // Count payments of wallets with code are under way
	CodeOneAtATime    Code = "one_at_a_time"     // gas for reverts is spent (M15): strangers go one at a time
	CodeManyRefused   Code = "many_refused"      // payments of this client were refused, and no place is free (M15)
	CodeManyAnswered  Code = "many_answered"     // Count authorizations were answered with one purchase (M19)
	CodeFundsMoving   Code = "funds_moving"      // this wallet's other payments keep changing
	CodeNotSettling   Code = "not_settling"      // Count payments of this wallet did not settle within a day (M5)
	CodeGasSpent      Code = "gas_spent"         // Network: the day's gas for reverts is used up (M15)
	CodeRestarting    Code = "restarting"        // no new payments for a moment
	CodeNowhere       Code = "nowhere"           // LeftOut: no network takes a payment
	CodeOutage        Code = "outage"            // Network, Reason: takes no payment now; Elsewhere
	CodeUnreadable    Code = "unreadable"        // the network of the payment cannot be read
	CodeUnderWay      Code = "under_way"         // Purchase: its outcome is not known yet, or its goods not signed
	CodeEnded         Code = "ended"             // Purchase: it ended without what was ordered; Quote, Err why not
	CodePolled        Code = "polled"            // an order was read within the minute, and nothing has changed
	CodeUnauthorized  Code = "unauthorized"      // no such purchase, or not this token's; Refusal: of a sign-in
	CodeNoChallenge   Code = "no_challenge"      // the nonce is of no open challenge of the wallet
	CodeNotSigned     Code = "not_signed"        // Refusal: the signature does not prove the wallet
	CodeProvingBudget Code = "proving_budget"    // too many contracts were asked whether a signature is theirs
	CodeProvingDown   Code = "proving_down"      // the network of the wallet was asked and did not answer
	CodeNetworkDown   Code = "network_unchecked" // the network of the wallet cannot be asked

	CodeRefConflict   Code = "ref_conflict"   // the account's name of the order is of another one
	CodeRefLost       Code = "ref_lost"       // it was delivered before a restore, and its answer is not here
	CodeCreditCeiling Code = "credit_ceiling" // Left: what the account may still owe
	CodeDailyCap      Code = "daily_cap"      // Left, Until: what it may still be billed in the day
)

// ledgerDown is the answer when the ledger fails and it is not known what it holds. An answer that
// was made already passes as it is.
func ledgerDown(err error) error {
	if isAnswer(err) {
		return err
	}
	return (&Error{Code: CodeLedger, Retry: 5 * time.Second, Err: err}).paid("unknown", "same_payment")
}

// closedError is the answer of a store that was restored and not reopened (M13).
func closedError() error {
	return (&Error{Code: CodeClosed, Retry: 5 * time.Minute}).paid("no", "same_payment")
}
