package templates

import (
	"fmt"
	"strings"
	"testing"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/tier"
)

// TestTablesShortenNames: no word of a cell is longer than maxWord, its whole stands in a title,
// and the end of a name is kept. The twin has it whole.
func TestTablesShortenNames(t *testing.T) {
	name := strings.Repeat(strings.Repeat("x", 59)+".", 4) + "shop.example"
	for s, want := range map[string]string{
		"":                               "",
		"a.example":                      "a.example",
		strings.Repeat("b", maxWord):     strings.Repeat("b", maxWord),
		strings.Repeat("c", maxWord+1):   strings.Repeat("c", 19) + "…" + strings.Repeat("c", 20),
		name:                             strings.Repeat("x", 19) + "…" + "xxxxxxx.shop.example",
		"from " + name + " to b.example": "from " + strings.Repeat("x", 19) + "…" + "xxxxxxx.shop.example to b.example",
		strings.Repeat("ü", 30):          strings.Repeat("ü", 30),
		strings.Repeat("ü", 41):          strings.Repeat("ü", 19) + "…" + strings.Repeat("ü", 20),
		strings.Repeat("\xff", 41):       strings.Repeat("\ufffd", 19) + "…" + strings.Repeat("\ufffd", 20),
	} {
		if got, cut := narrow(s); got != want || cut != (got != s) {
			t.Errorf("%q is shown as %q, %v; want %q", s, got, cut, want)
		}
	}
	table := &Table{Head: heads("Host", "Rails"),
		Rows: [][]Cell{{{Text: name, Href: "/corpus/host/x", Mono: true}, mono(name)}}}
	v := SheetView{Chrome: &Chrome{}, Sections: []Section{{Table: table}}}
	rows, err := HTML(&v)
	if err != nil || strings.Count(string(rows), `title="`+name+`"`) != 2 || strings.Count(string(rows), name) != 2 {
		t.Errorf("%v: %s", err, rows)
	}
	if text, err := Markdown(&v); err != nil || strings.Count(string(text), name) != 2 {
		t.Errorf("%v: the twin shortens: %s", err, text)
	}
	// A list may wrap, a name may not.
	if got := classes(mono(strings.Repeat("eip155:1, ", 20)), Column{}); got != "mono" {
		t.Errorf("a long list is of the class %q", got)
	}
}

// TestAFullPageOfHosts: whoever reads the list of hosts sees what the newest observation of each
// said and when, and a full page of them stays as light as pages are where their names are as long
// as they commonly are.
func TestAFullPageOfHosts(t *testing.T) {
	view := derive.TiersView{Page: 1, Pages: 1, TotalHosts: derive.TiersPageLimit}
	for i := range derive.TiersPageLimit {
		s := tier.Standing{Host: fmt.Sprintf("api.shop-number-%03d.example", i),
			Tier: tier.TierIndeterminate, Label: "indeterminate — 3 of 4, W43–W46"}
		if i > 0 {
			s.Latest = &tier.Latest{Verdict: "unreachable", ObservedAt: "2026-11-10T06:01:34Z"}
		}
		view.Hosts = append(view.Hosts, derive.TierLine{Standing: s})
	}
	v := TiersSheet(SheetView{Chrome: &Chrome{}}, view)
	page, err := HTML(&v)
	const chrome = 3_000 // header and footer of a page
	if size := len(page) + len(Asset("style.css")) + chrome; err != nil || size > 40_000 {
		t.Errorf("%v: %d bytes with style, header and footer", err, size)
	}
	text, err := Markdown(&v)
	const all = derive.TiersPageLimit
	for says, times := range map[string]int{"unreachable": all - 1, "2026-11-10 06:01": all - 1,
		"none in the window": 1, "3 of 4, W43–W46": all} {
		if strings.Count(string(page), says) != times || strings.Count(string(text), says) != times || err != nil {
			t.Errorf("%v: %q does not stand %d times in page and twin", err, says, times)
		}
	}
}
