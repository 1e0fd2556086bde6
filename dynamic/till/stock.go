package till

import (
	"context"
	"errors"
	"time"

	"agentstore/dynamic/goods"
	"agentstore/dynamic/ledger"
)

// Counted is how a counted good stands.
type Counted struct {
	Offer
	Left int
	Out  *Error // why none is to be had, nil where one is
}

// Stock says how every counted good stands, in shelf order, and at what time of the ledger's clock.
func (t *Till) Stock(ctx context.Context) (at time.Time, stock []Counted, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		at, stock = tx.Now(), nil
		site := t.cfg.Site.Now()
		for _, g := range site.Goods {
			o, ok := Goods(site, g.ID)
			if !g.Stock || !ok {
				continue
			}
			c, err := counts(tx, maker(site), o)
			if err != nil {
				return err
			}
			stock = append(stock, c)
		}
		return nil
	})
	if err != nil {
		return at, nil, ledgerDown(err)
	}
	return at, stock, nil
}

func counts(tx ledger.Tx, m goods.Maker, o Offer) (Counted, error) {
	c := Counted{Offer: o}
	var err error
	if c.Left, err = m.Left(tx, o.Good); err != nil || o.Kind.Available == nil {
		return c, err
	}
	if err = o.Kind.Available(m, tx, o.Good, nil); err != nil && !refused(err) {
		return c, err
	}
	// The answer to a buyer says it in the same words.
	c.Out, _ = errors.AsType[*Error](gateError(err))
	return c, nil
}
