package till

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// Open payments: how much of the store one payer may have under way (M15, M16). They are counted in the
// transaction that claims, so the bounds hold over any number of replicas.
//
//	budget/open_payments/<holder>/<network>/<purchase>   a payment that may still be sent
//	budget/open_coded/<network>/<payer>/<purchase>       the same again, of a payer with code
//
// A holder is a payer, and its network too where the payer is a contract (matched.holder).

const (
	// maxOpen is how many payments of one payer may be open.
	maxOpen = 8
	// maxCoded is how many payments of all payers with code together may be open, of which keptCoded are for payers
	// that settled here before. Nothing that a contract says in a simulation is to be believed.
	maxCoded  = 32
	keptCoded = maxCoded / 4
	// maxWaiting is how many requests of one process may wait for room.
	maxWaiting = 64
	// openPause is the longest time between two looks for room; payments that end here are heard of at once.
	openPause = time.Second
)

// openPayment is what is counted of an open payment.
type openPayment struct {
	Amount int64  `json:"amount"`
	Nonce  string `json:"nonce"`
	Unit   string `json:"unit,omitempty"` // the counted good of which it holds one
}

// counts reports whether a purchase is among the open payments of its payer: one that may still be mined. A settlement of
// ours that reverted once leaves the count.
func (p *Purchase) counts() bool {
	switch p.State {
	case Claimed, GoodsReady, Settling, Unknown:
		return !p.Reverted
	}
	return false
}

// holder names the payer of a purchase as far as it is known to be the same (rail.Mark).
func (p *Purchase) holder() string {
	if p.Mark.Local {
		return p.Payment.Payer + "@" + p.Payment.Network
	}
	return p.Payment.Payer
}

func openKey(holder, network, id string) []byte {
	return ledger.BudgetKey("open_payments", holder, network, id)
}

func codedKey(network, payer, id string) []byte {
	return ledger.BudgetKey("open_coded", network, payer, id)
}

// list keeps p's place among the open payments.
func (t *Till) list(tx ledger.Tx, p *Purchase) error {
	open := p.counts()
	if open == p.listed {
		return nil
	}
	p.listed = open
	key, coded := openKey(p.holder(), p.Payment.Network, p.ID), codedKey(p.Payment.Network, p.Payment.Payer, p.ID)
	if !open {
		return errors.Join(tx.Delete(key), tx.Delete(coded))
	}
	o := openPayment{Amount: p.Amount, Nonce: p.Payment.Nonce}
	if _, k, err := t.order(p); err == nil && k.Counted {
		o.Unit = p.Item
	}
	if p.Mark.Local {
		if err := tx.Set(coded, nil); err != nil {
			return err
		}
	}
	return ledger.SetJSON(tx, key, o)
}

// errFunds asks for the payer's funds, which are read outside of the transaction that claims.
var errFunds = errors.New("till: the payer's funds are not known")

// noRoom says why there is no room for a payment now. There may be soon.
type noRoom struct {
	code Code
	item string
	n    int
}

// Error implements error.
func (e noRoom) Error() string { return "till: no room: " + string(e.code) }

// admission is one order's way past the bounds.
type admission struct {
	t      *Till
	o      *matched
	funds  rail.Funds
	asked  map[string]bool // nonces that funds is about
	wanted []string        // nonces that errFunds asks about
}

// check decides in the transaction that claims whether one more payment of the order's payer may be open.
func (a *admission) check(tx ledger.Tx) error {
	network := a.o.p.payment.Network
	all, here := 0, map[string]int64{} // here: nonce → amount
	for e, err := range tx.Scan(ledger.Prefix(ledger.BudgetKey("open_payments", a.o.holder()))) {
		if err != nil {
			return err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return err
		}
		var open openPayment
		if err := json.Unmarshal(e.Value, &open); err != nil {
			return fmt.Errorf("%s: %w", ledger.KeyText(e.Key), err)
		}
		all++
		if parts[3] == network {
			here[open.Nonce] = open.Amount
		}
		if a.o.offer.Kind.Counted && open.Unit == a.o.offer.ID {
			return noRoom{code: CodeHoldsUnit, item: open.Unit}
		}
	}
	if all >= maxOpen {
		return noRoom{code: CodeManyOpen, n: all}
	}
	if a.o.local {
		if err := a.checkCoded(tx); err != nil {
			return err
		}
	}
	return a.checkFunds(here)
}

