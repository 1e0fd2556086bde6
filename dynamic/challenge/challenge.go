// Package challenge keeps the texts that owners of wallets are asked to sign. A text is single-use: it is burned before
// a signature is judged, so that a wrong answer costs it, and it dies after [Life]. What it says, and how a signature
// over it is judged, is the caller's.
//
//	err = challenge.Open(tx, "claims", address, challenge.Challenge{Nonce: n, Message: text, Expires: now.Add(challenge.Life)})
//	c, ok, err := challenge.Burn(tx, "claims", address, nonce)
package challenge

import (
	"time"

	"agentstore/dynamic/ledger"
)

// Life is how long a challenge can be answered.
const Life = 5 * time.Minute

// MaxOpen is how many challenges of one address may be open for one use; a new one replaces the oldest.
const MaxOpen = 5

// Challenge is nonce/<use>/<address>/<time>/<nonce> in the ledger: a text that was given out and not answered.
type Challenge struct {
	Nonce   string    `json:"-"` // stands in the key
	Message string    `json:"message"`
	Network string    `json:"network,omitempty"` // CAIP-2, where the caller needs it
	Expires time.Time `json:"expires"`

	key []byte
}

// Open adds a challenge of an address, in the one spelling that its use has for it, and removes those that expired or
// are too many.
func Open(tx ledger.Tx, use, address string, c Challenge) error {
	now := tx.Now()
	open, err := list(tx, use, address)
	if err != nil {
		return err
	}
	for i, o := range open {
		if now.Before(o.Expires) && len(open)-i < MaxOpen {
			continue
		}
		if err := tx.Delete(o.key); err != nil {
			return err
		}
	}
	return ledger.SetJSON(tx, ledger.NonceKey(use, address, ledger.Number(uint64(now.UnixNano())), c.Nonce), c)
}

// Burn takes an open challenge out of the ledger: the one with this nonce, or the newest for none. ok is false when there
// is no such challenge or it has expired; it is gone then as well.
func Burn(tx ledger.Tx, use, address, nonce string) (c Challenge, ok bool, err error) {
	open, err := list(tx, use, address)
	if err != nil {
		return Challenge{}, false, err
	}
	for i := len(open) - 1; i >= 0; i-- {
		if nonce == "" || open[i].Nonce == nonce {
			return open[i], tx.Now().Before(open[i].Expires), tx.Delete(open[i].key)
		}
	}
	return Challenge{}, false, nil
}

// list returns the challenges of an address, oldest first.
func list(tx ledger.Tx, use, address string) ([]Challenge, error) {
	var open []Challenge
	for e, err := range tx.Scan(ledger.Prefix(ledger.NonceKey(use, address))) {
		if err != nil {
			return nil, err
		}
		c, err := ledger.DecodeJSON[Challenge](e)
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		c.Nonce, c.key = parts[len(parts)-1], e.Key
		open = append(open, c)
	}
	return open, nil
}
