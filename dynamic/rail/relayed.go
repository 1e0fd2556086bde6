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
