package templates

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"agentstore/content"
)

// randomItem is the view of a good whose every text may be hostile and of which every part is there or not, on its own.
func randomItem(r *rand.Rand) *ItemView {
	v := new(ItemView)
	fill(r, reflect.ValueOf(v).Elem())
	v.Chrome = &Chrome{ChromeView: ChromeView{Title: hostile[r.IntN(len(hostile))], BaseURL: "https://store.example"}, Header: "<p>head</p>", Footer: "<p>foot</p>"}
	v.Good.Fulfilment = []content.Fulfilment{content.Instant, content.Human, content.Term, "another"}[r.IntN(4)]
	if r.IntN(2) == 0 {
		v.Good.ID = "a_good_1"
	}
	return v
}

// TestItemFormsAreWhatATemplateWrites holds the page that is written in Go, and its twin, against the same as templates.
func TestItemFormsAreWhatATemplateWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 3000 {
		v := randomItem(r)
		for _, form := range []struct {
			name   string
			render func(name string, view any) ([]byte, error)
			write  func(dst []byte, v *ItemView) ([]byte, error)
		}{{"item.html", renderHTML, AppendItem}, {"item.md", renderText, AppendItemMarkdown}} {
			want, err := form.render(form.name, v)
			if err != nil {
				t.Fatal(err)
			}
			got, err := form.write([]byte("before"), v)
			want = append([]byte("before"), want...)
			if err != nil || !bytes.Equal(got, want) {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Fatalf("%s of view %d, from byte %d: %v\n%q\nwant %q", form.name, i, at, err, got[at:], want[at:])
			}
		}
	}
}
