package facilitator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// holdGas is how many settlements' worth of gas (some 80,000) each order of a hold takes, and is
// worth at least: an authorization 150,000 gas, a capture 100,000 and 205,000 the first time of an
// operator, a void 60,000. Who has a payment authorized wants it captured too.
var holdGas = map[string]struct{ takes, brings int64 }{
	rail.FormAuthorize: {2, 4},
	rail.FormCapture:   {2, 2},
	rail.FormVoid:      {1, 1},
}

// strangersHolds is how many settlements' worth of gas a day authorizations and voids may take for
// one account of the list by receiverAuthorizers that have not brought it that much.
//
// Anybody can name a seller's account with a receiverAuthorizer of his own: the authorization and
// its void need nobody else then, his money comes back, and each such pair takes three settlements'
// gas of ours. So a receiverAuthorizer pays for its authorizations and voids by what it has
// captured for the account before: as much as the smallest amount that is settled (twice the cost)
// for each settlement's worth. That money is the seller's for good, so who burns gas here by that
// way pays the seller twice as much as he burns: a capture counts once it has landed. Who has
// captured nothing yet, be it a seller who just begins or one of any number of keys that a stranger
// made, shares this many: 128 authorizations, or 85 with their voids. With settlements at 0.002 USD
// a day costs 0.51 USD at most for each account of the list; the payers of what is not voided take
// it back by reclaim, at their own gas. Once it is spent, those who have captured go on.
const strangersHolds = 256

// settledHolds is what a receiverAuthorizer brought an account, and took for it.
//
//	budget/holds/<network>/<account>/<receiverAuthorizer>   settledHolds
//	budget/holds-new/<network>/<account>/<day>              taken by those who had brought too little
type settledHolds struct {
	Brought int64 `json:"brought"` // captured, atomic units
	Taken   int64 `json:"taken"`   // settlements' worth of gas
}

func holdsKey(network, account, authorizer string) []byte {
	return ledger.BudgetKey("holds", network, strings.ToLower(account), strings.ToLower(authorizer))
}

// readHold reads an order of a hold.
func readHold(n rail.Rail, payload []byte, want rail.Requirement) (*asked, error) {
	r := n.(rail.RelayedHolds) // it is on
	o, err := r.ReadOrder(payload, want)
	if o == nil {
		return nil, err
	}
	a := holdAsked(n, want, o)
	if o.Then != nil {
		void := *o
		void.Form, void.Settles, void.Then = rail.FormVoid, o.Then, nil
		a.rows += holdGas[rail.FormVoid].brings
		a.then = holdAsked(n, want, &void)
	}
	return a, err
}

// holdAsked is a request for one order.
func holdAsked(n rail.Rail, want rail.Requirement, o *rail.HoldOrder) *asked {
	gas := holdGas[o.Form]
	a := &asked{rail: n, want: want, p: o.Settles, payer: o.Payer(), rows: gas.brings, takes: gas.takes,
		authorizer: o.Authorizer, of: o.Of}
	a.check = func(ctx context.Context, now time.Time) (rail.Verified, *State, error) {
		seen, err := n.(rail.RelayedHolds).CheckOrder(ctx, o, now)
		return seen, nil, err
	}
	return a
}

// notSold refuses an order about a hold for which something was sold here. The salt is the buyer's
// choice: it may commit to a key of his, by which he would have the store's own money voided while
// the keeper works for it.
func (a *asked) notSold(tx ledger.Tx) error {
	for _, p := range a.of {
		sold, err := ledger.Has(tx, ledger.AuthKey(p.Network, p.Asset, p.Method, p.Payer, p.Nonce))
		if err != nil {
			return err
		}
		if sold {
			return &rail.Refusal{Reason: reasonHoldSold, Message: "this payment is held for an order at the store of " +
				"this facilitator, which captures and voids by itself"}
		}
	}
	return nil
}

