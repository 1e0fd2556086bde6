package templates

import (
	"strings"
	"testing"
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
