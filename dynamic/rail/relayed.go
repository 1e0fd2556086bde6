package rail

import (
	"context"
	"time"
)

// Relayed is a network on which the channels of other sellers are served, who keep their counts and
// their keys by themselves (x402 scheme batch-settlement, the facilitator's side). Nothing is
// signed for them: what claims or refunds carries the signature of their own receiverAuthorizer.
type Relayed interface {
	// RelaysChannels reports whether the network has the escrow.
	RelaysChannels() bool
	// ReadCall reads the scheme's payload strictly, without I/O, in each of its forms, and holds it
	// against the seller's terms: receiver, token, and of a buyer's payload authorizer and delay.
	// Errors are *Refusal; what is beside one names the payer.
	ReadCall(payload []byte, want Requirement) (*ChannelCall, error)
	// CheckCall checks signatures and the chain, and that what settles the call goes through at
	// present. It completes c: what it moves is known then. The state is that of the channel of c
	// at that head, zero where it has none or several. Errors that are a *Refusal are final.
	CheckCall(ctx context.Context, c *ChannelCall, want Requirement, now time.Time) (Verified, ChannelState, error)
	// CallDone is what a mined transaction did of a payment that settles a call, by the events of
	// the escrow alone. The error is a *Refusal where it has none of them: it moved nothing.
	CallDone(ctx context.Context, p *Payment, tx string) (CallDone, error)
}

// Forms of a ChannelCall beside those of a ChannelPayment.
const (
	FormClaim  = "claim"  // claims rows
	FormSettle = "settle" // moves what was claimed to the receiver
)

// ChannelCall is what a facilitator is asked to do for channels.
type ChannelCall struct {
	Form    string
	Payment *ChannelPayment // of a deposit, of a voucher and of a refund that a buyer asks for
	Rows    []VoucherClaim  // of a claim, and beside a refund
	// Settles is what settles it: nil of a voucher, and of a refund that its seller has not signed.
	Settles *Payment
}

// CallDone is what came of a call.
type CallDone struct {
	Amount int64        // atomic units that moved; 0 of a claim
	State  ChannelState // of its channel now; zero where it has none or several
}

// RelayedHolds is a network on which payments to other sellers are held, captured and voided (x402
// scheme auth-capture, the facilitator's side). The account that sends is the operator of each
// hold, so nothing on the chain keeps it from capturing or voiding what no seller asked for: the
// seller's receiverAuthorizer, which the payer's salt commits to, signs each order, and what is not
// signed by it is not sent. Nothing is signed for sellers.
type RelayedHolds interface {
	// RelaysHolds is what the kind of such payments says beside; ok is false where the escrow was
	// not seen on the chain.
	RelaysHolds() (extra map[string]any, ok bool)
	// ReadOrder reads the scheme's payload strictly, without I/O, and holds it against the seller's
	// terms: the buyer's payload, which authorizes, and the seller's captures and voids. Errors are
	// *Refusal; what is beside one names the payer.
	ReadOrder(payload []byte, want Requirement) (*HoldOrder, error)
	// CheckOrder checks signatures and the chain, and that what settles the order goes through at
	// present. It completes o. Errors that are a *Refusal are final, and wrap ErrUsed where nothing
	// is held any more.
	CheckOrder(ctx context.Context, o *HoldOrder, now time.Time) (Verified, error)
	// OrderDone is how much a mined transaction moved of a payment that settles an order, in atomic
	// units, by the events of the escrow alone. The error is a *Refusal where it has none of them:
	// it moved nothing.
	OrderDone(ctx context.Context, p *Payment, tx string) (amount int64, err error)
}

// Forms of a HoldOrder.
const (
	FormAuthorize = "authorize" // a buyer's payload, by which all of it is held
	FormCapture   = "capture"   // moves a part of it to the seller, or all
	FormVoid      = "void"      // gives back what is left of it
)

// HoldOrder is what a facilitator is asked to do for a hold.
type HoldOrder struct {
	Form       string
	Terms      Requirement    // the seller's, in their canonical spelling
	Authorizer string         // the receiverAuthorizer that they name
	Authorized *Authorization // of FormAuthorize
	Hold       Hold           // of FormAuthorize once it is checked
	// Of are the payments by which the hold of any other form can have come into the escrow, as far
	// as they are named by it.
	Of       []Payment
	Expected HoldState // what the signer of a capture expects to find, by its amounts
	// Settles is what settles it, and Then the void that follows a capture at once, nil for none.
	Settles, Then *Payment
}

// Payer is the account whose money an order is about.
func (o *HoldOrder) Payer() string {
	if o.Authorized != nil {
		return o.Authorized.Payment.Payer
	}
	return o.Hold.Info.Payer
}
