// Package holds has the rules of orders that are paid for by a hold (x402 scheme auth-capture,
// package till, M18): when a hold ends, what may end it, and in which words its payer is told where
// the money is. It reads and writes nothing; package till keeps the orders and moves the money.
//
//	authorized ─► held ─► capturing ─► captured     the keeper completed the order in its window
//	                └───► voiding ───► voided       he declined it, or the window is broken
//	held | capturing | voiding ─► reclaimed         its payer took it back, past the deadline
//
// A hold leaves held by one ledger transaction: the one that completes the order and signs the
// capture, or the one that sees no completion and signs the void. Whichever commits first, in
// whichever process, the other finds another state and changes nothing.
//
// What each can lose, and how much:
//
//	who            by what                                            at most
//	payer          the store is gone, or its node or key are          the time until the deadline: then he reclaims, alone
//	payer          the keeper captures for an answer that is bad      one order, as with every payment at once
//	payer          the store is restored from before the order        the time until the deadline, likewise
//	keeper         the chain takes no capture until the deadline      one answer, which is not handed over
//	keeper         a payer who orders and is declined                 gas: an authorization and a void
//	store          a payer whose authorization reverts                as of every payment (package till)
//	store          a reorganisation takes back what was held          nothing: the order is given up, or was captured
//	store          a reorganisation takes back a capture              nothing: it is sent again until the deadline
//	anybody else   sends a capture, a void, an authorization          nothing: the escrow takes them of the operator alone
//
// The margins are between what the contract allows and what the store does, so that clocks, blocks
// and crashes fit in between: the window ends at least Margin before the capture's deadline, and no
// capture is sent in the last LastSend of it.
package holds

import (
	"fmt"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const (
	// Margin is how long before the capture's deadline a window is over.
	Margin = 2 * time.Hour
	// LastSend is how long before it the last capture is signed.
	LastSend = rail.LastCapture
	// refunds is how long after it what was captured could be refunded through the escrow.
	refunds = 7 * 24 * time.Hour
)

// Deadlines are those of terms that are said at a time: a payment may be signed for as long as
// timeout after it, and the keeper has window from then on. They are whole hours, so that the terms
// of a 402 and of the payment for it are mostly the same.
func Deadlines(now time.Time, timeout, window time.Duration) rail.Deadlines {
	end := now.UTC().Add(timeout + window + Margin)
	if whole := end.Truncate(time.Hour); whole.Before(end) {
		end = whole.Add(time.Hour)
	}
	return rail.Deadlines{Capture: end, Refund: end.Add(refunds)}
}

// Current are the deadlines that a payment may have which comes at a time: those that are said now,
// and where the hour has just turned those that were said when it was signed.
func Current(now time.Time, timeout, window time.Duration) []rail.Deadlines {
	said, before := Deadlines(now, timeout, window), Deadlines(now.Add(-timeout-rail.Skew), timeout, window)
	if before == said {
		return []rail.Deadlines{said}
	}
	return []rail.Deadlines{said, before}
}

// How a hold ended, or is to end.
const (
	Captured  = rail.EndCaptured
	Voided    = rail.EndVoided
	Reclaimed = rail.EndReclaimed
)

// Why a hold is voided.
const (
	Declined = "declined"        // by the keeper
	Broken   = "window_breached" // nobody completed the order in its window
	TooLate  = "capture_expired" // it was completed, and the chain took no capture until the deadline
	GivenUp  = "given_up"        // the money came after the purchase had been given up
)

// Held is what an order is paid for by. It is a member of its purchase.
type Held struct {
	rail.Hold
	// Proof is that the money came, and Since the date of its block: the order's.
	Proof *rail.Proof `json:"proof,omitzero"`
	DueAt time.Time   `json:"due_at,omitzero"` // when the keeper's window is over
	// End is the payment that ends it, once that is decided, with its settlement and the head then.
	End        *rail.Payment `json:"end,omitzero"`
	Settlement string        `json:"settlement,omitzero"`
	Verified   rail.Verified `json:"mark,omitzero"`
	Why        string        `json:"why,omitzero"` // of a void
	// Ended is how it ended, by the event of Last.
	Ended string      `json:"ended,omitzero"`
	Last  *rail.Proof `json:"last,omitzero"`
}

// Deadline is from when on the payer can take the money back, and nothing is captured any more.
func (h *Held) Deadline() time.Time { return time.Unix(h.Info.AuthorizationExpiry, 0).UTC() }

// Completable refuses to complete an order at a time: whoever does it so late is paid nothing.
func (h *Held) Completable(now time.Time) error {
	last := h.Deadline().Add(-LastSend)
	if !h.DueAt.IsZero() && h.DueAt.Before(last) {
		last = h.DueAt
	}
	if now.Before(last) {
		return nil
	}
	return fmt.Errorf("its window ended at %s: what was held for it goes back to its payer, and nothing would be paid "+
		"for an answer", last.Format(time.RFC3339))
}

// Sendable reports whether a capture may still be signed at a time.
func (h *Held) Sendable(now time.Time) bool { return now.Before(h.Deadline().Add(-LastSend)) }

// Words say in one sentence where the money is, who can move it, and from when on its payer can
// take it back.
func (h *Held) Words(paidUSDC string) string {
	until := h.Deadline().Format(time.RFC3339)
	switch {
	case h.Ended == Captured:
		return fmt.Sprintf("The %s USDC were captured for the store in %s, when the order was completed.", paidUSDC,
			h.Last.Tx)
	case h.Ended == Voided:
		return fmt.Sprintf("The %s USDC went back to the wallet that paid, in %s: nothing is owed on either side.",
			paidUSDC, h.Last.Tx)
	case h.Ended == Reclaimed:
		return fmt.Sprintf("The %s USDC were taken back by the wallet that paid: nothing is owed on either side.",
			paidUSDC)
	case h.End != nil && h.Why != "":
		return fmt.Sprintf("The %s USDC are on their way back to the wallet that paid, out of the escrow contract, "+
			"and from %s on that wallet can take them back by itself.", paidUSDC, until)
	case h.End != nil:
		return fmt.Sprintf("The order is completed, and the %s USDC are being captured for the store out of the "+
			"escrow contract; should that not have happened by %s, the wallet that paid can take them back by itself.",
			paidUSDC, until)
	}
	return fmt.Sprintf("The %s USDC are held by the escrow contract, out of which the store can only take them when "+
		"the order is completed or give them back, and from %s on the wallet that paid can take them back by itself.",
		paidUSDC, until)
}
