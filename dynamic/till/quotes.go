package till

import (
	"context"
	"errors"
)

// Quotes are all offers that somebody takes a payment for at present, with the least inputs: goods
// in shelf order, then pages, the newest first. They say nothing of stock, and reserve nothing.
func (t *Till) Quotes() []*Quote {
	site := t.cfg.Site.Now()
	var all []*Quote
	add := func(id string) {
		o := t.offer(site, id)
		if o == nil {
			return
		}
		if q, err := t.quote(asked{site: site, offer: o}); err == nil {
			all = append(all, q)
		}
	}
	for i := range site.Goods {
		add(site.Goods[i].ID)
	}
	for i := range site.Issues {
		add(site.Issues[i].ID)
	}
	return all
}

// Offer is what is sold under an id, with what is asked for it; nil where nothing is. Its error is
// that of a gate.
func (t *Till) Offer(ctx context.Context, id string) (*Offer, error) {
	o := t.offer(t.cfg.Site.Now(), id)
	if o == nil {
		return nil, nil
	}
	return t.priced(ctx, o)
}

// Away says why the store can make an offer for nobody, as it is configured and equipped; nil where
// it can. It reads no ledger.
func (t *Till) Away(o *Offer) *Error {
	if o.Kind.Able == nil {
		return nil
	}
	e, _ := errors.AsType[*Error](gateError(o.Kind.Able(t.makerOn(t.cfg.Site.Now()), o.Good)))
	return e
}
