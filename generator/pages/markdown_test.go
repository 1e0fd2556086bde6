package pages

import (
	"html"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
)

// twinsWith are Markdown twins in which a stranger's text stands wherever one may stand.
func twinsWith(t *testing.T, text string) map[string][]byte {
	t.Helper()
	chrome, err := templates.NewChrome(templates.Chrome{Title: "store", BaseURL: "https://store.example"})
	if err != nil {
		t.Fatal(err)
	}
	page := templates.Page{Title: "A page", Summary: "Of something."}
	host, err := templates.NewHostView(chrome, derive.Host{
		Host: "a.example", Payment: &derive.Payment{Captured: true,
			Addresses: []derive.Paid{{Network: text, Digest: "00"}}},
		Declaration: derive.Declared{Value: "declared", At: "today", Shape: "v1-strings", Doors: []string{text}},
		Note:        &derive.NoteHeld{Statement: text, Lane: "host", By: "a.example", At: "today"},
		PaidWalks: []derive.Walked{{At: "today", Network: text, Transaction: text,
			USDC: "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	cell := templates.Cell{Text: text}
	sheet := templates.SheetView{Chrome: chrome, Page: page, Sections: []templates.Section{{
		ID: "s", Title: "Section", Facts: []templates.Fact{{Name: text, Value: "1 of 2"}, {Name: "Value", Value: text},
			{Name: "Code", Value: text, Mono: true}},
		Table: &templates.Table{Caption: "Table", Head: []templates.Column{{Name: "One"}, {Name: "Two"},
			{Name: "Three"}},
			Rows: [][]templates.Cell{{cell, {Text: text, Href: "/x"}, cell}, {{Text: "a"}, cell, {Text: "c"}}}},
	}}}
	try := templates.TryView{Chrome: chrome, Page: page, Reading: &templates.Reading{
		URL: text, Verdict: "not ready", AlsoUnder: "ready", Difference: text,
		Checks:     []templates.CheckLine{{Name: "accepts", State: "failed", Detail: text}},
		Advisories: []templates.Fact{{Name: "advisory", Value: text}},
		Evidence:   templates.EvidenceView{Headers: []templates.Fact{{Name: "Server", Value: text}}},
	}}
	words := templates.WordsView{Chrome: chrome, Page: page,
		Words: []templates.RetiredWord{{Word: text, Epitaph: "It is at rest.", Date: "2026-11-17"}}}
	twins := make(map[string][]byte)
	keep := func(name string, b []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		twins[name] = b
	}
	b, err := templates.RenderHostMarkdown(host)
	keep("host", b, err)
	b, err = templates.Markdown(&sheet)
	keep("sheet", b, err)
	b, err = templates.Markdown(&try)
	keep("try", b, err)
	b, err = templates.Markdown(&words)
	keep("words", b, err)
	return twins
}

// TestNoStrangerWritesMarkdown reads twins as Markdown is read: whatever a stranger spelled, they
// have the structure that they have with a plain word in its place, and show the text as it is.
func TestNoStrangerWritesMarkdown(t *testing.T) {
	tags := regexp.MustCompile(`<[^>]*>`)
	read := func(md []byte) (structure, shows string) {
		out, err := markup(string(md), plainFrame)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(tags.FindAllString(string(out), -1), "\n"),
			html.UnescapeString(tags.ReplaceAllString(string(out), ""))
	}
	structures := make(map[string]string)
	for name, md := range twinsWith(t, "word") {
		structures[name], _ = read(md)
	}
	texts := []string{"eip155:8453", "not_ready", "[a](https://evil.example)", "![a](/x)", "`", "``a`b```", "a`|b",
		"<script>alert(1)</script>", "<https://evil.example>",
		"a\n\n# heading", "a\u2028# b", "- item", "+ item", "* item", "1. item", "12) item", "> quote", "# heading",
		"===", "---", "```", "~~~", "| a | b |", "a|b", `a\`, `a\|b`, "&lt;b&gt;", "*a*", "_a_", "__a__", "a_b_",
		"~~a~~", "a\\\nb", "[x]: /y", "\x1b[31mred", "\u202egnol\u202c", "\u2066a", "x\x00y"}
	r := rand.New(rand.NewPCG(7, 8))
	alphabet := []string{"`", "``", "|", `\`, "[", "]", "(", ")", "<", ">", "!", "*", "_", "~", "#", "-", "+", "=", "&",
		";", ":", "1", ".", " ", "\n", "a", "b", "ü", "\r", "\t", "\u2028"}
	for range 300 {
		var b strings.Builder
		for range 1 + r.IntN(10) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		if strings.TrimSpace(b.String()) != "" {
			texts = append(texts, b.String())
		}
	}
	for _, text := range texts {
		want := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				return '\uFFFD'
			}
			return r
		}, strings.Join(strings.Fields(text), " "))
		for name, md := range twinsWith(t, text) {
			structure, shows := read(md)
			if structure != structures[name] {
				t.Errorf("%q changes the structure of %s:\n%s", text, name, md)
			}
			if !strings.Contains(shows, want) {
				t.Errorf("%q does not stand in %s:\n%s", text, name, shows)
			}
		}
	}
}
