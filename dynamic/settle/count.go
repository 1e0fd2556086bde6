package settle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Names below budget/ in the ledger.
const (
	nameLost    = "gas-lost"
	nameSubsidy = "gas-subsidy"
	nameProven  = "gas-proven"
	nameBurned  = "gas-burned"
	nameAlike   = "gas-alike"
)

// rest is how many budgets more than the first one a day's payers without code may burn, who then
// go on one at a time.
const rest = 3

const (
	// trips is how many payers' reverts, alike and none of them shown to be its payer's doing, take
	// a network out.
	trips = 3
	// pause is for how long they do at first. When a single one follows, the network goes out
	// again, for twice as long, up to longest; the first payment that settles ends the matter.
	pause   = 5 * time.Minute
	longest = time.Hour
)

// GasHeld is what was set aside for one settlement in the transaction that signed for it. It
// belongs into the journal beside the signed bytes.
type GasHeld struct {
	Day     string `json:"day"`
	Amount  int64  `json:"amount,omitzero"`  // of the budget for reverts, atomic units
	Subsidy int64  `json:"subsidy,omitzero"` // of the subsidy
}

// alike is the record of reverts that are not their payers' doing.
type alike struct {
	Reason string    `json:"reason"`
	Payers []string  `json:"payers"`
	Until  time.Time `json:"until,omitzero"` // the network is out
	Pause  int64     `json:"pause,omitzero"` // the last one, in seconds; not 0: one more revert is enough
}

// account is a payer that settled on a network.
type account struct {
	Code string `json:"code,omitzero"` // the hash of its code when it settled last
	Paid int64  `json:"paid,omitzero"` // all that it paid while it had code, atomic units
}

// Admit says whether a payer is taken today: nil, or *Spent. While the day's budget lasts,
// everybody is. Then payers with code are refused, but those that Proven knows; of those without,
// who never settled here goes alone, one at a time on the network, until as much again is lost
// three times. It belongs into the transaction that claims.
func (g *GasGuard) Admit(tx ledger.Tx, id, payer, code string) (alone bool, err error) {
	most := int64(0)
	if code != "" {
		most = g.networks[id].most.Load()
	}
	return g.admit(tx, id, payer, code, most)
}

// admit is Admit of a payment that may burn as much.
func (g *GasGuard) admit(tx ledger.Tx, id, payer, code string, most int64) (alone bool, err error) {
	now, limit := tx.Now(), g.cfg.Reverts
	lost, err := count(tx, nameLost, id, day(now))
	if err != nil || lost < limit && lost+most <= limit {
		return false, err
	}
	if proven, err := g.proven(tx, id, payer, code, most); err != nil || proven {
		return false, err
	}
	if code == "" && lost < (1+rest)*limit {
		return true, nil
	}
	return false, &GasSpent{Network: g.networks[id].name, Retry: ledger.Tomorrow(now).Sub(now)}
}

// GasReads is what Admit and Settled read of a payer, on the day of a time.
func GasReads(at time.Time, id, payer string) []ledger.Range {
	return []ledger.Range{
		ledger.At(ledger.BudgetKey(nameLost, id, day(at))), ledger.At(provenKey(id, payer)), ledger.At(alikeKey(id)),
	}
}

// ProvenReads is what Proven reads of a payer without code.
func ProvenReads(id, payer string) ledger.Range { return ledger.At(provenKey(id, payer)) }

// Proven reports whether a payer has settled on a network itself, and is not known for reverts
// since: without code, none that was its doing; with code, which must be what it was, none of the
// day that together cost as much as it ever paid. Another account with the same code is another
// payer. code may be left empty where it is not known.
func (g *GasGuard) Proven(tx ledger.Tx, id, payer, code string) (bool, error) {
	return g.proven(tx, id, payer, code, 0)
}

func (g *GasGuard) proven(tx ledger.Tx, id, payer, code string, most int64) (bool, error) {
	a, found, err := accountOf(tx, id, payer)
	if err != nil || !found || code != "" && code != a.Code {
		return false, err
	}
	if a.Code == "" {
		return true, nil
	}
	burned, err := count(tx, nameBurned, id, day(tx.Now()), payer)
	return burned+most < a.Paid, err
}

