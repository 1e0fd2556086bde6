package rail

import (
	"context"
	"iter"
	"math/big"
	"time"
)

// Channels is a network on which purchases are paid by vouchers too (x402 scheme
// batch-settlement). A payer puts money into a channel, which an escrow contract keeps, and signs
// with each purchase how much of it was spent in all. No purchase takes a transaction: the newest
// voucher is claimed when that is worth its gas, and what was claimed is moved to payTo.
//
// What moves money is drafted, signed and sent by the network's Settler like any payment: a deposit
// as its buyer signed it, and Claims, Sweep and Refund as payments that nobody signed but the
// store. Their Status reads the events of the escrow and of the token, and nothing else (package
// till, M3, M17).
type Channels interface {
	// ChannelTerms are what a channel has to be. ok is false where none are taken.
	ChannelTerms() (t ChannelTerms, ok bool)
	// VoucherRequirement is the accepts entry for a purchase of an amount by voucher, which asks
	// for deposits of at least so much.
	VoucherRequirement(amount, deposit int64) Requirement
	// ParseChannel reads the scheme's payload strictly, without I/O: its three forms, and that the
	// channel's id is the hash of its configuration. Errors are *Refusal.
	ParseChannel(payload []byte, accepted Requirement) (*ChannelPayment, error)
	// VerifyVoucher checks that the channel is one of the terms, and that its signer signed the
	// voucher. Of a signer that is a contract it asks the contract, with bounded gas, and coded is
	// true: what a contract accepts now it may refuse in a claim. Errors that are a *Refusal are
	// final.
	VerifyVoucher(ctx context.Context, p *ChannelPayment, want Requirement, now time.Time) (coded bool, err error)
	// VerifyDeposit checks the deposit of p as Verify does a payment: its terms, its signature, the
	// payer's balance, and that the whole call goes through at present. The channel is as the chain
	// has it at that head.
	VerifyDeposit(ctx context.Context, p *ChannelPayment, want Requirement, now time.Time) (Verified, ChannelState,
		error)
	// ReadChannels reads channels by their ids, in that order, all at one block: the newest, or
	// the newest final one. Of two nodes that are configured each is asked by itself, and of what
	// they say the less is believed. A channel that nobody funded is all zero.
	ReadChannels(ctx context.Context, ids []string, final bool) ([]ChannelState, error)
	// ChannelEvents are what the escrow did in a span of blocks, of some kinds, piece by piece as
	// Incoming. Others' channels are among them, but not among those that were funded.
	ChannelEvents(ctx context.Context, s Span, kinds ...EventKind) iter.Seq2[ChannelEvents, error]
	// Claims is the payment that claims vouchers in one transaction, which bring so much.
	Claims(rows []VoucherClaim, brings int64) (*Payment, error)
	// Simulate tries each of the claims alone at the newest block. A *Refusal says of one why it
	// would revert, in its place; nil is one that goes through. err says that nothing is known.
	Simulate(ctx context.Context, rows []VoucherClaim) (failing []error, err error)
	// Claimed is what was claimed for payTo in all, and what of it was moved there, at the newest
	// block.
	Claimed(ctx context.Context) (claimed, moved int64, err error)
	// Sweep is the payment that moves what is due to payTo. serial tells one sweep from another.
	Sweep(serial string, due int64) *Payment
	// Refund is the payment that claims a voucher, unless it is claimed already, and gives amount
	// atomic units of the rest back to the payer, in one transaction. nonce is the channel's
	// RefundNonce.
	Refund(row VoucherClaim, amount int64, nonce uint64) (*Payment, error)
}

// SchemeVouchers is the scheme of a Requirement by which a purchase is paid out of a channel.
const SchemeVouchers = "batch-settlement"

// Methods of payments in and out of channels, beside those of Payment.
const (
	MethodDeposit       = "channel-deposit"         // by EIP-3009
	MethodDepositPermit = "channel-deposit-permit2" // by Permit2
	MethodClaims        = "channel-claims"
	MethodSweep         = "channel-sweep"
	MethodRefund        = "channel-refund"
	// MethodVoucher is a purchase out of a channel. No transaction settles it.
	MethodVoucher = "voucher"
)

