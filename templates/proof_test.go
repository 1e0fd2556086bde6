package templates_test

import (
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
)

// The first page says what is so: also of a shop that has sold nothing, checked nobody, or has
// nothing to sell. The page of a good without a certificate promises none.
func TestTheFirstPageSaysWhatIsSo(t *testing.T) {
	weeks := []derive.Week{{Week: "2026-W45"}, {Week: "2026-W46", TakenAt: "2026-11-10T08:00:00Z", HostsDue: 61,
		HostsProbed: 59, Ready: 48, NotProbed: 2}}
	hello := content.Good{ID: "hello", Name: "Hello", Price: 500_000, Artifact: content.ArtifactNone}
	for name, c := range map[string]struct {
		view       templates.View
		says, nots []string
	}{
		"all": {&templates.StorefrontView{Chrome: chrome(t), First: hello, Try: true,
			Shelves: []templates.Shelf{{ID: "counter", Goods: []*content.Good{&hello}}},
			Proof:   templates.NewProof(weeks, 1, "2026-11-15")},
			[]string{"48 of 59", "2026-W46", "2 of 61", "1 sale with", "2026-11-15", "Buy: Hello, 0.5 USDC", "/try"},
			[]string{"shelves are empty", "No weekly round", "No sale"}},
		"nothing": {&templates.StorefrontView{Chrome: chrome(t), Proof: templates.NewProof(nil, 0, "")},
			[]string{"shelves are empty", "No weekly round", "No sale has been counted"},
			[]string{"Buy:", "store buy", "](/try)", `href="/try"`}},
		"private": {&templates.StorefrontView{Chrome: chrome(t), First: hello}, []string{"Buy: Hello"},
			[]string{"No weekly round", "No sale"}},
		"uncertified": {&templates.ItemView{Chrome: chrome(t), Good: hello}, []string{"/api/buy/hello", "/mcp"},
			[]string{"signed none", "store-attestation"}},
	} {
		for form, render := range map[string]func(templates.View) ([]byte, error){"HTML": templates.HTML,
			"Markdown": templates.Markdown} {
			b, err := render(c.view)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.says {
				if !strings.Contains(string(b), s) {
					t.Errorf("%s in %s does not say %q", name, form, s)
				}
			}
			for _, s := range c.nots {
				if strings.Contains(string(b), s) {
					t.Errorf("%s in %s says %q", name, form, s)
				}
			}
		}
	}
}