// Plain reports whether a payer is an account without code that has settled on a network, and not
// reverted since by its own doing.
func (g *GasGuard) Plain(ctx context.Context, id, payer string) (plain bool) {
	ctx, cancel := context.WithTimeout(ctx, gasPatience)
	defer cancel()
	err := g.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		a, found, err := accountOf(tx, id, payer)
		plain = found && a.Code == ""
		return err
	})
	return err == nil && plain
}

func accountOf(tx ledger.Tx, id, payer string) (a account, found bool, err error) {
	return ledger.FindJSON[account](tx, provenKey(id, payer))
}

// Sign takes what a settlement costs from the day's budgets, or says ErrDear. It belongs into the
// transaction that stores the signed bytes of a transaction with a sequence number of its own;
// replacements and fills take nothing.
//
// Of a payer with code the whole of what it may burn counts as lost until it has settled, so that
// the budget holds whatever many of them do at once.
func (g *GasGuard) Sign(tx ledger.Tx, id, payer string, price int64, cost rail.Price) (GasHeld, error) {
	today := day(tx.Now())
	h := GasHeld{Day: today}
	if lack := short(price, cost.Cost); lack > 0 {
		n := g.networks[id]
		used, err := count(tx, nameSubsidy, id, today)
		if err != nil {
			return GasHeld{}, err
		}
		switch covered := lack <= n.subsidy-used; {
		case covered:
			if err := add(tx, nameSubsidy, lack, dayOf{id, today}); err != nil {
				return GasHeld{}, err
			}
			h.Subsidy = lack
		case cost.Cost > price:
			return GasHeld{}, fmt.Errorf("%w: %s of %s USDC", ErrGasDear, usdc(cost.Cost), usdc(price))
		}
	}
	if cost.Code == "" {
		return h, nil
	}
	g.networks[id].most.Store(cost.Most)
	// The claim asked too; others may have reverted or signed since.
	if _, err := g.admit(tx, id, payer, cost.Code, cost.Most); err != nil {
		return GasHeld{}, err
	}
	h.Amount = cost.Most
	return h, g.burn(tx, id, today, payer, cost.Most)
}

// burn counts what a settlement of a payer with code lost on a day, or may lose, in the day's
// budget and of the payer; less than 0 gives back.
func (g *GasGuard) burn(tx ledger.Tx, id, of, payer string, n int64) error {
	if n == 0 {
		return nil
	}
	return errors.Join(add(tx, nameLost, n, dayOf{id, of}), add(tx, nameBurned, n, dayOf{id, of}, payer))
}

// GasPayer is a payer on a network, with the hash of the code at its address, "" for none.
type GasPayer struct {
	Network string
	Address string
	Code    string
}

// Settled notes that a payment landed: what was held for its settlements against reverts is given
// back, less what its reverts cost (those were counted), and its payer is one who settled and has
// paid as much more.
func (g *GasGuard) Settled(tx ledger.Tx, by GasPayer, paid int64, held []GasHeld) error {
	for _, h := range held {
		if err := g.burn(tx, by.Network, h.Day, by.Address, -h.Amount); err != nil {
			return err
		}
	}
	a, found, err := accountOf(tx, by.Network, by.Address)
	if err != nil {
		return err
	}
	if !found || by.Code != "" || a.Code != "" {
		now := account{Code: by.Code}
		if by.Code != "" {
			now.Paid = min(a.Paid, math.MaxInt64-paid) + paid
		}
		if err := ledger.SetJSON(tx, provenKey(by.Network, by.Address), now); err != nil {
			return err
		}
	}
	there, err := ledger.Has(tx, alikeKey(by.Network))
	if err != nil || !there {
		return err
	}
	return tx.Delete(alikeKey(by.Network))
}

