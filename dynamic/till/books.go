package till

import (
	"errors"
	"fmt"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Uncollected is what the ledger knows of transfers that no purchase credits, by their places.
type Uncollected struct {
	Swept  Swept
	Owed   map[Spot]string // the purchase that owes it
	Unsure map[Spot]bool   // that may yet be credited
	Small  map[string]Small
}

// Spot is the place of a transfer on its network.
type Spot struct {
	Tx  string
	Log uint64
}

// UncollectedOf reads what is known of transfers on a network.
func UncollectedOf(tx ledger.Tx, info rail.Info) (u Uncollected, err error) {
	u = Uncollected{Owed: map[Spot]string{}, Unsure: map[Spot]bool{}, Small: map[string]Small{}}
	if u.Swept, err = sweptOf(tx, info); err != nil && !errors.Is(err, errNotFound) {
		return u, err
	}
	for _, kind := range []string{"owed", "unsure", "small"} {
		for e, err := range tx.Scan(ledger.Prefix(uncreditedKey(kind, info.Network))) {
			if err != nil {
				return u, err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return u, err
			}
			if kind == "small" {
				s, err := ledger.DecodeJSON[Small](e)
				if err != nil {
					return u, err
				}
				u.Small[parts[4]] = s
				continue
			}
			if len(parts) != 7 {
				return u, fmt.Errorf("till: %s is no place of a transfer", ledger.KeyText(e.Key))
			}
			log, err := ledger.ParseNumber(parts[6])
			if err != nil {
				return u, err
			}
			if kind == "owed" {
				u.Owed[Spot{parts[5], log}] = string(e.Value)
			} else {
				u.Unsure[Spot{parts[5], log}] = true
			}
		}
	}
	return u, nil
}

// AuthKey is where the claim of a payment's authorization is kept.
func AuthKey(p *rail.Payment) []byte { return authKey(p) }

// Kept reports whether the debt of a purchase whose money bought nothing is listed.
func (t *Till) Kept(tx ledger.Tx, p *Purchase) (bool, error) {
	id, _ := t.debtOf(p.Payment.Network, p.Proof)
	if kept, err := ledger.Has(tx, ledger.DebtKey(id)); err != nil || kept {
		return kept, err
	}
	return ledger.Has(tx, uncreditedKey("owed", p.Payment.Network, ledger.Number(p.Proof.Block), p.Proof.Tx,
		ledger.Number(p.Proof.LogIndex)))
}

// Cheapest is the lowest price on the shelf, in atomic units: what arrives and is less buys
// nothing.
func (t *Till) Cheapest() int64 { return t.cheapest() }
