package goods

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
)

// Keys under goods/ (ledger.GoodsKey): entries are named by digest, never by position.
//
//	goods/once/<pool>/<digest>        which purchase took an entry that is given once
//	goods/open/<item>/<payer>/<id>    the entry reserved by a purchase under way
//	goods/last/<item>/<payer>         the entry this payer was given last
//	goods/day/<day>/<item>/<payer>    the entry of a payer's day
//	goods/word/<word>                 which purchase retired a word
//
// What of these is only held stands in held.go.

// pick chooses one of the entries at random; ok is false when there are none.
func pick(entries []string) (digest string, ok bool) {
	if len(entries) == 0 {
		return "", false
	}
	i, err := rand.Int(rand.Reader, big.NewInt(int64(len(entries))))
	if err != nil { // crypto/rand does not fail
		panic(err)
	}
	return entries[i.Int64()], true
}

// any reserves any entry of the pool.
func anyEntry(m Maker, _ ledger.Tx, o *Order) error {
	d, ok := pick(m.Pools.Pool(o.Good.Pool).Digests())
	if !ok {
		return &SoldOut{Item: o.Good.ID}
	}
	o.Entry = d
	return nil
}

// ofEntry makes a good of the entry that the order reserved.
func ofEntry(good func(o *Order, e content.Entry) *Made) func(context.Context, Maker, *Order) (*Made, error) {
	return func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return good(o, e), nil
	}
}

// oneEntry makes a good that is the reserved entry and nothing else.
var oneEntry = ofEntry(func(o *Order, e content.Entry) *Made { return MadeOf(o, text{e.Text}, e.Text, e.Text) })

// once makes a kind one whose orders take an entry each that nobody was given and nobody will be
// given after.
func once(k Kind) Kind {
	settle := k.Settle
	k.Counted, k.Available, k.Reserve, k.Release = true, onceAvailable, onceReserve, onceRelease
	k.Left = Maker.Left
	k.Settle = func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
		err := tx.Delete(heldEntry(o.Good.Pool, o.Entry)) // what was held is the buyer's
		if err == nil && settle != nil {
			err = settle(m, tx, o, g)
		}
		return err
	}
	return k
}

func onceReserve(m Maker, tx ledger.Tx, o *Order) error {
	left, err := untaken(m, tx, o.Good)
	if err != nil {
		return err
	}
	d, ok := pick(left)
	if !ok {
		return soldOut(m, tx, o.Good)
	}
	o.Entry = d
	if err := hold(tx, heldEntry(o.Good.Pool, d), o); err != nil {
		return err
	}
	return tx.Set(onceKey(o.Good.Pool, d), []byte(o.ID))
}

// soldOut refuses an order of a good of which no entry is to be had, and says when one may come
// back.
func soldOut(m Maker, tx ledger.Tx, good content.Good) error {
	e := &SoldOut{Item: good.ID}
	for _, d := range m.Pools.Pool(good.Pool).Digests() {
		until, err := heldUntil(tx, heldEntry(good.Pool, d))
		if err != nil {
			return err
		}
		e.HeldUntil = earlier(e.HeldUntil, until)
	}
	return e
}

func onceAvailable(m Maker, tx ledger.Tx, good content.Good, _ map[string]string) error {
	left, err := untaken(m, tx, good)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return soldOut(m, tx, good)
	}
	return nil
}

func onceRelease(_ Maker, tx ledger.Tx, o *Order) error {
	holder, err := tx.Get(onceKey(o.Good.Pool, o.Entry))
	if errors.Is(err, ledger.ErrNotFound) || err == nil && string(holder) != o.ID {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(tx.Delete(heldEntry(o.Good.Pool, o.Entry)), tx.Delete(onceKey(o.Good.Pool, o.Entry)))
}

func onceKey(pool, digest string) []byte { return ledger.GoodsKey("once", pool, digest) }

// untaken lists the entries of the good's pool that are still to be had.
func untaken(m Maker, tx ledger.Tx, good content.Good) ([]string, error) {
	taken := make(map[string]bool)
	for e, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("once", good.Pool))) {
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		taken[parts[len(parts)-1]] = true
	}
	var left []string
	for _, d := range m.Pools.Pool(good.Pool).Digests() {
		if !taken[d] {
			left = append(left, d)
		}
	}
	return left, nil
}

// MarkTaken notes that an entry of a pool was given away, when a ledger was restored from before
// that.
func MarkTaken(tx ledger.Tx, pool, digest string) error {
	key := onceKey(pool, digest)
	if _, err := tx.Get(key); !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return tx.Set(key, []byte("restored"))
}

// Left counts the entries of a good's pool that are still to be had.
func (m Maker) Left(tx ledger.Tx, good content.Good) (int, error) {
	left, err := untaken(m, tx, good)
	return len(left), err
}

// notTwice makes a kind one that no payer is given the same entry of twice in a row.
func notTwice(k Kind) Kind {
	k.Reserve, k.Release, k.Complete = notTwiceReserve, notTwiceRelease, notTwiceComplete
	return k
}

// notTwiceReserve reserves an entry that is neither the last one this payer was given nor one
// reserved for the payer by a purchase still under way: whatever the order in which those end, no
// two in a row are the same.
func notTwiceReserve(m Maker, tx ledger.Tx, o *Order) error {
	not := make(map[string]bool)
	last, err := tx.Get(lastKey(o))
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	not[string(last)] = true
	for e, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("open", o.Good.ID, o.Payer))) {
		if err != nil {
			return err
		}
		not[string(e.Value)] = true
	}
	var left []string
	all := m.Pools.Pool(o.Good.Pool).Digests()
	for _, d := range all {
		if !not[d] {
			left = append(left, d)
		}
	}
	if len(left) == 0 {
		// A payer with the whole pool under way at once: any but the last.
		for _, d := range all {
			if d != string(last) {
				left = append(left, d)
			}
		}
	}
	d, ok := pick(left)
	if !ok {
		return &SoldOut{Item: o.Good.ID}
	}
	o.Entry = d
	return tx.Set(openKey(o), []byte(d))
}

func notTwiceRelease(_ Maker, tx ledger.Tx, o *Order) error { return tx.Delete(openKey(o)) }

func notTwiceComplete(_ Maker, tx ledger.Tx, o *Order, _ *Made) error {
	return errors.Join(tx.Delete(openKey(o)), tx.Set(lastKey(o), []byte(o.Entry)))
}

func openKey(o *Order) []byte { return ledger.GoodsKey("open", o.Good.ID, o.Payer, o.ID) }
func lastKey(o *Order) []byte { return ledger.GoodsKey("last", o.Good.ID, o.Payer) }
