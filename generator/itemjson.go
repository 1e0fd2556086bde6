package generator

import (
	"store.example/agentstore/content"
	"store.example/agentstore/templates"
)

// menuDocument is /menu.json.
type menuDocument struct {
	Store      string        `json:"store"`
	Tagline    string        `json:"tagline"`
	BaseURL    string        `json:"base_url"`
	AsOf       string        `json:"as_of"`
	Currency   string        `json:"currency"`
	Decimals   int           `json:"decimals"`
	HowToBuy   string        `json:"how_to_buy"`
	Items      []menuItem    `json:"items"`
	Retired    []retiredItem `json:"retired"`
	FreeShelf  []freeShelf   `json:"free"`
	VerifyURL  string        `json:"verify_url_template"`
	SigningKey string        `json:"signing_key_url"`
}

type menuItem struct {
	ID                string      `json:"item_id"`
	Name              string      `json:"name"`
	Subtitle          string      `json:"subtitle,omitzero"`
	Description       string      `json:"description"`
	PriceUSDC         string      `json:"price_usdc"`
	PriceAtomic       int64       `json:"price_atomic"`
	PayWhatItDeserves bool        `json:"pay_what_it_deserves"`
	Tiers             []menuTier  `json:"tiers"`
	Fulfilment        string      `json:"fulfilment"`
	WindowHours       int         `json:"window_hours,omitzero"`
	WeeklyInventory   int         `json:"weekly_inventory,omitzero"`
	Stock             bool        `json:"sold_once_each"`
	Cadence           string      `json:"cadence"`
	ArtifactClass     string      `json:"artifact_class"`
	Inputs            []menuInput `json:"inputs"`
	Constraints       []string    `json:"constraints,omitzero"`
	WhatItReads       string      `json:"what_it_reads"`
	Signs             string      `json:"signs"`
	DoesNotProve      string      `json:"does_not_prove"`
	BuyURL            string      `json:"buy_url"`
	ItemPage          string      `json:"item_page"`
}

type menuTier struct {
	Name   string `json:"name"`
	USDC   string `json:"usdc"`
	Atomic int64  `json:"atomic"`
}

type menuInput struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Format    string `json:"format,omitzero"`
	Required  bool   `json:"required"`
	MaxLength int    `json:"max_length,omitzero"`
	Pattern   string `json:"pattern,omitzero"`
	Help      string `json:"help"`
	Example   string `json:"example,omitzero"`
}

type retiredItem struct {
	ID         string `json:"item_id"`
	FoldedInto string `json:"folded_into,omitzero"`
	Reason     string `json:"reason"`
}

// itemDocument is /menu/{item_id}.json: the catalogue's entry and what its
// page says beside it.
type itemDocument struct {
	menuItem
	Delivered string     `json:"delivered"`
	Body      string     `json:"body_markdown"`
	HowToBuy  []itemStep `json:"how_to_buy"`
	Money     []string   `json:"if_something_goes_wrong"`
	VerifyURL string     `json:"verify_url_template"`
}

type itemStep struct {
	Text string `json:"text"`
	Code string `json:"code"`
}

func (s *source) item(g *content.Good) menuItem {
	it := menuItem{
		ID: g.ID, Name: g.Name, Subtitle: g.Subtitle, Description: g.Description,
		PriceUSDC: g.PriceUSDC(), PriceAtomic: g.Price, PayWhatItDeserves: g.PayWhatItDeserves,
		Fulfilment: string(g.Fulfilment), WindowHours: g.WindowHours, WeeklyInventory: g.WeeklyInventory,
		Stock: g.Stock, Cadence: g.Cadence, ArtifactClass: g.Artifact, Constraints: g.Constraints,
		Inputs: []menuInput{}, WhatItReads: g.WhatItReads, Signs: g.Signs, DoesNotProve: g.DoesNotProve,
		BuyURL: templates.BuyURL(s.base, g.ID), ItemPage: s.base + "/menu/" + g.ID,
	}
	for _, t := range g.Tiers() {
		it.Tiers = append(it.Tiers, menuTier{Name: t.Name, USDC: t.USDC(), Atomic: t.Amount})
	}
	for _, in := range g.AllInputs() {
		it.Inputs = append(it.Inputs, menuInput{
			Name: in.Name, Type: in.Type, Format: in.Format, Required: in.Required, MaxLength: in.Max,
			Pattern: in.Pattern, Help: in.Help, Example: in.Example,
		})
	}
	return it
}

func (s *source) menuDocument() menuDocument {
	cfg := s.Site.Config
	doc := menuDocument{
		Store: cfg.Title, Tagline: cfg.Tagline, BaseURL: s.base, AsOf: s.chrome.Day(), Currency: "USDC", Decimals: 6,
		HowToBuy: howToBuy, Retired: []retiredItem{},
		VerifyURL: s.base + "/api/verify/{id}", SigningKey: s.base + "/.well-known/store-signing-key",
	}
	doc.Items = make([]menuItem, len(s.Site.Goods))
	for i := range s.Site.Goods {
		doc.Items[i] = s.item(&s.Site.Goods[i])
	}
	for _, r := range s.Site.Retired {
		doc.Retired = append(doc.Retired, retiredItem{ID: r.ID, FoldedInto: r.FoldedInto, Reason: r.Reason})
	}
	for _, f := range s.free() {
		doc.FreeShelf = append(doc.FreeShelf, freeShelf{Name: f.Text, URL: s.base + f.Href, Note: f.Note})
	}
	return doc
}

func (s *source) itemDocument(v templates.ItemView) itemDocument {
	doc := itemDocument{
		menuItem: s.item(&v.Good), Delivered: v.Fulfilment(), Body: v.Body.Markdown, Money: v.Money(),
		VerifyURL: s.base + "/api/verify/{id}",
	}
	for _, st := range v.Steps() {
		doc.HowToBuy = append(doc.HowToBuy, itemStep{Text: st.Text, Code: st.Code})
	}
	return doc
}
