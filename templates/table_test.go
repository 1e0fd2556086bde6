package templates

import (
	"bytes"
	"html/template"
	"strings"
	"testing"
	texttemplate "text/template"
)

// TestTableIsWhatATemplateWrites holds the rows that are written in Go against the same rows as templates.
func TestTableIsWhatATemplateWrites(t *testing.T) {
	shown := func(s string) string { short, _ := narrow(s); return short }
	cut := func(s string) bool { _, cut := narrow(s); return cut }
	html := template.Must(template.New("table").Funcs(map[string]any{"classes": classes, "shown": shown, "cut": cut}).Parse(`{{define "cellclass"}}{{with .}} class="{{.}}"{{end}}{{end}}` +
		`{{define "cell"}}{{if .Href}}<a href="{{.Href}}"{{if cut .Text}} title="{{.Text}}"{{end}}>{{shown .Text}}</a>{{else if cut .Text}}<span title="{{.Text}}">{{shown .Text}}</span>{{else}}{{.Text}}{{end}}{{end}}` +
		`{{$head := .Head}}{{range .Rows}}<tr>{{range $i, $c := .}}{{if $i}}<td{{template "cellclass" (index $head $i | classes $c)}}>{{template "cell" $c}}</td>{{else}}<th scope="row"{{template "cellclass" (index $head $i | classes $c)}}>{{template "cell" $c}}</th>{{end}}{{end}}</tr>
{{end}}`))
	text := texttemplate.Must(texttemplate.New("table").Funcs(map[string]any{"said": said}).Parse(`{{range .Rows}}|{{range .}} {{if .Href}}[{{said .Text}}]({{.Href}}){{else}}{{said .Text}}{{end}} |{{end}}
{{end}}`))
	table := &Table{Head: heads("One", "#Two", "Three")}
	for i, s := range hostile {
		for _, href := range []string{"", "/corpus/host/a.example", "javascript:alert(1)", "/a b?c=\"<d>", s} {
			table.Rows = append(table.Rows, []Cell{{Text: s, Href: href, Mono: i%2 == 0}, {Text: s, Mono: true, Mark: "good"}, {Text: s, Href: href, Mark: s}})
		}
	}
	got, err := tableRows(table)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := html.Execute(&want, table); err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("%s\nwant %s", got, want.String())
	}
	want.Reset()
	if err := text.Execute(&want, table); err != nil {
		t.Fatal(err)
	}
	if got := tableText(table); got != want.String() {
		t.Errorf("%s\nwant %s", got, want.String())
	}
}

// TestTablesShortenNames: no word of a cell is longer than maxWord, its whole stands in a title, and the end of a name is
// kept. The twin has it whole.
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
	table := &Table{Head: heads("Host", "Rails"), Rows: [][]Cell{{{Text: name, Href: "/corpus/host/x", Mono: true}, mono(name)}}}
	rows, err := tableRows(table)
	if err != nil || strings.Count(string(rows), `title="`+name+`"`) != 2 || strings.Count(string(rows), name) != 2 {
		t.Errorf("%v: %s", err, rows)
	}
	if text := tableText(table); strings.Count(text, name) != 2 {
		t.Errorf("the twin shortens: %s", text)
	}
	// A list may wrap, a name may not.
	if got := classes(mono(strings.Repeat("eip155:1, ", 20)), Column{}); got != "mono" {
		t.Errorf("a long list is of the class %q", got)
	}
}
