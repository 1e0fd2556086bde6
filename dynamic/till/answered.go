package till

import (
	"errors"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// Authorizations that came with a repeat are recorded as answered and never settled. Whoever bought
// once may send any number of them, of a wallet without money, so what they leave has an end
// (M19):
//
//	budget/answered/<purchase>/<authorization>                   the order that was claimed with it, or nothing
//	budget/answered_until/<Unix time>/<purchase>/<authorization> when both are forgotten
const (
	nameAnswered      = "answered"
	nameAnsweredUntil = "answered_until"
	// MaxAnswered is how many one purchase answers.
	MaxAnswered = 40
	// answeredKept is for how long after its end an authorization is kept: by then every network
	// is final beyond it, and the token itself refuses it, used or not.
	answeredKept = 24 * time.Hour
	// answeredForgotten is how many are forgotten with each new one.
	answeredForgotten = 8
)

// errAnswered says that a purchase has answered as many authorizations as one may.
var errAnswered = errors.New("till: the purchase has answered too many authorizations")

func manyAnswered() error {
	return (&Error{Code: CodeManyAnswered, Count: MaxAnswered, Retry: answeredKept}).paid("no", "never")
}

// answer records that the payment of an order came for a purchase that exists, in the transaction
// that found it, and forgets some whose time is over.
func (o *matched) answer(tx ledger.Tx, purchase string) error {
	n := 0
	for _, err := range tx.Scan(ledger.Prefix(ledger.BudgetKey(nameAnswered, purchase))) {
		if err != nil {
			return err
		}
		if n++; n >= MaxAnswered {
			return errAnswered
		}
	}
	if err := forgetAnswered(tx); err != nil {
		return err
	}
	end := time.Unix(o.p.payment.ValidBefore, 0).Add(answeredKept)
	name := string(authKey(o.p.payment))
	if err := errors.Join(tx.Set(ledger.BudgetKey(nameAnswered, purchase, name), []byte(o.p.Order)),
		tx.Set(ledger.BudgetKey(nameAnsweredUntil, ledger.Number(uint64(max(0, end.Unix()))), purchase, name),
			nil)); err != nil {
		return err
	}
	return o.spend(tx, Claim{Purchase: purchase, Header: o.p.Proof, Answered: true})
}

// forgetAnswered forgets some authorizations whose time is over.
func forgetAnswered(tx ledger.Tx) error {
	from, _ := ledger.Prefix(ledger.BudgetKey(nameAnsweredUntil))
	now := ledger.BudgetKey(nameAnsweredUntil, ledger.Number(uint64(tx.Now().Unix())))
	over, err := ledger.Forget(tx, from, now, answeredForgotten)
	if err != nil {
		return err
	}
	for _, key := range over {
		parts, err := ledger.Parts(key)
		if err != nil {
			return err
		}
		purchase, name := parts[3], parts[4]
		at := ledger.BudgetKey(nameAnswered, purchase, name)
		order, err := tx.Get(at)
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		if err := errors.Join(tx.Delete(at), tx.Delete([]byte(name)), forgetOrder(tx, string(order))); err != nil {
			return err
		}
	}
	return nil
}

// forgetOrder forgets the claim of an order that was made with an answered payment.
func forgetOrder(tx ledger.Tx, order string) error {
	c, err := ledger.GetJSON[Claim](tx, orderKey(order))
	if errors.Is(err, errNotFound) || err == nil && !c.Answered {
		return nil
	}
	return errors.Join(err, tx.Delete(orderKey(order)))
}
