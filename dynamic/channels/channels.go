// Package channels keeps what was sold out of payers' channels: purchases that are paid by vouchers
// (x402 scheme batch-settlement), for which no transaction is sent. There is one row for each
// channel. The functions here are pure: each works inside a ledger transaction of its caller's,
// asks no chain and knows no purchase but by its id.
//
//	        Reserve                Take
//	idle ───────────► held ─────────────────► idle, charged
//	  ▲                 │ Release
//	  └─────────────────┘ nothing was taken
//
//	idle ─ BeginRefund ─► refunding ─ EndRefund ─► idle
//
// A voucher of a channel says how much was spent in all. The next one is for what was charged so
// far and the price of the purchase, to the unit; anything else is a [Mismatch], with the state
// that brings an honest client back into step. So a voucher is its own idempotency key: two
// requests with one voucher are one sale, whichever replica they come to, because both want to
// write the same row. Nothing else is done for a channel while a purchase holds it or a refund is
// under way ([Busy]).
//
// A voucher is taken in the transaction that delivers, and not before: a purchase that cannot be
// delivered releases it, and the same voucher buys again. A purchase that is under way holds its
// channel for as long as the journal says that it is under way: nothing expires that could be
// delivered still.
//
// The newest voucher's answer is given again to whoever sends that voucher again for the same
// order ([Repeat]), because a client that lost an answer signs the same bytes once more. It is so
// only while nobody else can know the voucher. Once a transaction of ours may have shown it to
// everybody ([Show]), or a block has it claimed ([Row.Public]), it proves nothing any more, and
// only the exact request that bought finds its purchase (package till, M1): whoever presents it
// opens no idempotency slot ([Proves]), and is not told the newest voucher by the answer that
// corrects ([Row.Told]).
//
// Who may lose what, and why it is bounded:
//
//   - The payer loses nothing that it did not sign for. What it signed is at most what was charged:
//     a higher voucher is refused, unless this ledger was restored or never knew the channel, and
//     then what the payer itself says was spent is believed, upwards only ([Row.Believed]).
//   - A payer who withdraws at the worst moment gets what is its own. What was charged is claimed
//     before half of the delay is over; no voucher is taken while a withdrawal is under way, so
//     that it makes one claim necessary and not one for each purchase, nor while nobody has looked
//     at the chain for an eighth of the delay ([Blind]).
//   - What the store can lose of a channel is what it delivered and has not claimed: at most
//     Limits.Channel. It loses it where a reorganisation takes the deposit away, or where a
//     contract that signed a voucher denies it later. The first ends when the deposit is final, the
//     second never does. What is sold under either risk, by all channels of a network together, is
//     at most Limits.Day a UTC day.
//   - Of a withdrawal from a channel with nothing unclaimed its event alone tells, and a node may
//     leave one out. So a row that was not read for an eighth of the delay is read again before
//     anything is sold out of it.
//   - A refund that was signed can be handed in by whoever has seen it until another takes its
//     nonce, although the store's own transaction reverted: nothing is sold for the money that it
//     takes ([Signed]).
//   - A node that lies about a balance is a deposit that is not there: the same two limits hold,
//     and where two nodes are configured the less of what they say counts (package rail).
//   - Gas: a deposit is at least twenty times what the channel's transactions cost together, a
//     refund is made once a day and for no less than it costs, and both are paid out of a budget of
//     the day ([Limits.Gas]) unless the channel has brought more than they cost. Whoever deposits
//     and takes back again costs the store that budget, and is then told to withdraw by itself.
//   - A contract that denies in the block what it accepts while it is tried makes claims revert.
//     Each that does is followed by a longer pause, up to an eighth of the delay ([Row.ClaimFrom]).
//   - Somebody can name another as payer of a channel and fund it, with a collector of its own.
//     Vouchers by another key than the payer's are taken only where the payer itself signed for
//     this channel before us ([Row.Consented]), and whoever has such a key is not the payer: its
//     purchases open no idempotency slots of the payer's.
//   - A restored ledger believes no row until it was read from the chain again ([Doubt]), and then
//     a payer who is ahead of it is believed upwards. What was charged after the backup, and is not
//     claimed, is lost where its payer never comes again.
//
// The records are
//
//	channel/<network>/row/<id>               one channel
//	channel/<network>/open/<id>              what of it is to be claimed, and since when
//	channel/<network>/refund/<id>            its payer asked for what is left
//	channel/<network>/settling/<settlement>  a claim, a sweep or a refund under way
//	channel/<network>/claimed/<id>/<sum>     the transaction that claimed so much of it
//	channel/<network>/watch                  up to where the chain was looked at, and when
//	budget/channels-risk/<network>/<day>     what was sold under a risk, atomic units
//	budget/channels-gas/<network>/<day>      what deposits and refunds cost, atomic units
package channels

