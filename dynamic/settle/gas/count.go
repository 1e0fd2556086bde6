package gas

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Names below budget/ in the ledger.
const (
	nameLost    = "gas-lost"
	nameSubsidy = "gas-subsidy"
	nameProven  = "gas-proven"
	nameAlike   = "gas-alike"
)

const (
	// trips is how many payers' reverts, alike and none of them shown to be its payer's doing, take
	// a network out.
	trips = 3
	// pause is for how long they do at first. When a single one follows, the network goes out
	// again, for twice as long, up to longest; the first payment that settles ends the matter.
	pause   = 5 * time.Minute
	longest = time.Hour
)

// Held is what was set aside for one settlement in the transaction that signed for it. It belongs
// into the journal beside the signed bytes.
type Held struct {
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

// Admit says whether a payer is taken today: nil, or *Spent where the day's loss is reached and
// neither this payer nor its code has settled before. It belongs into the transaction that claims.
func (g *Guard) Admit(tx ledger.Tx, id, payer, code string) error {
	now := tx.Now()
	lost, err := count(tx, nameLost, id, day(now))
	if err != nil || lost < g.cfg.Reverts {
		return err
	}
	if proven, err := g.Proven(tx, id, payer, code); err != nil || proven {
		return err
	}
	return &Spent{Network: g.networks[id].name, Retry: now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)}
}

// Reads is what Admit and Settled read of a payer, on the day of a time.
func Reads(at time.Time, id, payer string) []ledger.Range {
	return []ledger.Range{
		ledger.At(ledger.BudgetKey(nameLost, id, day(at))), ledger.At(provenKey(id, payer)), ledger.At(alikeKey(id)),
	}
}

// ProvenReads is what Proven reads.
func ProvenReads(id, payer, code string) (reads []ledger.Range) {
	for _, who := range people(payer, code) {
		reads = append(reads, ledger.At(provenKey(id, who)))
	}
	return reads
}

