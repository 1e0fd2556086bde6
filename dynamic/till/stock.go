package till

import (
	"context"
	"errors"
	"time"

	"agentstore/content"
	"agentstore/dynamic/goods"
	"agentstore/dynamic/ledger"
)

// Counted is how a counted good stands.
type Counted struct {
	content.Good
	Left int
	Out  *Error // why none is to be had, nil where one is
}

// Stock says how every counted good stands, in shelf order, and at what time of the ledger's clock.
func (t *Till) Stock(ctx context.Context) (at time.Time, stock []Counted, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		at, stock = tx.Now(), nil
		site := t.cfg.Site.Now()
		for _, g := range site.Goods {
			if !g.Stock {
				continue
			}
			c, err := counts(tx, goods.Maker{Site: site}, g)
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

func counts(tx ledger.Tx, m goods.Maker, g content.Good) (Counted, error) {
	c := Counted{Good: g}
	var err error
	if c.Left, err = m.Left(tx, g); err != nil {
		return c, err
	}
	k, err := goods.Of(g)
	if err != nil || k.Available == nil {
		return c, err
	}
	if err = k.Available(m, tx, g, nil); err != nil && !refused(err) {
		return c, err
	}
	// The answer to a buyer says it in the same words.
	c.Out, _ = errors.AsType[*Error](gateError(err))
	return c, nil
}