// checkCoded keeps the payers with code together within their bound.
func (a *admission) checkCoded(tx ledger.Tx) error {
	n := 0
	for _, err := range tx.Scan(ledger.Prefix(ledger.BudgetKey("open_coded"))) {
		if err != nil {
			return err
		}
		n++
	}
	if n < maxCoded-keptCoded {
		return nil
	}
	known, err := a.t.cfg.Gas.Proven(tx, a.o.p.payment.Network, a.o.p.payment.Payer, "")
	if err != nil {
		return err
	}
	if n >= maxCoded || !known {
		return noRoom{code: CodeManyCoded, n: n}
	}
	return nil
}

// checkFunds demands that the payer can pay for all that is open on the network and not mined yet at the block of which
// its balance was read. A payer with nothing else open has been simulated.
func (a *admission) checkFunds(here map[string]int64) error {
	if len(here) == 0 {
		return nil
	}
	a.wanted = slices.Sorted(maps.Keys(here))
	sum := big.NewInt(a.o.amount())
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

// ask reads the funds for the next try.
func (a *admission) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.t.cfg.OpenWait)
	defer cancel()
	f, err := a.o.p.rail.Funds(ctx, a.o.p.payment.Payer, a.wanted)
	if err != nil {
		return unreadable(err)
	}
	a.funds, a.asked = f, map[string]bool{}
	for _, n := range a.wanted {
		a.asked[n] = true
	}
	return nil
}

// admit runs the transaction that claims, which calls check, until there is room for the order or its wait is over. It
// holds no place among those under way meanwhile.
func (t *Till) admit(ctx context.Context, o *matched, f func(ledger.Tx, *admission) error) error {
	a := &admission{t: t, o: o}
	over := time.NewTimer(t.cfg.OpenWait)
	defer over.Stop()
	waiting := false
	defer func() {
		if waiting {
			t.waiting.Add(-1)
		}
	}()
	for {
		t.mu.Lock()
		freed := t.freed
		t.mu.Unlock()
		lctx, cancel := ledgerContext(ctx)
		err := t.cfg.DB.Update(lctx, func(tx ledger.Tx) error { return f(tx, a) })
		cancel()
		if errors.Is(err, errFunds) {
			select {
			case <-over.C:
				return crowded(noRoom{code: CodeFundsMoving})
			default:
			}
			if err := a.ask(ctx); err != nil {
				return err
			}
			continue
		}
		why, crowd := errors.AsType[noRoom](err)
		if !crowd {
			return err
		}
		if !waiting {
			if t.waiting.Add(1) > maxWaiting {
				t.waiting.Add(-1)
				return crowded(why)
			}
			waiting = true
		}
		a.asked = nil // by the time there is room it is another block
		again := time.NewTimer(openPause)
		select {
		case <-freed:
		case <-again.C:
		case <-over.C:
			again.Stop()
			return crowded(why)
		case <-ctx.Done():
			again.Stop()
			return crowded(why)
		}
		again.Stop()
	}
}

// crowded is the answer where there was no room in time.
func crowded(e noRoom) error {
	return (&Error{Code: e.code, Retry: 2 * time.Second, Item: e.item, Count: e.n}).paid("no", "same_payment")
}

// unreadable is the answer while the network of a payment cannot be read.
func unreadable(err error) error {
	return (&Error{Code: CodeUnreadable, Retry: 5 * time.Second, Err: err}).paid("no", "same_payment")
}
