package visitors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// Pile is what of one kind waits for the keeper.
type Pile struct {
	Name   string    `json:"name" doc:"What was left."`
	Count  int       `json:"count" doc:"How many wait."`
	More   bool      `json:"more,omitzero"` // there are more than were counted
	Oldest time.Time `json:"oldest,omitzero" doc:"Since when the oldest does, UTC."`
}

// maxCounted bounds what is counted of a pile.
const maxCounted = 10_000

// Waiting says what waits for the keeper, a row for each kind.
func (d *Service) Waiting(ctx context.Context) (piles []Pile, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		piles = nil
		for _, k := range kinds {
			p := Pile{Name: k.name}
			for e, err := range tx.Scan(ledger.Prefix(ledger.VisitKey(partPile, pileWaiting, k.name))) {
				if err != nil {
					return err
				}
				if p.Count == maxCounted {
					p.More = true
					break
				}
				if p.Count++; p.Count == 1 {
					at, _, err := placeIn(e.Key)
					if err != nil {
						return err
					}
					p.Oldest = at
				}
			}
			piles = append(piles, p)
		}
		return nil
	})
	return piles, err
}

// placeIn is the time and id in a key of a pile.
func placeIn(key []byte) (at time.Time, id string, err error) {
	parts, err := ledger.Parts(key)
	if err != nil || len(parts) != 6 {
		return at, "", fmt.Errorf("%s is no place in a pile", ledger.KeyText(key))
	}
	n, err := ledger.ParseNumber(parts[4])
	return time.Unix(int64(n), 0).UTC(), parts[5], err
}

// MaxPage is the most posts of one page of Entries.
const MaxPage = 200

// Entries is a page of the posts of a kind, the oldest first: those that wait, or those that are
// done. after is where the page before this one ended, "" for the first; next is "" after the last.
func (d *Service) Entries(ctx context.Context, kind string, done bool, after string, limit int) (page []Post,
	next string,
	err error) {
	if kindOf(kind).name == "" {
		return nil, "", fmt.Errorf("nothing of kind %.20q is left here", kind)
	}
	pile := pileWaiting
	if done {
		pile = pileDone
	}
	limit = max(1, min(limit, MaxPage))
	from, to := ledger.Prefix(ledger.VisitKey(partPile, pile, kind))
	if after != "" {
		key, ok := pileFrom(pile, kind, after)
		if !ok {
			return nil, "", fmt.Errorf("%.40q is no place in a pile", after)
		}
		_, from = ledger.Prefix(key)
	}
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		page, next = nil, ""
		for e, err := range tx.Scan(from, to) {
			if err != nil {
				return err
			}
			if len(page) == limit {
				last := page[limit-1]
				next = place(last.At, last.ID)
				return nil
			}
			_, id, err := placeIn(e.Key)
			if err != nil {
				return err
			}
			p, err := postOf(tx, id)
			if err != nil {
				return fmt.Errorf("reading %s: %w", id, err)
			}
			page = append(page, p)
		}
		return nil
	})
	return page, next, err
}

// keepersText refuses what the keeper may not sign.
func keepersText(name, text string, max int) error {
	if what := (field{name, text, max, true, true}).problem(); what != "" {
		return errors.New(name + " " + what)
	}
	return nil
}
