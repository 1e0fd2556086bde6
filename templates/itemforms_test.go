package templates

import (
	"bytes"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"agentstore/content"
)

// formIsWhatATemplateWrites holds what is written in Go against the same as a template, over views that are filled at random
// with hostile texts and of which every part is there or not, on its own.
func formIsWhatATemplateWrites[V any](t *testing.T, name string, execute func(to io.Writer, name string, data any) error, tidy func([]byte) []byte, write func(dst []byte, v *V) ([]byte, error)) {
	t.Run(name, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for i := range 3000 {
			v := new(V)
			fill(r, reflect.ValueOf(v).Elem())
			reflect.ValueOf(v).Elem().FieldByName("Chrome").Set(reflect.ValueOf(&Chrome{ChromeView: ChromeView{Title: hostile[r.IntN(len(hostile))], BaseURL: "https://store.example"}, Header: "<p>head</p>", Footer: "<p>foot</p>"}))
			likely(r, v)
			var b bytes.Buffer
			if err := execute(&b, name, v); err != nil {
				t.Fatal(err)
			}
			got, err := write([]byte("before"), v)
			want := append([]byte("before"), tidy(b.Bytes())...)
			if err != nil || !bytes.Equal(got, want) {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Fatalf("view %d, from byte %d: %v\n%q\nwant %q", i, at, err, got[at:], want[at:])
			}
		}
	})
}

// likely gives goods more often than not what a shelf may hold.
func likely(r *rand.Rand, view any) {
	good := func(g *content.Good) {
		g.Fulfilment = []content.Fulfilment{content.Instant, content.Human, content.Term, "another"}[r.IntN(4)]
		if r.IntN(2) == 0 {
			g.ID = "a_good_1"
		}
	}
	switch v := view.(type) {
	case *ItemView:
		good(&v.Good)
	case *PricesView:
		for i := range v.Goods {
			good(&v.Goods[i])
		}
	case *StorefrontView:
		for i := range v.Shelves {
			for n, g := range v.Shelves[i].Goods {
				if g == nil {
					g = new(content.Good)
					v.Shelves[i].Goods[n] = g
				}
				good(g)
			}
		}
	}
}

// TestShopFormsAreWhatATemplateWrites holds the pages of goods and their lists against the same as templates.
func TestShopFormsAreWhatATemplateWrites(t *testing.T) {
	html, text := referenceHTML().ExecuteTemplate, referenceText().ExecuteTemplate
	formIsWhatATemplateWrites(t, "item.html", html, bytes.Clone, AppendItem)
	formIsWhatATemplateWrites(t, "item.md", text, tidy, AppendItemMarkdown)
	formIsWhatATemplateWrites(t, "storefront.html", html, bytes.Clone, AppendStorefront)
	formIsWhatATemplateWrites(t, "storefront.md", text, tidy, AppendStorefrontMarkdown)
	formIsWhatATemplateWrites(t, "pricing.md", text, tidy, AppendPrices)
	formIsWhatATemplateWrites(t, "menu.md", text, tidy, AppendMenuMarkdown)
}
