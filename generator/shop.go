package generator

import (
	"path"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// free lists what costs nothing, for the storefront, the catalogue and
// llms.txt.
func (s *source) free() []templates.Pointer {
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

// shelves sorts the goods, in shelf order, under a few headings.
func (s *source) shelves() []templates.Shelf {
	shelves := []templates.Shelf{
		{ID: "counter", Name: "On the counter", Note: "Small things at a fixed price, handed over in the answer."},
		{ID: "deserves", Name: "Pay what it deserves",
			Note: "Each names three amounts: the least, twice it and five times it. What is above the least is a tip."},
		{ID: "keeper", Name: "From the keeper", Note: "A person does these, so there are few of them and they take " +
			"days."},
		{ID: "standing", Name: "By the term", Note: "One payment for a fixed time. Nothing renews itself."},
	}
	for n := range s.Site.Goods {
		i, g := 0, &s.Site.Goods[n]
		switch {
		case g.Fulfilment == content.Human:
			i = 2
		case g.Fulfilment == content.Term:
			i = 3
		case g.PayWhatItDeserves:
			i = 1
		}
		shelves[i].Goods = append(shelves[i].Goods, g)
	}
	return slices.DeleteFunc(shelves, func(sh templates.Shelf) bool { return len(sh.Goods) == 0 })
}

func renderHome(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	p, err := s.need("index")
	if err != nil {
		return nil, err
	}
	intro, body, err := s.twoProses(p.Body, fullFrame)
	if err != nil {
		return nil, err
	}
	page := s.viewOf(u, p.Title, p.Summary, made)
	v := templates.StorefrontView{
		Chrome: s.chrome, Page: page, Intro: intro, Body: body, Window: s.window(), Shelves: s.shelves(),
		First: s.Site.Cheapest(),
		// What programs read is listed where they look, and on /what.
		Free: slices.DeleteFunc(s.free(), func(p templates.Pointer) bool { return path.Ext(p.Href) == ".json" }),
		Try:  s.Site.Serves("/try"),
	}
	if v.Proof, err = s.proof(); err != nil {
		return nil, err
	}
	return u.twin(&v, mediaType)
}

// proof is what the first page can show: figures of the record and of sales.
func (s *source) proof() (*templates.Proof, error) {
	if !s.Site.Serves("/corpus") {
		return nil, nil
	}
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	var weeks []derive.Week
	if len(b.Figures) > 0 {
		weeks = b.Trajectory().Weeks
	}
	for _, o := range slices.Backward(s.feed) {
		if o.Kind != record.ObservationArtifactsIssued || o.Issued == nil {
			continue
		}
		for _, c := range o.Issued.Classes {
			if c.Class == "certificate" {
				return templates.NewProof(weeks, c.Total, o.At[:len(time.DateOnly)]), nil
			}
		}
		break
	}
	return templates.NewProof(weeks, 0, ""), nil
}

// splitAtHeading cuts Markdown before its first heading, so that the shelves
// can stand between.
func splitAtHeading(text string) (before, after string) {
	if strings.HasPrefix(text, "#") {
		return "", text
	}
	if i := strings.Index(text, "\n#"); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

type freeShelf struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Note string `json:"note"`
}

const howToBuy = "GET buy_url, read the 402, sign one of the payments it offers (x402 version 2, USDC), and send the " +
	"same request with PAYMENT-SIGNATURE; or answer the challenge in WWW-Authenticate with Authorization: Payment " +
	"(MPP, USDC on Base)."

func renderMenu(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	page := s.viewOf(u, "The catalogue", "Every good on the shelf with its price, its inputs and its door.", made)
	switch mediaType {
	case api.Markdown:
		return templates.RenderMenuMarkdown(templates.PricesView{Chrome: s.chrome, Page: page, Goods: s.Site.Goods,
			Free: s.free()})
	case api.JSON:
		return indented(s.menuDocument())
	}
	return unknown(mediaType)
}

func renderGood(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	g := s.goods[u.at]
	page := s.viewOf(u, g.Name, g.Description, made)
	var err error
	if page.About, err = templates.LinkedData(s.product(g)); err != nil {
		return nil, err
	}
	body, err := s.proseIn(mediaType, g.Body, fullFrame)
	if err != nil {
		return nil, err
	}
	v := templates.ItemView{Chrome: s.chrome, Page: page, Good: *g, Body: body, Drawing: drawingFor(g.Kind)}
	if mediaType == api.JSON {
		return indented(s.itemDocument(v))
	}
	return u.twin(&v, mediaType)
}

func renderPricing(s *source, u unit, mediaType string, made attest.Digest) ([]byte, error) {
	p, err := s.need("pricing")
	if err != nil {
		return nil, err
	}
	page := s.viewOf(u, p.Title, p.Summary, made)
	return templates.RenderPrices(templates.PricesView{
		Chrome: s.chrome, Page: page, Body: templates.Prose{Markdown: s.Site.Expand(p.Body)}, Goods: s.Site.Goods,
	})
}
