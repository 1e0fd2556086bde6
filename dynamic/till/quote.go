package till

import (
	"context"
	"errors"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/rail"
)

// Quote is an order as it could be paid for at present. It reserves nothing.
type Quote struct {
	Site        *content.Site // that the offer is of
	Offer       *Offer
	Fingerprint string    // of the order
	LeftOut     []LeftOut // the networks that take no payment for it now
	// Bare says that no input came and some are needed: these are the terms for whoever brings
	// them, and nothing can be bought without.
	Bare bool
}

// LeftOut is a network on which something is not sold at present, and why.
type LeftOut struct {
	Network, Name string
	Closed        bool   // it is being checked after a restore (M13)
	Reason        string // otherwise
}

// Quote asks how an offer could be paid for at present, whatever is ordered. Where no network takes
// a payment for it there is an error, and the quote with it unless the store is closed.
func (t *Till) Quote(o *Offer) (*Quote, error) {
	return t.quote(asked{site: t.cfg.Site.Now(), offer: o})
}

// quote asks which networks take a payment for an order. Where none does it is an error; the quote
// comes with it, unless the store is closed.
func (t *Till) quote(a asked) (*Quote, error) {
	q := &Quote{Site: a.site, Offer: a.offer, Fingerprint: a.print, LeftOut: t.leftOut(a.offer)}
	switch {
	case len(q.LeftOut) < len(t.cfg.Rails):
		return q, nil
	case t.allShut():
		return nil, closedError() // nobody should sign for what cannot be delivered
	}
	return q, &Error{Code: CodeNowhere, Retry: outRetry, LeftOut: q.LeftOut}
}

// Accepts are the terms of a quote: the minimum on every network that is not left out, in their
// order, then the higher amounts on the first of them only.
func (t *Till) Accepts(q *Quote) []rail.Requirement {
	out := make(map[string]bool, len(q.LeftOut))
	for _, o := range q.LeftOut {
		out[o.Network] = true
	}
	if q.Offer.Hold {
		return t.holdTerms(q.Offer, out)
	}
	var accepts []rail.Requirement
	var first rail.Rail
	for _, r := range t.cfg.Rails {
		if out[r.Info().Network] {
			continue
		}
		if first == nil {
			first = r
		}
		accepts = append(accepts, requirement(r, q.Offer, q.Offer.Price()))
	}
	if first != nil {
		for _, tier := range q.Offer.Tiers[1:] {
			accepts = append(accepts, requirement(first, q.Offer, tier.Amount))
		}
	}
	if by, ok := t.voucherTerms(q.Offer); ok && !out[by.Network] && t.seesChannels() {
		accepts = append(accepts, by) // behind all others: a client that was told nothing pays by exact
	}
	return accepts
}

// terms are all that may be accepted for an offer: what a challenge offered a moment ago is taken
// though it would not be offered now, if its network can settle it.
func (t *Till) terms(o *Offer) []rail.Requirement {
	if o.Hold {
		return t.holdTerms(o, nil)
	}
	var all []rail.Requirement
	for _, r := range t.cfg.Rails {
		for _, tier := range o.Tiers {
			all = append(all, requirement(r, o, tier.Amount))
		}
	}
	if by, ok := t.voucherTerms(o); ok {
		all = append(all, by)
	}
	return all
}

// leftOut names the networks on which an offer is not sold at present, and why.
func (t *Till) leftOut(offer *Offer) []LeftOut {
	var out []LeftOut
	for _, r := range t.cfg.Rails {
		info := r.Info()
		if t.shutOn(info.Network) {
			out = append(out, LeftOut{Network: info.Network, Name: info.Name, Closed: true})
		} else if _, ok := t.holdRail(info.Network); offer.Hold && !ok {
			out = append(out, LeftOut{Network: info.Network, Name: info.Name, Reason: "nothing is held there"})
		} else if o := t.cfg.Gas.Offer(context.Background(), info.Network, offer.Price()); o != nil {
			out = append(out, LeftOut{Network: info.Network, Name: info.Name, Reason: o.Reason})
		} else if t.beginReading(context.Background(), r) != nil {
			out = append(out, LeftOut{Network: info.Network, Name: info.Name,
				Reason: "what arrives there cannot be read yet"})
		}
	}
	return out
}

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
