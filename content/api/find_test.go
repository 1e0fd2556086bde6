package api

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	var x SearchIndex
	x.Add(SearchPage{Path: "/docs/buying", Title: "Buying", Summary: "One request asks the terms.", Parts: []SearchPart{
		{Text: "Half a cent."}, {At: "the-terms", Title: "The terms", Text: strings.Repeat("so it goes ", 30) +
			"a brock is refunded at the store_price."}}})
	x.Add(SearchPage{Path: "/menu/pet_rock", Title: "Portrait rock", Summary: "A rock.",
		Parts: []SearchPart{{Text: "Refund."}}})
	x.Add(SearchPage{Path: "/running", Title: "Running",
		Parts: []SearchPart{{Text: "Prices and rocks of the Köln store"}}})
	x.Prepare()
	for query, want := range map[string]string{
		"refund":         "/docs/buying#the-terms /menu/pet_rock",
		"Rocks":          "/menu/pet_rock /running",
		"price":          "/docs/buying#the-terms /running",
		"terms":          "/docs/buying#the-terms",
		"KÖLN":           "/running",
		"pay buyng rock": "/menu/pet_rock /running",
		"store refunds":  "/docs/buying#the-terms",
		"und":            "", " ?#/ ": "",
	} {
		hits, all := x.Find(query, 5)
		var got []string
		for _, h := range hits {
			got = append(got, h.Path)
			if len(h.Excerpt) > 200 || strings.Contains(query, "fund") && !strings.Contains(h.Excerpt, "efund") {
				t.Errorf("%q: the excerpt of %s is %q", query, h.Path, h.Excerpt)
			}
		}
		if strings.Join(got, " ") != want || all != len(got) {
			t.Errorf("%q finds %q, %d in all, want %s", query, got, all, want)
		}
	}
	if hits, all := x.Find("a", 1); len(hits) != 1 || all != 3 {
		t.Errorf("of %d pages %d were wanted and 1 is", all, len(hits))
	}
	for range 2 * AllBytes / PageBytes {
		x.Add(SearchPage{Path: "/long", Title: strings.Repeat("ü", LineBytes),
			Parts: []SearchPart{{Text: strings.Repeat("ä", PageBytes)}}})
	}
	if x.bytes > AllBytes+2*LineBytes || x.LeftOut == 0 || len(x.Pages[3].Parts[0].Text) > PageBytes {
		t.Errorf("the index holds %d bytes and left %d pages out", x.bytes, x.LeftOut)
	}
	x.Prepare()
	x.Find(strings.Repeat("ä", 200), 100)
}
