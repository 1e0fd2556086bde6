package rail

import (
	"context"
	"time"
)

// Captures is a network on which a payment can be authorized first and taken later (x402 scheme
// auth-capture). A payer's authorization moves the money into an escrow contract. From there the
// store, as the payment's operator, captures all of it for payTo before a deadline, or voids it:
// then all of it goes back to its payer. From the deadline on nothing can be captured, and the
// payer reclaims what was neither captured nor voided by itself, whatever has become of the store.
//
// What moves money is drafted, signed and sent by the network's Settler like any payment: an
// authorization as its payer signed it, Capture and Void as payments that nobody signed but the
// store, by the account that the payment names as its operator and no other. Their Status reads the
// events of the token and of the escrow, and nothing else (package till, M3, M18). Status of a
// Capture with nothing signed for it says what became of a hold: Paid where it was captured, Dead
// by EndVoided or EndReclaimed where it went back, Dead by its time where nothing was done.
type Captures interface {
	// CaptureTerms are what a payment has to name: the store's own account, which alone captures
	// and voids. ok is false where none are taken.
	CaptureTerms() (operator string, ok bool)
	// HoldRequirement is the accepts entry for an amount that is held until d.
	HoldRequirement(amount int64, d Deadlines) Requirement
	// ParseAuthorization reads the scheme's payload strictly, without I/O: what was signed, and the
	// salt. Errors are *Refusal.
	ParseAuthorization(payload []byte, accepted Requirement) (*Authorization, error)
	// VerifyAuthorization makes the payment's information out of the terms, the payer and the salt,
	// and checks that the authorization is for exactly that, that its payer signed it and has the
	// money, and that the whole call goes through at present. It completes a. Errors that are a
	// *Refusal are final.
	VerifyAuthorization(ctx context.Context, a *Authorization, want Requirement, now time.Time) (Verified, error)
	// Capture is the payment that moves all of a hold to payTo. It can land before the hold's
	// deadline only.
	Capture(h Hold) *Payment
	// Void is the payment that gives all of a hold back to its payer.
	Void(h Hold) *Payment
	// Reclaim is the call by which a hold's payer takes it back from its deadline on: the contract,
	// and the calldata.
	Reclaim(h Hold) (to string, data []byte)
	// ReadHold reads a hold by its hash at the newest block, or the newest final one. Of two nodes
	// that are configured each is asked by itself, and of what they say the less is believed.
	ReadHold(ctx context.Context, hash string, final bool) (HoldState, error)
}

// SchemeCapture is the scheme of a Requirement by which a payment is held before it is taken.
const SchemeCapture = "auth-capture"

// LastCapture is how long before a hold's deadline the last capture is signed: what is sent later
// might land too late, and only cost gas.
const LastCapture = 10 * time.Minute

// Methods of payments into and out of a hold, beside those of Payment.
const (
	MethodHold       = "hold"         // by EIP-3009
	MethodHoldPermit = "hold-permit2" // by Permit2
	MethodCapture    = "hold-capture"
	MethodVoid       = "hold-void"
)

// Returnable reports a payment whose money may go back to its payer: into a hold or a channel. Who
// made one has not paid yet.
func (p *Payment) Returnable() bool {
	switch p.Method {
	case MethodHold, MethodHoldPermit, MethodDeposit, MethodDepositPermit:
		return true
	}
	return false
}

// Reasons of a Finding that is Dead, of a Capture or a Void whose hold ended otherwise.
const (
	EndCaptured  = "captured"
	EndVoided    = "voided"
	EndReclaimed = "reclaimed" // by its payer
)

// Deadlines are when a hold ends: from Capture on its payer can take it back, and until Refund what
// was captured can be given back through the escrow. They are whole seconds.
type Deadlines struct{ Capture, Refund time.Time }

// Authorization is a payload of the scheme in its canonical spelling: parsed, well-formed, not yet
// checked.
type Authorization struct {
	Payment *Payment // into the hold; what settles it is known once it is verified
	Salt    string   // 0x and 64 hex digits in lower case
	Hold    Hold     // once it is verified
}

// Hold is a payment that the escrow keeps, by the hash that names it there.
type Hold struct {
	Hash string      `json:"hash"` // 0x and 64 hex digits in lower case
	Info PaymentInfo `json:"payment_info"`
}

// PaymentInfo is what a payer agreed to, in the members and units of the escrow contract's own
// struct: who calls reclaim, void or capture hands it over as it stands. Addresses are in the
// EIP-55 spelling, times are Unix seconds.
type PaymentInfo struct {
	Operator            string `json:"operator"`
	Payer               string `json:"payer"`
	Receiver            string `json:"receiver"`
	Token               string `json:"token"`
	MaxAmount           string `json:"maxAmount"`           // atomic units, decimal digits
	PreApprovalExpiry   int64  `json:"preApprovalExpiry"`   // the authorization lands before it
	AuthorizationExpiry int64  `json:"authorizationExpiry"` // a capture lands before it
	RefundExpiry        int64  `json:"refundExpiry"`
	MinFeeBps           int    `json:"minFeeBps"`
	MaxFeeBps           int    `json:"maxFeeBps"`
	FeeReceiver         string `json:"feeReceiver"`
	Salt                string `json:"salt"` // 0x and 64 hex digits in lower case
}

// HoldState is a hold as a block has it. Amounts are atomic units.
type HoldState struct {
	Block      uint64
	Time       time.Time // of the block
	Collected  bool      // the money was moved into the escrow once
	Capturable int64     // what is still held
	Refundable int64     // what was captured and not given back since
}
