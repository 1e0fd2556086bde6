// This file counts the payments under way: how much of a settler one payer may have open
// (package till, M15 and M16). It holds for the till's purchases and a facilitator's payments
// alike. The counts are kept in the transaction that takes a payment on, so the bounds hold over
// any number of replicas.
//
//	budget/open_payments/<holder>/<network>/<id>   a payment that may still be sent
//	budget/open_coded/<network>/<payer>/<id>       the same again, of a payer with code
//	budget/open_alone/<network>                    the newest payment of those that go one at a time

package settle

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

const (
	// MostOpen is how many payments of one payer may be open.
	MostOpen = 8
	// MostCoded is how many payments of all payers with code together may be open, of which
	// keptCoded are for payers that settled here before. Nothing that a contract says in a
	// simulation is to be believed.
	MostCoded = 32
	keptCoded = MostCoded / 4
)

// OpenPayment is one that may still be sent, as it is counted.
type OpenPayment struct {
	ID      string // its owner's name for it
	Network string
	Payer   string
	Nonce   string
	Amount  int64 // atomic units
	// Local says that the payer is a contract (rail.Verified).
	Local bool
	// Unit names what else the payment holds one of, of which no payer holds two; empty is nothing.
	Unit string
}

// OpenPaymentOf is a rail's payment as it is counted.
func OpenPaymentOf(id string, p *rail.Payment, m rail.Verified) OpenPayment {
	return OpenPayment{ID: id, Network: p.Network, Payer: p.Payer, Nonce: p.Nonce, Amount: p.Amount.Int64(),
		Local: m.Local}
}

// Holder names a payer as far as it is known to be the same: a contract's address may be somebody
// else's on another network.
func Holder(network, payer string, local bool) string {
	if local {
		return payer + "@" + network
	}
	return payer
}

// OpenReads is what an admission of a holder reads, for ledger.Ahead.
func OpenReads(holder string) ledger.Range {
	return ledger.In(ledger.Prefix(ledger.BudgetKey("open_payments", holder)))
}

// counted is what is kept of an open payment.
type counted struct {
	Amount int64     `json:"amount"`
	Nonce  string    `json:"nonce"`
	Unit   string    `json:"unit,omitempty"`
	Until  time.Time `json:"until,omitzero"` // of a payment that is reserved for only
}

// entry is an open payment as it stands in the ledger.
type entry struct {
	counted
	network, id string
}

