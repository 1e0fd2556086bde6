package templates

import (
	"bytes"
	"html/template"
	"math/rand/v2"
	"strings"
	"testing"
)

// hostile are texts in which markup, quotes and what is no text stand.
var hostile = []string{"", "plain", `<a href="x">'+&amp;+'</a>`, "\x00\xff\xfe", "ü–○|`*", " a\n\n\n```\n\n\nb\t\n ", "```\n", strings.Repeat("<&>", 100),
	"\x1b[31m\x7f\u0085\u2028\u202egnol\u2066\ufeff", "javascript:alert(1)", "1. [a](/b) ![c](/d)", "``a|b` c", "url=//evil.example?a='b'", "</title></script><!--"}

// TestFactsAreWhatATemplateWrites holds a list that is written in Go against the same list as a template.
func TestFactsAreWhatATemplateWrites(t *testing.T) {
	reference := template.Must(template.New("").Parse(`<dl class="facts">
{{range .}}<dt>{{.Name}}</dt><dd{{if .Mono}} class="mono"{{end}}>{{.Value}}</dd>
{{end}}</dl>
`))
	var list []Fact
	for i, s := range hostile {
		list = append(list, Fact{Name: s, Value: hostile[len(hostile)-1-i], Mono: i%2 == 0})
	}
	var want bytes.Buffer
	if err := reference.Execute(&want, list); err != nil {
		t.Fatal(err)
	}
	if got := facts(list); string(got) != want.String() {
		t.Errorf("%q\nwant %q", got, want.String())
	}
}

// TestLinesInMarkdown: no value ends its line or its cell.
func TestLinesInMarkdown(t *testing.T) {
	got := appendTimelineText(nil, []TimelineLine{{Week: "2026-W47", Listed: "listed", Probed: "not_walked", Gap: "control_failed", Verdict: "–", Protocols: "a|b\nc", Failed: "–", Sequence: 7}})
	if want := "| 2026-W47 | listed | not_walked (control_failed) | – | a\\|b c | – | [7](/corpus/7.json) |\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFrameIsWhatATemplateWrites holds the beginning and the end of pages against the same as a template.
func TestFrameIsWhatATemplateWrites(t *testing.T) {
	reference := template.Must(template.New("").Funcs(template.FuncMap{"short": Short}).Parse(`{{define "top"}}<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Page.Title}}{{if ne .Page.Title .Chrome.Title}} · {{.Chrome.Title}}{{end}}</title>
{{with .Page.Summary}}<meta name="description" content="{{.}}">
{{end}}{{if .Page.NoIndex}}<meta name="robots" content="noindex">
{{else}}<link rel="canonical" href="{{.Chrome.BaseURL}}{{.Page.Path}}">
{{end}}{{with .Page.Twin}}<link rel="alternate" type="text/markdown" href="{{.}}">
{{end}}{{with .Page.Data}}<link rel="alternate" type="application/json" href="{{.}}">
{{end}}<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
{{.Page.Reload}}</head>
<body>
{{.Chrome.Header}}<main id="main">
{{end}}{{define "bottom"}}</main>
<footer class="foot">
{{.Chrome.Footer}}{{if or .Page.Twin .Page.Data .Page.Made}}<p>{{with .Page.Twin}}This page <a href="{{.}}">in Markdown</a>{{end}}{{with .Page.Data}}{{if $.Page.Twin}}, {{else}}This page {{end}}<a href="{{.}}">as JSON</a>{{end}}{{with .Page.Made}}{{if or $.Page.Twin $.Page.Data}} · made{{else}}Made{{end}} from <code class="digest" title="{{.}}">{{short .}}</code>{{end}}</p>
{{end}}</footer>
</body>
</html>
{{end}}`))
	chrome := &Chrome{ChromeView: ChromeView{Title: "store", BaseURL: "https://store.example"}, Header: "<p>head</p>", Footer: "<p>foot</p>"}
	addresses := []string{"", "/corpus/host/a.example", "/a b?c=d&e=\"f'", "javascript:alert(1)", "/ü/%zz/%20", "//x", "/a:b/c", "http://127.0.0.1:4020/a.b_c-d", "http:https:/x", "http:javascript:alert(1)", ":/x", "a/:b"}
	for _, text := range append(hostile, chrome.Title) {
		for i, a := range addresses {
			p := Page{Title: text, Summary: text, Path: "/corpus" + a, Twin: a, Data: addresses[len(addresses)-1-i], NoIndex: i%2 == 0, Reload: "<script></script>"}
			if i%3 != 0 {
				p.Made = "00112233445566778899" + text
			}
			for name, write := range map[string]func(Page, *Chrome) (Markup, error){"top": top, "bottom": bottom} {
				var want bytes.Buffer
				if err := reference.ExecuteTemplate(&want, name, map[string]any{"Page": p, "Chrome": chrome}); err != nil {
					t.Fatal(err)
				}
				if got, err := write(p, chrome); err != nil || string(got) != want.String() {
					t.Errorf("%s of %+v: %q, %v\nwant %q", name, p, got, err, want.String())
				}
			}
		}
	}
}

// TestAddressIsWhatATemplateWrites holds addresses against those that html/template writes, over pieces of schemes, paths
// and markup in any order.
func TestAddressIsWhatATemplateWrites(t *testing.T) {
	reference := template.Must(template.New("").Parse(`<a href="{{.}}">`))
	pieces := append([]string{"http:", "https:", "javascript:", "data:", "HTTP:", "/", "//", ":", "?", "#", "%", "%2f", "%zz", "..", "a", "b.c", "_-", "@", "ü", " ", "\n", "\\"}, hostile...)
	r := rand.New(rand.NewPCG(9, 10))
	plain := 0
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(pieces[r.IntN(min(len(pieces), 8<<r.IntN(4)))])
		}
		s := b.String()
		var want bytes.Buffer
		if err := reference.Execute(&want, s); err != nil {
			t.Fatal(err)
		}
		if got, err := address(s); err != nil || `<a href="`+got+`">` != want.String() {
			t.Fatalf("address(%q) = %q, %v, want %s", s, got, err, want.String())
		}
		if isPlainAddress(s) {
			plain++
		}
	}
	if plain < 100 {
		t.Errorf("only %d addresses were plain", plain)
	}
}

// TestOneLine holds the quick look at a text against what it stands for.
func TestOneLine(t *testing.T) {
	for _, s := range append(hostile, " ", "a ", " a", "a b", "a  b", "a\tb", "a\u00a0b", "a\u2003", "\u0085", "a\u0085b", "\xffa\xa0 ", "a\nb c") {
		if got, want := oneLine(s), strings.Join(strings.Fields(s), " "); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", s, got, want)
		}
	}
}
