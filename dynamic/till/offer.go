package till

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// Offer is what is sold at one address: a good of the shelf, or a page that is paid for.
type Offer struct {
	ID string // in the journal and on certificates
	// Path is where it is bought. Base URL and path are what a payment for it is for, never the
	// query.
	Path              string
	About             string // path of the page that describes it, free; "" for none
	Name, Description string
	Tiers             []content.Tier  // the amounts that may be paid, lowest first; the first is the price
	Inputs            []content.Input // all that an order may have
	// Hold says that what is paid is held until the order is completed.
	Hold bool
	// Mints says that who buys it becomes a patron with a number, and gets a certificate.
	Mints bool
	Kind  goods.Kind
	Good  content.Good // what the kind makes it from
	// Ask reads what is asked, where that is in the ledger and not on the site; Tiers is empty
	// then, until the till has asked. nil: Tiers says it.
	Ask func(tx ledger.Tx) ([]content.Tier, error)
}

// Price is the least that is asked, in atomic units of USDC.
func (o *Offer) Price() int64 { return o.Tiers[0].Amount }

// PriceUSDC is the price as a decimal.
func (o *Offer) PriceUSDC() string { return content.FormatUSDC(o.Price()) }

// Shelf finds an offer of a site by its id, nil for none.
type Shelf func(site *content.Site, id string) *Offer

// Shelves are where offers are looked for, in order, by a store that signs with a key. No id is on
// two of them.
func Shelves(key *attest.Key, kinds []goods.Kind) []Shelf {
	return []Shelf{Goods(kinds), Pages(key), Porch(nil), Commissions}
}

// PorchLine is the id of what is sold at /porch/line.
const PorchLine = "porch/line"

// Porch is the shelf of the one thing on the porch that is paid for, the line of the hour. weather
// is that of the shop in the hour that begins at a time; nil: nobody has looked.
func Porch(weather func(time.Time) content.Weather) Shelf {
	if weather == nil {
		weather = func(time.Time) content.Weather { return content.Weather{Word: content.WeatherOf(false, false)} }
	}
	return func(site *content.Site, id string) *Offer {
		if id != PorchLine || !site.Porch.Open() {
			return nil
		}
		return &Offer{ID: id, Path: "/" + id, About: "/porch", Name: "The line of the hour",
			Description: "What is said on the porch in the hour in which the payment comes, signed as a keepsake.",
			Tiers:       []content.Tier{{Name: "minimum", Amount: goods.PorchLinePrice}},
			Kind:        goods.PorchKind(site.Porch, weather),
			Good:        content.Good{ID: id, Name: "The line of the hour"}}
	}
}

// Goods is the shelf of goods of some kinds.
func Goods(kinds []goods.Kind) Shelf {
	return func(site *content.Site, id string) *Offer {
		g, ok := site.Good(id)
		if !ok {
			return nil
		}
		g.Text = site.Expand(g.Text)
		k, err := goods.Of(kinds, g)
		if err != nil { // whoever opens a store has looked at all, and so does whoever changes the site
			return nil
		}
		return &Offer{ID: id, Path: "/api/buy/" + id, About: "/menu/" + id, Name: g.Name, Description: g.Description,
			Tiers: g.Tiers(), Inputs: g.AllInputs(), Mints: g.Artifact != content.ArtifactNone, Kind: k, Good: g}
	}
}

// Good is what is sold of a good of a site, nil for what is none.
func (t *Till) Good(site *content.Site, id string) *Offer { return Goods(t.cfg.Kinds)(site, id) }

// Pages is the shelf of pages that are paid for.
func Pages(key *attest.Key) Shelf {
	return func(site *content.Site, id string) *Offer {
		i, ok := site.Issue(id)
		if !ok {
			return nil
		}
		url := site.Config.BaseURL + i.Path()
		p := goods.PageDelivered{Title: i.Title, URL: url, Published: i.Date.Format(time.DateOnly),
			Body: site.Expand(i.Body)}
		salt := attest.PaidPageSalt(key, url, p.Body)
		p.Salt, p.Digest = salt.String(), attest.PaidPageDigest(salt, p.Body).String()
		p.HowToCheck = "digest is the SHA-256 of the 32 bytes of salt and the bytes of body behind them; " +
			site.Config.BaseURL + i.Publication.Index + ".json has it signed."
		return &Offer{ID: id, Path: i.Path(), About: i.Publication.Index, Name: i.Title, Description: i.Summary,
			Tiers: []content.Tier{{Name: "minimum", Amount: i.Publication.Price}}, Kind: goods.PageKind(p),
			Good: content.Good{ID: id, Name: i.Title}}
	}
}

// Commissions is the shelf of what visitors requested, at the price that the keeper quoted.
func Commissions(_ *content.Site, id string) *Offer {
	request, ok := goods.IsCommission(id)
	if !ok {
		return nil
	}
	g := goods.CommissionGood(request)
	return &Offer{ID: id, Path: "/api/commission/" + request, Name: g.Name, Description: g.Description, Mints: true,
		Kind: goods.Commission(request), Good: g, Ask: func(tx ledger.Tx) ([]content.Tier, error) {
			amount, err := goods.CommissionPrice(tx, request)
			return []content.Tier{{Name: "minimum", Amount: amount}}, err
		}}
}

// priced is an offer with what is asked for it. Its error is that of a gate.
func (t *Till) priced(ctx context.Context, o *Offer) (*Offer, error) {
	if o.Ask == nil {
		return o, nil
	}
	now := *o
	err := t.view(ctx, func(tx ledger.Tx) (err error) {
		now.Tiers, err = o.Ask(tx)
		return err
	})
	return &now, gateError(err)
}

// found is an offer of a site, which is made once: a 402 is asked for more often than a site
// changes.
type found struct {
	site  *content.Site
	offer *Offer
}

// offer finds what has an id on a site, nil for nothing.
func (t *Till) offer(site *content.Site, id string) *Offer {
	if v, ok := t.offers.Load(id); ok && v.(*found).site == site {
		return v.(*found).offer
	}
	for _, shelf := range t.cfg.Shelves {
		if o := shelf(site, id); o != nil {
			if o.Ask == nil { // strangers choose the ids of the others
				t.offers.Store(id, &found{site, o})
			}
			return o
		}
	}
	return nil
}

// offerOf is what a purchase bought, as it was when it was claimed.
func (t *Till) offerOf(p *Purchase) (*Offer, error) {
	o := t.offer(t.cfg.Site.Of(p.Content), p.Item)
	if o == nil {
		return nil, fmt.Errorf("till: %s is no longer sold", p.Item)
	}
	if p.Held != nil {
		o = atHold(o)
	}
	return o, nil
}

// makerOn is what a kind may use to make what is on a site.
func (t *Till) makerOn(site *content.Site) goods.Maker {
	return goods.Maker{Pools: site, Observe: feed.Observe, Tell: t.cfg.Tell, Files: t.cfg.Files,
		Upstreams: t.cfg.Upstreams, DB: t.cfg.DB}
}

func amountOf(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // terms are our own
		panic(err)
	}
	return n
}
