package goods

import (
	"errors"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// A unit that is taken by a payment which is not settled yet is held, and may come back; one that
// was paid for is gone (package till, M16). What is held is noted beside what is taken, with the
// time at which the hold ends at the latest:
//
//	goods/held/<pool>/<digest>    an entry that is given once
//	goods/held_word/<word>        a word
//
// The note goes when the payment settles or the unit is given back.

func heldEntry(pool, digest string) []byte { return ledger.GoodsKey("held", pool, digest) }
func heldWord(w string) []byte             { return ledger.GoodsKey("held_word", w) }

// hold notes that o holds a unit.
func hold(tx ledger.Tx, key []byte, o *Order) error {
	if o.Until.IsZero() {
		return nil
	}
	return tx.Set(key, []byte(ledger.Number(uint64(max(o.Until.Unix(), 0)))))
}

// heldUntil is until when a unit is held; zero for one that is not.
func heldUntil(tx ledger.Tx, key []byte) (time.Time, error) {
	v, err := tx.Get(key)
	if errors.Is(err, ledger.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	n, err := ledger.ParseNumber(string(v))
	return time.Unix(int64(n), 0).UTC(), err
}

// earlier is the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// A Gift is something that was given once and for all: an entry of a pool, or a word.
type Gift struct{ Pool, Entry, Word string }

// Given lists what was given once and for all and is not merely held.
func Given(tx ledger.Tx) ([]Gift, error) {
	var out []Gift
	for _, kind := range []struct {
		prefix []byte
		gift   func(parts []string) (Gift, []byte)
	}{
		{ledger.GoodsKey("once"), func(p []string) (Gift, []byte) {
			return Gift{Pool: p[2], Entry: p[3]},
				heldEntry(p[2], p[3])
		}},
		{ledger.GoodsKey("word"), func(p []string) (Gift, []byte) { return Gift{Word: p[2]}, heldWord(p[2]) }},
	} {
		for e, err := range tx.Scan(ledger.Prefix(kind.prefix)) {
			if err != nil {
				return nil, err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return nil, err
			}
			g, held := kind.gift(parts)
			until, err := heldUntil(tx, held)
			if err != nil {
				return nil, err
			}
			if until.IsZero() {
				out = append(out, g)
			}
		}
	}
	return out, nil
}