// opened are the payments that a holder has open.
func opened(tx ledger.Tx, holder string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for e, err := range tx.Scan(ledger.Prefix(ledger.BudgetKey("open_payments", holder))) {
			var o entry
			var parts []string
			if err == nil {
				parts, err = ledger.Parts(e.Key)
			}
			if err == nil {
				o.network, o.id = parts[3], parts[4]
				if err = json.Unmarshal(e.Value, &o.counted); err != nil {
					err = fmt.Errorf("%s: %w", ledger.KeyText(e.Key), err)
				}
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// OpenNonces are those of the payments that a holder has open on a network.
func OpenNonces(tx ledger.Tx, network, holder string) (nonces []string, err error) {
	for o, err := range opened(tx, holder) {
		if err != nil {
			return nil, err
		}
		if o.network == network {
			nonces = append(nonces, o.Nonce)
		}
	}
	return nonces, nil
}

func (p OpenPayment) key() []byte {
	return ledger.BudgetKey("open_payments", Holder(p.Network, p.Payer, p.Local), p.Network, p.ID)
}

func (p OpenPayment) codedKey() []byte {
	return ledger.BudgetKey("open_coded", p.Network, p.Payer, p.ID)
}

// EnterOpen counts a payment as open until it leaves; again changes nothing.
func EnterOpen(tx ledger.Tx, p OpenPayment) error { return enter(tx, p, time.Time{}) }

// ReserveOpen counts a payment as open for a while, which Enter makes for good. It is for who can
// only draft when there is room: a simulation tells nothing of payments that were sent since.
func ReserveOpen(tx ledger.Tx, p OpenPayment, d time.Duration) error {
	return enter(tx, p, tx.Now().Add(d))
}

func enter(tx ledger.Tx, p OpenPayment, until time.Time) error {
	if p.Local {
		if err := tx.Set(p.codedKey(), nil); err != nil {
			return err
		}
	}
	return ledger.SetJSON(tx, p.key(), counted{Amount: p.Amount, Nonce: p.Nonce, Unit: p.Unit, Until: until})
}

// LeaveOpen counts a payment no longer; again changes nothing.
func LeaveOpen(tx ledger.Tx, p OpenPayment) error {
	if p.Local {
		if err := tx.Delete(p.codedKey()); err != nil {
			return err
		}
	}
	return tx.Delete(p.key())
}

// Why there is no room for a payment.
type Why string

// The reasons.
const (
	HoldsUnit   Why = "holds_unit"    // the payer holds one of Unit already
	ManyOpen    Why = "many_open"     // N payments of the payer are open
	ManyCoded   Why = "many_coded"    // N payments of payers with code are open
	FundsMoving Why = "funds_moving"  // the payer's other payments keep changing
	OneAtATime  Why = "one_at_a_time" // another stranger's is open, and the gas for reverts is spent
)

// NoRoom says why there is no room for a payment now. There may be soon.
type NoRoom struct {
	Why  Why
	Unit string
	N    int
}

// Error implements error.
func (e *NoRoom) Error() string { return "no room for another payment: " + string(e.Why) }

// errFunds asks for the payer's funds, which are read outside of the transaction.
var errFunds = errors.New("open: the payer's funds are not known")

// Admission is one payment's way past the bounds.
type Admission struct {
	OpenPayment
	// Alone says that it is one of those of which one at a time may be open on a network
	// (GasGuard.Admit).
	Alone bool
	// Proven reports whether a payer settled here before (GasGuard).
	Proven func(tx ledger.Tx, network, payer, code string) (bool, error)
	// Beside are the nonces of what the payer has open, as far as that is known before the first
	// Check: the funds are asked for ahead of it, where it would ask for them and be made again.
	Beside []string

	funds  rail.Funds
	asked  map[string]bool // nonces that funds is about
	wanted []string        // nonces that errFunds asks about
}

// Check decides, in the transaction that takes the payment on, whether one more of its payer may be
// open. The error goes back to Gate.Admit as it is.
func (a *Admission) Check(tx ledger.Tx) error {
	all, here := 0, map[string]int64{} // here: nonce → amount
	for o, err := range opened(tx, Holder(a.Network, a.Payer, a.Local)) {
		if err != nil {
			return err
		}
		if !o.Until.IsZero() && o.Until.Before(tx.Now()) { // whoever reserved has died
			gone := OpenPayment{ID: o.id, Network: o.network, Payer: a.Payer, Local: a.Local}
			if err := LeaveOpen(tx, gone); err != nil {
				return err
			}
			continue
		}
		all++
		if o.network == a.Network {
			here[o.Nonce] = o.Amount
		}
		if a.Unit != "" && o.Unit == a.Unit {
			return &NoRoom{Why: HoldsUnit, Unit: o.Unit}
		}
	}
	if all >= MostOpen {
		return &NoRoom{Why: ManyOpen, N: all}
	}
	if a.Local {
		if err := a.checkCoded(tx); err != nil {
			return err
		}
	}
	if a.Alone {
		if err := a.checkAlone(tx); err != nil {
			return err
		}
	}
	return a.checkFunds(here)
}

// openTurn is the payment that goes alone on a network, for as long as it is open.
type openTurn struct {
	Holder string `json:"holder"`
	ID     string `json:"id"`
}

// checkAlone takes the place of the one that goes alone, unless that is still open.
func (a *Admission) checkAlone(tx ledger.Tx) error {
	key := ledger.BudgetKey("open_alone", a.Network)
	t, err := ledger.GetJSON[openTurn](tx, key)
	if err == nil {
		var o counted
		o, err = ledger.GetJSON[counted](tx, ledger.BudgetKey("open_payments", t.Holder, a.Network, t.ID))
		if err == nil && (o.Until.IsZero() || !o.Until.Before(tx.Now())) {
			return &NoRoom{Why: OneAtATime}
		}
	}
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return ledger.SetJSON(tx, key, openTurn{Holder(a.Network, a.Payer, a.Local), a.ID})
}

// checkCoded keeps the payers with code together within their bound.
func (a *Admission) checkCoded(tx ledger.Tx) error {
	n := 0
	for _, err := range tx.Scan(ledger.Prefix(ledger.BudgetKey("open_coded"))) {
		if err != nil {
			return err
		}
		n++
	}
	if n < MostCoded-keptCoded {
		return nil
	}
	known, err := a.Proven(tx, a.Network, a.Payer, "")
	if err != nil {
		return err
	}
	if n >= MostCoded || !known {
		return &NoRoom{Why: ManyCoded, N: n}
	}
	return nil
}

// checkFunds demands that the payer can pay for all that is open on the network and not mined yet
// at the block of which its balance was read. A payer with nothing else open has been simulated.
func (a *Admission) checkFunds(here map[string]int64) error {
	if len(here) == 0 {
		return nil
	}
	a.wanted = slices.Sorted(maps.Keys(here))
	sum := big.NewInt(a.Amount)
	for nonce, amount := range here {
		if !a.asked[nonce] {
			return errFunds
		}
		if !a.funds.Spent[nonce] {
			sum.Add(sum, big.NewInt(amount))
		}
	}
	if a.funds.Balance.Cmp(sum) < 0 {
		return &rail.Refusal{Reason: "insufficient_funds", Message: fmt.Sprintf(
			"this wallet has %d other open payments on the network, and too little for them and this one", len(here))}
	}
	return nil
}