// Reverted counts a revert of our own, once: its cost takes the place of what was held for it, and
// the subsidy is free for a sale. A payer without code whose doing it is, or who shared a
// transaction that failed and is not cleared of it, has to settle again before the spent budget
// lets it pass; where it is nobody's, the third alike takes the network out.
func (g *GasGuard) Reverted(tx ledger.Tx, by GasPayer, held GasHeld, r rail.Revert, c rail.Cause) error {
	now := tx.Now()
	if err := g.GiveBack(tx, by.Network, by.Address, held); err != nil {
		return err
	}
	if by.Code != "" {
		if err := g.burn(tx, by.Network, day(now), by.Address, r.Cost); err != nil {
			return err
		}
	} else if err := add(tx, nameLost, r.Cost, dayOf{by.Network, day(now)}); err != nil {
		return err
	}
	if by.Code == "" && (c.Payer || r.Of > 1 && !c.Others) {
		if err := tx.Delete(provenKey(by.Network, by.Address)); err != nil {
			return err
		}
	}
	if c.Payer || c.Reason == "" {
		return nil
	}
	a, err := alikeOf(tx, by.Network)
	if err != nil {
		return err
	}
	if a.Reason != c.Reason {
		a = alike{Reason: c.Reason}
	}
	if !slices.Contains(a.Payers, by.Address) && len(a.Payers) < trips {
		a.Payers = append(a.Payers, by.Address)
	}
	if now.After(a.Until) && (a.Pause > 0 || len(a.Payers) == trips) {
		next := min(max(2*time.Duration(a.Pause)*time.Second, pause), longest)
		a.Pause, a.Until = int64(next/time.Second), now.Add(next)
	}
	return ledger.SetJSON(tx, alikeKey(by.Network), a)
}

// GiveBack gives back what was set aside for a settlement that moved nothing and burns nothing any
// more.
func (g *GasGuard) GiveBack(tx ledger.Tx, id, payer string, held ...GasHeld) error {
	for _, h := range held {
		if err := g.burn(tx, id, h.Day, payer, -h.Amount); err != nil {
			return err
		}
		if h.Subsidy == 0 {
			continue
		}
		if err := add(tx, nameSubsidy, -h.Subsidy, dayOf{id, h.Day}); err != nil {
			return err
		}
	}
	return nil
}

// Lost is what a network lost today, held amounts included, and what it may lose; atomic units.
func (g *GasGuard) Lost(tx ledger.Tx, id string) (lost, limit int64, err error) {
	lost, err = count(tx, nameLost, id, day(tx.Now()))
	return lost, g.cfg.Reverts, err
}

func provenKey(id, payer string) []byte { return ledger.BudgetKey(nameProven, id, payer) }

func alikeKey(id string) []byte { return ledger.BudgetKey(nameAlike, id) }

func alikeOf(tx ledger.Tx, id string) (alike, error) {
	a, _, err := ledger.FindJSON[alike](tx, alikeKey(id))
	return a, err
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// count is a day's count, of a payer where one is named.
func count(tx ledger.Tx, name, id, day string, payer ...string) (int64, error) {
	return ledger.Count(tx, dayKey(name, id, day, payer))
}

func dayKey(name, id, day string, payer []string) []byte {
	return ledger.BudgetKey(name, append([]string{id, day}, payer...)...)
}

// forgotten is how many counts of days before the last are forgotten with each new one.
const forgotten = 16

// dayOf is a day of a network.
type dayOf struct {
	network string
	day     string
}

// add changes a day's count, and forgets some of the days before the last.
func add(tx ledger.Tx, name string, by int64, d dayOf, payer ...string) error {
	n, err := count(tx, name, d.network, d.day, payer...)
	if err != nil {
		return err
	}
	from, _ := ledger.Prefix(ledger.BudgetKey(name, d.network))
	last := day(tx.Now().Add(-24 * time.Hour))
	if d.day < last {
		return nil // given back too late to count for anything
	}
	if _, err := ledger.Forget(tx, from, ledger.BudgetKey(name, d.network, last), forgotten); err != nil {
		return err
	}
	if n >= 1<<62 || by >= 1<<62 {
		n, by = 1<<62, 0 // a price of nonsense must not count round
	}
	return ledger.SetCount(tx, dayKey(name, d.network, d.day, payer), max(0, n+by))
}

func tenfold(s rail.Standing) *big.Int { return new(big.Int).Mul(s.Need, big.NewInt(10)) }
