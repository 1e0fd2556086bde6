package desk

import (
	"math"
	"net/http"
	"strings"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// Catalog is the answer of a search on the shelf.
type Catalog struct {
	Version   string       `json:"version"` // v1
	AsOf      string       `json:"as_of"`   // date of the site
	Query     CatalogQuery `json:"query"`
	Count     int          `json:"count"`
	Rows      []CatalogRow `json:"rows"` // in shelf order
	NextSteps []string     `json:"next_steps"`
}

// CatalogQuery repeats what was asked.
type CatalogQuery struct {
	Q      string `json:"q,omitzero"`
	Max    string `json:"max_price_usdc,omitzero"`
	ItemID string `json:"item_id,omitzero"`
}

// CatalogRow is one good.
type CatalogRow struct {
	ItemID      string   `json:"item_id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	PriceUSDC   string   `json:"price_usdc"`
	PriceAtomic int64    `json:"price_atomic"`
	Amounts     []string `json:"amounts_usdc"` // all that are offered, the least first
	Fulfilment  string   `json:"fulfilment"`
	ReadScope   string   `json:"read_scope"` // what it reads of the buyer's
	Inputs      []string `json:"inputs"`
	BuyURL      string   `json:"buy_url"`
	ItemPage    string   `json:"item_page"`
}

func catalogRow(base string, g content.Good) CatalogRow {
	row := CatalogRow{
		ItemID: g.ID, Name: g.Name, Description: g.Description, PriceUSDC: g.PriceUSDC(), PriceAtomic: g.Price,
		Amounts: []string{}, Fulfilment: string(g.Fulfilment), ReadScope: g.WhatItReads, Inputs: []string{},
		BuyURL: base + "/api/buy/" + g.ID, ItemPage: base + "/menu/" + g.ID,
	}
	for _, t := range g.Tiers() {
		row.Amounts = append(row.Amounts, t.USDC())
	}
	for _, in := range g.AllInputs() {
		name := in.Name
		if !in.Required {
			name += "?"
		}
		row.Inputs = append(row.Inputs, name)
	}
	return row
}

// catalogHelp is the free next step of a lookup that cannot be answered.
func (d *Desk) catalogHelp() string {
	return "Free: GET " + d.cfg.BaseURL + "/api/catalog/v1 without parameters lists every good; q is at most 120 " +
		"characters, max_price_usdc a number of at least 0, item_id an id from " + d.cfg.BaseURL + "/menu.json."
}

func (d *Desk) catalog(w http.ResponseWriter, r *http.Request) error {
	row := catalogRoute()
	if bad := route.Validate(r, &row); bad != nil {
		bad.Next = d.catalogHelp()
		return bad
	}
	in, site := route.Inputs(r), d.cfg.Site.Now()
	out := Catalog{Version: "v1", AsOf: site.Config.Date.Format("2006-01-02"), Rows: []CatalogRow{},
		Query: CatalogQuery{Q: in.String("q"), Max: in.String("max_price_usdc"), ItemID: in.String("item_id")}}
	if in.Has("item_id") {
		id := in.String("item_id")
		g, ok := site.Good(id)
		if !ok {
			return d.noSuchItem(site, id)
		}
		out.Rows = append(out.Rows, catalogRow(d.cfg.BaseURL, g))
	} else {
		for _, g := range site.Goods {
			if found(g, in.String("q")) && (!in.Has("max_price_usdc") || affordable(g, in.Float("max_price_usdc"))) {
				out.Rows = append(out.Rows, catalogRow(d.cfg.BaseURL, g))
			}
		}
	}
	out.Count = len(out.Rows)
	out.NextSteps = []string{"GET buy_url without a payment answers 402 with the terms and reserves nothing.",
		"POST " + d.cfg.BaseURL + "/api/before-you-pay/v1 says which of a door's terms your client would sign."}
	if out.Count == 0 {
		out.NextSteps = []string{d.catalogHelp()}
	}
	return route.JSON(w, out)
}

func (d *Desk) noSuchItem(site *content.Site, id string) error {
	if old, ok := site.RetiredGood(id); ok {
		next := d.catalogHelp()
		if old.FoldedInto != "" {
			next = "Free: GET " + d.cfg.BaseURL + "/api/catalog/v1?item_id=" + old.FoldedInto + " shows what it became."
		}
		return &problem.Error{Code: "gone", Detail: "This good is no longer sold: " + old.Reason, Next: next,
			Extra: map[string]any{"folded_into": old.FoldedInto}}
	}
	return &problem.Error{Code: "not_found", Detail: "There is no good of this id.", Next: d.catalogHelp()}
}

// found reports whether every word of a query stands in a good's texts.
func found(g content.Good, q string) bool {
	text := strings.ToLower(strings.Join([]string{g.ID, strings.ReplaceAll(g.ID, "_", " "), g.Name, g.Subtitle,
		g.Description}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(q)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// affordable compares in atomic units; the half unit absorbs what a decimal loses as a float.
func affordable(g content.Good, dollars float64) bool {
	return float64(g.Price) <= math.Floor(dollars*1e6+0.5)
}

func catalogRoute() api.Route {
	zero := 0.0
	return api.Route{
		Name: "catalog_v1", Method: http.MethodGet, Pattern: "/api/catalog/v1", Tag: tagInstruments,
		Serve: api.Ledger, Version: "v1", Since: api.ContractSince, Tool: "find_in_catalog",
		Summary: "Search the shelf", Description: "Goods in shelf order with price, fulfilment and what each reads. " +
			"Free and unmetered. A lookup " +
			"that finds nothing says what to do next.",
		Params: []api.Param{
			{Name: "q", In: api.QueryP, Type: "string", MaxLength: 120,
				Description: "words that must all stand in a good's id, name or description"},
			{Name: "max_price_usdc", In: api.QueryP, Type: "number", Minimum: &zero,
				Description: "the most that the least amount may be"},
			{Name: "item_id", In: api.QueryP, Type: "string", MaxLength: 60,
				Description: "one good; replaces the search"},
		},
		Responses: route.OK[Catalog]("What was found", 400, 404, 410),
	}
}