// ChannelTerms are what a seller asks of channels.
type ChannelTerms struct {
	Receiver   string        // payTo
	Authorizer string        // whose signature claims and refunds; the store's own key
	Token      string        // the network's asset
	Escrow     string        // the contract that keeps the money, and moves it to payTo
	Delay      time.Duration // from the beginning of a payer's withdrawal to its end
	MinDeposit int64         // atomic units
	// Reasons is what stands before a reason of the scheme's on this network, such as
	// invalid_batch_settlement_evm_.
	Reasons string
}

// Reasons of the scheme that are given above the network, without what stands before them.
const (
	ReasonMismatch = "cumulative_amount_mismatch"
	ReasonBusy     = "channel_busy"
	ReasonExceeds  = "cumulative_exceeds_balance"
)

// Channel is the configuration of a channel, which never changes. Addresses are in the EIP-55
// spelling.
type Channel struct {
	ID       string `json:"id"` // hash of the rest: 0x and 64 hex digits in lower case
	Payer    string `json:"payer"`
	Signer   string `json:"signer,omitzero"` // of its vouchers; empty where the payer's contract is asked
	Receiver string `json:"receiver"`
	// Authorizer claims and refunds for the receiver.
	Authorizer string `json:"authorizer"`
	Token      string `json:"token"`
	Delay      int64  `json:"delay"` // seconds
	Salt       string `json:"salt"`  // 0x and 64 hex digits in lower case
}

// Delegated reports a channel whose vouchers another key than the payer's signs.
func (c *Channel) Delegated() bool { return c.Signer != "" && c.Signer != c.Payer }

// Voucher says that a channel owes no more than Max in all, since it began.
type Voucher struct {
	Max       int64  `json:"max"` // atomic units
	Signature []byte `json:"signature"`
}

// Equal reports one and the same voucher.
func (v Voucher) Equal(w Voucher) bool {
	return v.Max == w.Max && string(v.Signature) == string(w.Signature)
}

// Forms of a ChannelPayment.
const (
	FormDeposit = "deposit" // funds the channel, and buys
	FormVoucher = "voucher" // buys
	FormRefund  = "refund"  // asks for what is left
)

// ChannelPayment is a payload of the scheme in its canonical spelling: parsed, well-formed, not yet
// checked.
type ChannelPayment struct {
	Form    string
	Channel Channel
	Voucher Voucher
	Deposit *Payment // of FormDeposit: to the contract that collects it
	Refund  int64    // of FormRefund: how much, 0 for all that is left
}

// ChannelState is a channel as a block has it. Amounts are atomic units; what is more than an int64
// holds counts as the largest.
type ChannelState struct {
	ID    string    `json:"id"`
	Block uint64    `json:"block"`
	Time  time.Time `json:"time"` // of the block
	// Balance is what was put in less what was given back: what is claimed is part of it.
	Balance int64 `json:"balance"`
	Claimed int64 `json:"claimed"`
	// Withdrawing is what the payer asked to have back, since Asked; 0 for nothing.
	Withdrawing int64     `json:"withdrawing,omitzero"`
	Asked       time.Time `json:"asked,omitzero"`
	RefundNonce uint64    `json:"refund_nonce,omitzero"`
}

// EventKind is something that an escrow does with a channel.
type EventKind int

// Kinds of a ChannelEvent.
const (
	ChannelFunded    EventKind = iota // for the first time, or again after everything was paid out
	ChannelClaimed                    // up to Total
	ChannelWithdrawn                  // its payer began to withdraw
)

// ChannelEvent is one event of an escrow.
type ChannelEvent struct {
	Kind    EventKind
	ID      string
	Channel Channel // of ChannelFunded: one of this store's
	Total   int64   // of ChannelClaimed: what was claimed in all, atomic units
	Tx      string
	Block   uint64
}

// ChannelEvents are the events in a piece of a span, and what is left of it.
type ChannelEvents struct {
	Events []ChannelEvent
	Rest   Span
}

// VoucherClaim is a row of a claim: Total of what the channel owes in all, at most the voucher's
// Max.
type VoucherClaim struct {
	Channel Channel `json:"channel"`
	Voucher Voucher `json:"voucher"`
	Total   int64   `json:"total"`
}

// Atomic is n as an int64, the largest where it is more.
func Atomic(n *big.Int) int64 {
	if n.IsInt64() {
		return n.Int64()
	}
	return 1<<63 - 1
}