// takeHold counts an authorization or a void, in the transaction that stores its settlement, or
// refuses it. least is the smallest amount that is settled.
func (a *asked) takeHold(tx ledger.Tx, least int64) error {
	if a.takes == 0 || a.p.Method == rail.MethodCapture {
		return nil // not of a hold, or worth twice what it takes
	}
	key := holdsKey(a.p.Network, a.want.PayTo, a.authorizer)
	s, known, err := ledger.FindJSON[settledHolds](tx, key)
	if err != nil {
		return err
	}
	if known && s.Brought/max(1, least) >= s.Taken+a.takes {
		s.Taken += a.takes
		return ledger.SetJSON(tx, key, s)
	}
	strangers := []string{a.p.Network, strings.ToLower(a.want.PayTo)}
	from, _ := ledger.Prefix(ledger.BudgetKey("holds-new", strangers...))
	day := ledger.BudgetKey("holds-new", append(strangers, tx.Now().UTC().Format(time.DateOnly))...)
	if _, err := ledger.Forget(tx, from, day, 0); err != nil {
		return err
	}
	n, err := ledger.Count(tx, day)
	if err != nil {
		return err
	}
	if n+a.takes > strangersHolds {
		return &rail.Refusal{Reason: "invalid_payment_requirements", Message: "today's gas for holds of a " +
			"receiverAuthorizer that has captured too little is used up: capture something, or ask again after " +
			"midnight UTC; from captureDeadline on the buyer takes back by reclaim what is held"}
	}
	return ledger.SetCount(tx, day, n+a.takes)
}

// bringHold counts a capture that landed, in the transaction that ends its turn: once, however
// often it is looked at.
func bringHold(tx ledger.Tx, m settle.Member) error {
	p := &m.Payment
	if p.Method != rail.MethodCapture {
		return nil
	}
	turns, err := settle.OpenNonces(tx, p.Network, turnOf(m).Payer)
	if err != nil || !slices.Contains(turns, p.Nonce) {
		return err
	}
	key := holdsKey(p.Network, p.PayTo, p.Payer)
	s, _, err := ledger.FindJSON[settledHolds](tx, key)
	if err != nil {
		return err
	}
	s.Brought = min(s.Brought, 1<<61) + min(rail.Atomic(p.Amount), 1<<61)
	s.Taken += holdGas[rail.FormCapture].takes
	return ledger.SetJSON(tx, key, s)
}

// turnOf is an order of a hold as it is counted while it is under way.
func turnOf(m settle.Member) settle.OpenPayment {
	turn := settle.OpenPaymentOf(m.ID, &m.Payment, m.Verified)
	turn.Payer, _, _ = strings.Cut(m.Payment.Nonce, "/") // the hold, by its hash
	return turn
}

// enterHold has one order of a hold under way at a time. Of a capture and a void together, which
// one receiverAuthorizer signed, the later would revert, and nobody would have paid for it.
func enterHold(tx ledger.Tx, m settle.Member) error {
	if !ordersHold(&m.Payment) {
		return nil
	}
	turn := turnOf(m)
	turns, err := settle.OpenNonces(tx, turn.Network, turn.Payer)
	if err != nil {
		return err
	}
	if len(turns) > 0 {
		return &turnTaken{turns[0]}
	}
	return settle.EnterOpen(tx, turn)
}

// turnTaken says that another order of a hold is under way, by its nonce.
type turnTaken struct{ nonce string }

// Error implements error.
func (*turnTaken) Error() string { return "another order of the hold is under way" }

// afterTurn refuses an order for as long as another one is under way, and sees to it that this one
// is driven: the process that sent it may have died before it heard of its end.
func (h *Handler) afterTurn(j *job, t *turnTaken) error {
	other := *j.p
	if other.Method, other.Nonce = rail.MethodVoid, t.nonce; strings.Contains(t.nonce, "/") {
		other.Method = rail.MethodCapture
	}
	s, err := h.cfg.Settles.Load(h.ctx, settlementID(&other))
	switch {
	case err == nil:
		h.takeUp(j.rail, s)
	case !errors.Is(err, ledger.ErrNotFound):
		return err
	}
	return &rail.Refusal{Reason: "invalid_transaction_state",
		Message: t.Error() + ": send the same again in some seconds"}
}

// ordersHold reports a payment by which a seller ends a hold, or a part of it.
func ordersHold(p *rail.Payment) bool {
	return p.Method == rail.MethodCapture || p.Method == rail.MethodVoid
}

// ofHold reports a payment into a hold or out of it.
func ofHold(p *rail.Payment) bool {
	return p.Method == rail.MethodHold || p.Method == rail.MethodHoldPermit || ordersHold(p)
}

// Reasons of the scheme for what went another way on the chain.
const (
	reasonHoldReverted = "invalid_auth_capture_evm_transaction_reverted"
	reasonHoldEmpty    = "invalid_auth_capture_evm_zero_authorization"
	reasonHoldSold     = "invalid_auth_capture_evm_lifecycle_not_relayed"
)

// revertedOf is the reason of a payment whose transaction is in a block and moved nothing.
func revertedOf(n rail.Rail, p *rail.Payment) string {
	if ofHold(p) {
		return reasonHoldReverted
	}
	return n.Info().Reverted
}
