package till

import (
	"fmt"
	"strconv"

	"agentstore/content"
	"agentstore/dynamic/feed"
	"agentstore/dynamic/goods"
)

// Offer is what is sold at one address: a good of the shelf, or a page that is paid for.
type Offer struct {
	ID string // in the journal and on certificates
	// Path is where it is bought. Base URL and path are what a payment for it is for, never the query.
	Path              string
	About             string // path of the page that describes it, free; "" for none
	Name, Description string
	Tiers             []content.Tier  // the amounts that may be paid, lowest first; the first is the price
	Inputs            []content.Input // all that an order may have
	// Mints says that who buys it becomes a patron with a number, and gets a certificate.
	Mints bool
	Kind  goods.Kind
	Good  content.Good // what the kind makes it from
}

// Price is the least that is asked, in atomic units of USDC.
func (o Offer) Price() int64 { return o.Tiers[0].Amount }

// PriceUSDC is the price as a decimal.
func (o Offer) PriceUSDC() string { return content.FormatUSDC(o.Price()) }

// Shelf finds an offer of a site by its id.
type Shelf func(site *content.Site, id string) (Offer, bool)

// Shelves are where offers are looked for, in order. No id is on two of them.
var Shelves = []Shelf{Goods}

// Goods is the shelf of goods.
func Goods(site *content.Site, id string) (Offer, bool) {
	g, ok := site.Good(id)
	if !ok {
		return Offer{}, false
	}
	k, err := goods.Of(g)
	if err != nil { // New has looked at all, and so does whoever changes the site
		return Offer{}, false
	}
	return Offer{ID: id, Path: "/api/buy/" + id, About: "/menu/" + id, Name: g.Name, Description: g.Description,
		Tiers: g.Tiers(), Inputs: g.AllInputs(), Mints: true, Kind: k, Good: g}, true
}

// found is an offer of a site, which is made once: a 402 is asked for more often than a site changes.
type found struct {
	site *content.Site
	Offer
}

// offer finds what has an id on a site.
func (t *Till) offer(site *content.Site, id string) (Offer, bool) {
	if v, ok := t.offers.Load(id); ok && v.(*found).site == site {
		return v.(*found).Offer, true
	}
	for _, shelf := range t.cfg.Shelves {
		if o, ok := shelf(site, id); ok {
			t.offers.Store(id, &found{site, o})
			return o, true
		}
	}
	return Offer{}, false
}

// offerOf is what a purchase bought, as it was when it was claimed.
func (t *Till) offerOf(p *Purchase) (Offer, error) {
	o, ok := t.offer(t.cfg.Site.Of(p.Content), p.Item)
	if !ok {
		return Offer{}, fmt.Errorf("till: %s is no longer sold", p.Item)
	}
	return o, nil
}

// maker is what a kind may use to make what is on a site.
func maker(site *content.Site) goods.Maker { return goods.Maker{Pools: site, Observe: feed.Observe} }

func amountOf(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // terms are our own
		panic(err)
	}
	return n
}
