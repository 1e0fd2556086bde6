package pages

import (
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

// shelves sorts the goods, in shelf order, under a few headings.
func (s *Source) shelves() []templates.Shelf {
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

func renderHome(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
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
func (s *Source) proof() (*templates.Proof, error) {
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
	for _, o := range slices.Backward(s.Feed) {
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

func renderMenu(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
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

func renderGood(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
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

func renderPricing(s *Source, u Unit, mediaType string, made attest.Digest) ([]byte, error) {
	p, err := s.need("pricing")
	if err != nil {
		return nil, err
	}
	page := s.viewOf(u, p.Title, p.Summary, made)
	return templates.RenderPrices(templates.PricesView{
		Chrome: s.chrome, Page: page, Body: templates.Prose{Markdown: s.Site.Expand(p.Body)}, Goods: s.Site.Goods,
	})
}

// exhibit is what the goods of a kind are shown with.
type exhibit struct {
	kind    string
	caption string
	draw    func() string // once
}

// specimens are what the goods that draw are shown with, the smallest drawings first. They are
// drawn from fixed seeds that no purchase can have, and are on no certificate.
var specimens = []exhibit{
	{content.KindPortrait, "The portrait of an address that nobody holds.", sync.OnceValue(func() string {
		return drawing.Portrait("0x000000000000000000000000000000000000dEaD")
	})},
	{content.KindLuckies, "A lucky heron. There are others.", sync.OnceValue(func() string {
		return drawing.AnimalCard("heron", "solid", []byte("in the window"))
	})},
	{content.KindTuesday, "A jar of Tuesday, emptied for display.", sync.OnceValue(func() string {
		return drawing.TuesdayJar(time.Date(2026, 11, 17, 0, 0, 0, 0, time.UTC), 0)
	})},
	{content.KindRock, "A rock, for looking at. Yours will be another.", sync.OnceValue(func() string {
		return drawing.Rock([]byte("in the window"), "Specimen")
	})},
	{content.KindPatronage, "The nicer badge.", sync.OnceValue(func() string {
		return drawing.Badge(drawing.Patron{Number: 1, Name: "A. Specimen", Nicer: true})
	})},
}

// window is what stands in the shop window: the drawings of goods on the shelf.
func (s *Source) window() []templates.WindowItem {
	var items []templates.WindowItem
	const most = 2
	for _, sp := range specimens {
		i := slices.IndexFunc(s.Site.Goods, func(g content.Good) bool { return g.Kind == sp.kind })
		if i < 0 || len(items) == most {
			continue
		}
		svg := sp.draw()
		if len(items) > 0 { // on a page the sheet of the first drawing is that of all
			svg = strings.Replace(svg, "<style>"+drawing.Style+"</style>", "", 1)
		}
		items = append(items, templates.WindowItem{
			SVG: templates.Markup(svg), Caption: sp.caption,
			Href: "/menu/" + s.Site.Goods[i].ID,
		})
	}
	return items
}

// drawingFor is a specimen of what goods of a kind draw, nil for one that draws nothing.
func drawingFor(kind string) *templates.Drawing {
	i := slices.IndexFunc(specimens, func(sp exhibit) bool { return sp.kind == kind })
	if i < 0 {
		return nil
	}
	return &templates.Drawing{SVG: templates.Markup(specimens[i].draw()), Caption: specimens[i].caption}
}
