package pages

import (
	"slices"

	"store.example/agentstore/content"
	"store.example/agentstore/templates"
)

// MenuDocument is /menu.json.
type MenuDocument struct {
	Store      string        `json:"store"`
	Tagline    string        `json:"tagline"`
	BaseURL    string        `json:"base_url"`
	AsOf       string        `json:"as_of"`
	Currency   string        `json:"currency"`
	Decimals   int           `json:"decimals"`
	HowToBuy   string        `json:"how_to_buy"`
	Items      []MenuItem    `json:"items"`
	Retired    []retiredItem `json:"retired"`
	FreeShelf  []freeShelf   `json:"free"`
	VerifyURL  string        `json:"verify_url_template"`
	SigningKey string        `json:"signing_key_url"`
}

type MenuItem struct {
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

// ItemDocument is /menu/{item_id}.json: the catalogue's entry and what its
// page says beside it.
type ItemDocument struct {
	MenuItem
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

func (s *Source) item(g *content.Good) MenuItem {
	it := MenuItem{
		ID: g.ID, Name: g.Name, Subtitle: g.Subtitle, Description: g.Description,
		PriceUSDC: g.PriceUSDC(), PriceAtomic: g.Price, PayWhatItDeserves: g.PayWhatItDeserves,
		Fulfilment: string(g.Fulfilment), WindowHours: g.WindowHours, WeeklyInventory: g.WeeklyInventory,
		Stock: g.Stock, Cadence: g.Cadence, ArtifactClass: g.Artifact, Constraints: g.Constraints,
		Inputs: []menuInput{}, WhatItReads: g.WhatItReads, Signs: g.Signs, DoesNotProve: g.DoesNotProve,
		BuyURL: templates.BuyURL(s.Base, g.ID), ItemPage: s.Base + "/menu/" + g.ID,
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

func (s *Source) menuDocument() MenuDocument {
	cfg := s.Site.Config
	doc := MenuDocument{
		Store: cfg.Title, Tagline: cfg.Tagline, BaseURL: s.Base, AsOf: s.chrome.Day(), Currency: "USDC", Decimals: 6,
		HowToBuy: howToBuy, Retired: []retiredItem{},
		VerifyURL: s.Base + "/api/verify/{id}", SigningKey: s.Base + "/.well-known/store-signing-key",
	}
	doc.Items = make([]MenuItem, len(s.Site.Goods))
	for i := range s.Site.Goods {
		doc.Items[i] = s.item(&s.Site.Goods[i])
	}
	for _, r := range s.Site.Retired {
		doc.Retired = append(doc.Retired, retiredItem{ID: r.ID, FoldedInto: r.FoldedInto, Reason: r.Reason})
	}
	for _, f := range s.free() {
		doc.FreeShelf = append(doc.FreeShelf, freeShelf{Name: f.Text, URL: s.Base + f.Href, Note: f.Note})
	}
	return doc
}

func (s *Source) itemDocument(v templates.ItemView) ItemDocument {
	doc := ItemDocument{
		MenuItem: s.item(&v.Good), Delivered: v.Fulfilment(), Body: v.Body.Markdown, Money: v.Money(),
		VerifyURL: s.Base + "/api/verify/{id}",
	}
	for _, st := range v.Steps() {
		doc.HowToBuy = append(doc.HowToBuy, itemStep{Text: st.Text, Code: st.Code})
	}
	return doc
}

// free lists what costs nothing, for the storefront, the catalogue and
// llms.txt.
func (s *Source) free() []templates.Pointer {
	return slices.DeleteFunc([]templates.Pointer{
		{Text: "The catalogue", Href: "/menu.json", Note: "every good with its price, inputs and door"},
		{Text: "Prices", Href: "/pricing.md", Note: "all of them in one table"},
		{Text: "Before you approve a spending", Href: "/what", Note: "what a payment here can and cannot do"},
		{Text: "How to verify", Href: "/verify", Note: "what we signed, without us"},
		{Text: "The almanac", Href: "/almanac", Note: "pages from the shop, an index to read and a cent a page"},
		{Text: "The gazette", Href: "/gazette", Note: "what happened among sellers, by the issue"},
		{Text: "The porch", Href: "/porch", Note: "a line an hour, and somewhere to sit"},
		{Text: "The zodiac", Href: "/zodiac", Note: "a wallet's sign, and this week's page for it"},
		{Text: "Tips", Href: "/tips", Note: "small things learned at the counter, a cent each"},
		{Text: "The directory", Href: "/directory", Note: "reviews of neighbours, a line each"},
		{Text: "The register of retired words", Href: "/retired-words", Note: "words that are at rest"},
		{Text: "Check a seller's endpoint", Href: "/try", Note: "what a stranger's program finds there"},
		{Text: "Criteria", Href: "/criteria", Note: "what is asked of a seller and what none of it proves"},
		{Text: "Defects", Href: "/defects", Note: "a stable name for each way in which an endpoint is broken"},
		{Text: "Offers and receipts", Href: "/conformance",
			Note: "checked whoever signed them, with fixtures for a verifier and endpoints to practise on"},
		{Text: "The record", Href: "/corpus", Note: "what signed weekly rounds saw of sellers"},
		{Text: "The atlas", Href: "/atlas.json", Note: "everything here, by what one wants to do"},
		{Text: "The API", Href: "/openapi.json", Note: "OpenAPI 3.1, every route"},
		{Text: "The free tools", Href: "/openapi-tools.json",
			Note: "the instruments as definitions for function calling"},
		{Text: "For agents", Href: "/agents.md", Note: "how to begin, and what never to do"},
		{Text: "Tools over MCP", Href: "/mcp", Note: "the free instruments, and every good as a tool"},
		{Text: "Words", Href: "/glossary", Note: "those of these pages, and the record's own beside them"},
		{Text: "Served versions", Href: "/deprecation", Note: "which are served, and until when"},
		{Text: "Problem codes", Href: "/problems", Note: "what each means and whether money moved"},
	}, func(p templates.Pointer) bool { return !s.Site.Serves(p.Href) })
}

type freeShelf struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Note string `json:"note"`
}

const howToBuy = "GET buy_url, read the 402, sign one of the payments it offers (x402 version 2, USDC), and send the " +
	"same request with PAYMENT-SIGNATURE; or answer a challenge in WWW-Authenticate with Authorization: Payment " +
	"(MPP, USDC)."

// Product describes a good in the words of schema.org, with an offer for each amount that it is
// sold at. It says what the entry of the catalogue says.
type Product struct {
	Context     string  `json:"@context"`
	Type        string  `json:"@type"`
	ID          string  `json:"sku"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	URL         string  `json:"url"`
	Image       string  `json:"image"`
	Offers      []offer `json:"offers"`
}

type offer struct {
	Type         string `json:"@type"`
	Name         string `json:"name"`
	Price        string `json:"price"`
	Currency     string `json:"priceCurrency"` // no currency of ISO 4217: the symbol of the token
	URL          string `json:"url"`
	Availability string `json:"availability"`
	Seller       seller `json:"seller"`
}

type seller struct {
	Type string `json:"@type"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (s *Source) product(g *content.Good) Product {
	it, available := s.item(g), "https://schema.org/InStock"
	if it.Stock || it.WeeklyInventory > 0 {
		available = "https://schema.org/LimitedAvailability" // how many are left, the door says
	}
	p := Product{Context: "https://schema.org", Type: "Product", ID: it.ID, Name: it.Name, Description: it.Description,
		URL: it.ItemPage, Image: s.Base + "/preview/store.png"}
	for _, t := range it.Tiers {
		p.Offers = append(p.Offers, offer{Type: "Offer", Name: t.Name, Price: t.USDC, Currency: "USDC", URL: it.BuyURL,
			Availability: available, Seller: seller{"Organization", s.Site.Config.Title, s.Base}})
	}
	return p
}