// Proven reports whether a payer, or its code, has settled on a network and not reverted since by
// its own doing.
func (g *Guard) Proven(tx ledger.Tx, id, payer, code string) (bool, error) {
	for _, who := range people(payer, code) {
		_, err := tx.Get(provenKey(id, who))
		if err == nil || !errors.Is(err, ledger.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// Sign takes what a settlement costs from the day's budgets, or says ErrDear. It belongs into the
// transaction that stores the signed bytes of a transaction with a sequence number of its own;
// replacements and fills take nothing.
//
// Of a payer with code the whole of what it may burn counts as lost until it has settled, so that
// the budget holds whatever many of them do at once.
func (g *Guard) Sign(tx ledger.Tx, id, payer string, price int64, cost rail.Price) (Held, error) {
	today := day(tx.Now())
	h := Held{Day: today}
	if lack := short(price, cost.Cost); lack > 0 {
		n := g.networks[id]
		used, err := count(tx, nameSubsidy, id, today)
		if err != nil {
			return Held{}, err
		}
		switch covered := lack <= n.subsidy-used; {
		case covered:
			if err := add(tx, nameSubsidy, id, today, lack); err != nil {
				return Held{}, err
			}
			h.Subsidy = lack
		case cost.Cost > price:
			return Held{}, fmt.Errorf("%w: %s of %s USDC", ErrDear, usdc(cost.Cost), usdc(price))
		}
	}
	if cost.Code == "" {
		return h, nil
	}
	// The claim asked too; others may have reverted since.
	if err := g.Admit(tx, id, payer, cost.Code); err != nil {
		return Held{}, err
	}
	h.Amount = cost.Most
	return h, add(tx, nameLost, id, today, cost.Most)
}

// Settled notes that a payment landed: what was held for its settlements against reverts is given
// back, less what its reverts cost (those were counted), and its payer is one who settled.
func (g *Guard) Settled(tx ledger.Tx, id, payer, code string, held []Held) error {
	for _, h := range held {
		if h.Amount == 0 {
			continue
		}
		if err := add(tx, nameLost, id, h.Day, -h.Amount); err != nil {
			return err
		}
	}
	for _, who := range people(payer, code) {
		if _, err := tx.Get(provenKey(id, who)); err == nil {
			continue
		} else if !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		if err := tx.Set(provenKey(id, who), nil); err != nil {
			return err
		}
	}
	if _, err := tx.Get(alikeKey(id)); err == nil {
		return tx.Delete(alikeKey(id))
	} else if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return nil
}

// Reverted counts a revert of our own, once: its cost takes the place of what was held for it, and
// the subsidy is free for a sale. A payer whose doing it is, or who shared a transaction that
// failed and is not cleared of it, has to settle again before the spent budget lets it pass; where
// it is nobody's, the third alike takes the network out.
func (g *Guard) Reverted(tx ledger.Tx, id, payer, code string, held Held, r rail.Revert, c rail.Cause) error {
	now := tx.Now()
	if err := g.GiveBack(tx, id, held); err != nil {
		return err
	}
	if err := add(tx, nameLost, id, day(now), r.Cost); err != nil {
		return err
	}
	if c.Payer || r.Of > 1 && !c.Others {
		for _, who := range people(payer, code) {
			if err := tx.Delete(provenKey(id, who)); err != nil {
				return err
			}
		}
	}
	if c.Payer || c.Reason == "" {
		return nil
	}
	a, err := alikeOf(tx, id)
	if err != nil {
		return err
	}
	if a.Reason != c.Reason {
		a = alike{Reason: c.Reason}
	}
	if !slices.Contains(a.Payers, payer) && len(a.Payers) < trips {
		a.Payers = append(a.Payers, payer)
	}
	if now.After(a.Until) && (a.Pause > 0 || len(a.Payers) == trips) {
		next := min(max(2*time.Duration(a.Pause)*time.Second, pause), longest)
		a.Pause, a.Until = int64(next/time.Second), now.Add(next)
	}
	return ledger.SetJSON(tx, alikeKey(id), a)
}

// GiveBack gives back what was set aside for a settlement that moved nothing and burns nothing any
// more.
func (g *Guard) GiveBack(tx ledger.Tx, id string, held ...Held) error {
	for _, h := range held {
		for name, n := range map[string]int64{nameLost: h.Amount, nameSubsidy: h.Subsidy} {
			if n == 0 {
				continue
			}
			if err := add(tx, name, id, h.Day, -n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lost is what a network lost today, held amounts included, and what it may lose; atomic units.
func (g *Guard) Lost(tx ledger.Tx, id string) (lost, limit int64, err error) {
	lost, err = count(tx, nameLost, id, day(tx.Now()))
	return lost, g.cfg.Reverts, err
}

// people are the names under which a payer is proven: its address, and its code.
func people(payer, code string) []string {
	if code == "" {
		return []string{payer}
	}
	return []string{payer, "code:" + code}
}

func provenKey(id, who string) []byte { return ledger.BudgetKey(nameProven, id, who) }

func alikeKey(id string) []byte { return ledger.BudgetKey(nameAlike, id) }

func alikeOf(tx ledger.Tx, id string) (alike, error) {
	a, err := ledger.GetJSON[alike](tx, alikeKey(id))
	if errors.Is(err, ledger.ErrNotFound) {
		return alike{}, nil
	}
	return a, err
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// count is a day's count.
func count(tx ledger.Tx, name, id, day string) (int64, error) {
	v, err := tx.Get(ledger.BudgetKey(name, id, day))
	if errors.Is(err, ledger.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("gas: reading %s of %s: %w", name, id, err)
	}
	return n, nil
}

// add changes a day's count, and forgets the days before the last.
func add(tx ledger.Tx, name, id, of string, by int64) error {
	n, err := count(tx, name, id, of)
	if err != nil {
		return err
	}
	from, _ := ledger.Prefix(ledger.BudgetKey(name, id))
	last := day(tx.Now().Add(-24 * time.Hour))
	if of < last {
		return nil // given back too late to count for anything
	}
	var old [][]byte
	for e, err := range tx.Scan(from, ledger.BudgetKey(name, id, last)) {
		if err != nil {
			return err
		}
		old = append(old, e.Key)
	}
	for _, k := range old {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	if n > 1<<62 || by > 1<<62 {
		n, by = 1<<62, 0 // a price of nonsense must not count round
	}
	return tx.Set(ledger.BudgetKey(name, id, of), strconv.AppendInt(nil, max(0, n+by), 10))
}

func tenfold(s rail.Standing) *big.Int { return new(big.Int).Mul(s.Need, big.NewInt(10)) }