import (
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// Limits bound what channels can cost the store. Amounts are atomic units of the network's asset.
type Limits struct {
	// Channel is the most that is delivered from one channel and not claimed; 0 means 5 USDC.
	Channel int64
	// Day is the most that is delivered in a UTC day, on one network, for vouchers whose money is
	// not final or whose signer is a contract; 0 means 50 USDC.
	Day int64
	// Gas is the most that deposits and refunds may cost in a UTC day, on one network, beyond what
	// their channels brought; 0 means 1 USDC.
	Gas int64
}

// Row is what the store knows of one channel. Amounts are atomic units.
type Row struct {
	Version int64        `json:"version"` // one more with every change
	Channel rail.Channel `json:"channel"`
	Updated time.Time    `json:"updated"`
	// Consented says that the payer's own signature over this channel was seen.
	Consented bool `json:"consented,omitzero"`

	// Charged is what was spent in all since the channel began, claimed or not. It never falls.
	Charged int64 `json:"charged"`
	// Believed is the part of it of which no purchase is known: what was claimed before the store
	// knew the channel, and what its payer said was spent.
	Believed int64 `json:"believed,omitzero"`
	// Floor is the newest Charged that was believed. What lies below it is no risk of the store's.
	Floor int64 `json:"floor,omitzero"`
	// Agreed is when the payer last signed for Charged.
	Agreed time.Time `json:"agreed"`
	Last   *Taken    `json:"last,omitzero"` // the newest voucher that was taken
	Held   *Held     `json:"held,omitzero"` // the purchase under way

	// Seen is the channel as the newest block has it that was looked at, Final as a final one.
	Seen  rail.ChannelState `json:"seen"`
	Final rail.ChannelState `json:"final,omitzero"`

	// Shown is the highest voucher that a transaction of ours may have shown to everybody.
	Shown  int64   `json:"shown,omitzero"`
	Refund *Refund `json:"refund,omitzero"` // under way
	Signed *Signed `json:"signed,omitzero"` // of what was given back, or could be
	Denied *Denied `json:"denied,omitzero"` // of its newest claims
	// Refunded is when the newest refund was begun, and Returned what came of the last one that was
	// made.
	Refunded time.Time `json:"refunded,omitzero"`
	Returned *Returned `json:"returned,omitzero"`
	// Gas is what its deposits and refunds cost the store so far.
	Gas int64 `json:"gas,omitzero"`
}

// Taken is a voucher that was taken, and what its purchase was answered.
type Taken struct {
	rail.Voucher
	Amount   int64     `json:"amount"`
	Purchase string    `json:"purchase"`
	Print    string    `json:"print"` // fingerprint of the order
	At       time.Time `json:"at"`
	// State is the channel as the answer told it, so that it is told the same again.
	State rail.ChannelState `json:"state"`
}

// Held is a voucher that a purchase under way has reserved.
type Held struct {
	rail.Voucher
	Amount   int64     `json:"amount"`
	Purchase string    `json:"purchase"`
	Print    string    `json:"print"`
	At       time.Time `json:"at"`
	Deposit  int64     `json:"deposit,omitzero"` // comes with it, and is not in Seen yet
	Risk     bool      `json:"risk,omitzero"`    // Amount counts against Limits.Day of At's day
}

// Refund is money on its way back to the payer.
type Refund struct {
	Amount int64     `json:"amount"`
	At     time.Time `json:"at"`
}

// Signed is a refund that was signed. Who has read it can hand it in for as long as the channel's
// refund nonce is Nonce, whatever became of the store's own transaction.
type Signed struct {
	Amount int64  `json:"amount"`
	Nonce  uint64 `json:"nonce"`
}

// Denied are claims that reverted one after the other, though each went through when it was tried:
// a contract may deny in a block what it signed.
type Denied struct {
	Times   int       `json:"times"`
	At      time.Time `json:"at"`      // of the newest
	Claimed int64     `json:"claimed"` // of the channel then; any more of it ends them
}

// Returned is money that went back to the payer.
type Returned struct {
	Amount int64  `json:"amount"`
	Tx     string `json:"tx"`
}

// Bid is a voucher that wants to buy, checked by its rail.
type Bid struct {
	Network string
	rail.ChannelPayment
	Amount   int64             // the price
	Purchase string            // id of the purchase that begins with it
	Print    string            // fingerprint of the order
	Seen     rail.ChannelState // as the chain has it; zero where the row is believed
	Coded    bool              // signed by a contract
}

// Why a voucher buys nothing now. Reserve and BeginRefund return them; each also says what to do.
var (
	// ErrUnknown says that the channel is not known and that its state was not read: read it, and
	// bid with what was seen.
	ErrUnknown = errors.New("channels: the channel has to be read from the chain first")
	// ErrConsent is a voucher by a key that the payer has not shown to have named: a deposit
	// through this store shows it.
	ErrConsent = errors.New("channels: the payer has not signed for this channel here; deposit through this store once")
	// ErrExceeds is a voucher for more than the channel holds and is not being withdrawn.
	ErrExceeds = errors.New("channels: the voucher is for more than the channel holds; top it up")
	// ErrWithdrawing is a voucher of a channel whose payer withdraws: each sale would have to be
	// claimed at once, whatever that costs.
	ErrWithdrawing = errors.New("channels: a withdrawal is under way; finish it, or pay by another scheme")
	// ErrLeaving is a voucher for money that a refund takes which was signed and did not land:
	// anybody can hand it in still. Asking for the refund again makes another of it, or a deposit
	// goes beside it.
	ErrLeaving = errors.New("channels: a refund of the money was signed, which may land yet; ask for it again, top " +
		"the channel up, or pay by another scheme")
	// ErrNothing is a refund of a channel with nothing left, or with less than that costs.
	ErrNothing = errors.New("channels: nothing is left that is worth giving back")
	// ErrNotHeld says that a purchase does not hold the channel, or not any more.
	ErrNotHeld = errors.New("channels: the purchase does not hold this channel")
)

// Mismatch is a voucher that is out of step: it is not for what was charged so far and the price.
// Row is the channel as it stands, whose Charged and Last the corrective answer tells; nil where
// the channel is not known.
type Mismatch struct{ Row *Row }

// Error implements error.
func (m *Mismatch) Error() string {
	return "channels: the voucher is not for what was charged so far and the price"
}

// Busy is a channel for which something is under way. Wait for it, and send the same voucher again.
type Busy struct{ Purchase string } // that holds it, "" for a refund

// Error implements error.
func (b *Busy) Error() string {
	return "channels: something is under way for this channel; wait, and send it again"
}

// Repeat is a voucher that has bought already, or is about to.
type Repeat struct {
	Purchase string
	// Again says that its answer may be given: the voucher is the newest, for the same order, and
	// known to nobody else.
	Again bool
}

// Error implements error.
func (r *Repeat) Error() string { return "channels: this voucher bought already" }

// Over is a limit of the store's that is reached. Nothing is wrong with the voucher.
type Over struct {
	Limit string    // channel, day, gas
	Until time.Time // when it has room again; zero once what was sold is claimed
}

// Error implements error.
func (o *Over) Error() string {
	return fmt.Sprintf("channels: the limit %q of what is sold before it is claimed is reached; pay by another scheme",
		o.Limit)
}

// Blind says that nobody has looked at the chain for too long, so that a withdrawal may be under
// way unseen.
type Blind struct{ Since time.Time }

// Error implements error.
func (b *Blind) Error() string {
	return "channels: the chain was not looked at since " + b.Since.Format(time.RFC3339) + "; pay by another scheme"
}

// delay is how long a payer's withdrawal takes.
func (b *Bid) delay() time.Duration { return time.Duration(b.Channel.Delay) * time.Second }

// consents reports that the payer itself signed for the channel: its vouchers, or the deposit.
func (b *Bid) consents() bool { return !b.Channel.Delegated() || b.Deposit != nil }
