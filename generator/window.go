package generator

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

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
func (s *source) window() []templates.WindowItem {
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
			Drawing: templates.Drawing{SVG: templates.Markup(svg), Caption: sp.caption},
			Href:    "/menu/" + s.Site.Goods[i].ID,
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

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
