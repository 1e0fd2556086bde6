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
//	budget/answered/<purchase>/<authorization>                   when it is forgotten
//	budget/answered_until/<Unix time>/<purchase>/<authorization> the same in the order of time
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
	for _, key := range [][]byte{ledger.BudgetKey(nameAnswered, purchase, name),
		ledger.BudgetKey(nameAnsweredUntil, ledger.Number(uint64(max(0, end.Unix()))), purchase, name)} {
		if err := tx.Set(key, nil); err != nil {
			return err
		}
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
		if err := errors.Join(tx.Delete(ledger.BudgetKey(nameAnswered, purchase, name)),
			tx.Delete([]byte(name)), forgetShared(tx, []byte(name), purchase)); err != nil {
			return err
		}
	}
	return nil
}

// forgetShared forgets the claim of a nonce for everybody that was made with an answered one.
func forgetShared(tx ledger.Tx, auth []byte, purchase string) error {
	parts, err := ledger.Parts(auth)
	if err != nil || len(parts) != 6 {
		return err
	}
	key := ledger.AuthKey(parts[1], parts[2], parts[3], everyPayer, parts[5])
	c, err := ledger.GetJSON[Claim](tx, key)
	if errors.Is(err, errNotFound) || err == nil && !(c.Answered && c.Purchase == purchase) {
		return nil
	}
	return errors.Join(err, tx.Delete(key))
}
