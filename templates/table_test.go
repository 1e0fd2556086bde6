package templates

import (
	"bytes"
	"html/template"
	"testing"
	texttemplate "text/template"
)

// TestTableIsWhatATemplateWrites holds the rows that are written in Go against the same rows as templates.
func TestTableIsWhatATemplateWrites(t *testing.T) {
	html := template.Must(template.New("table").Funcs(map[string]any{"classes": classes}).Parse(`{{define "cellclass"}}{{with .}} class="{{.}}"{{end}}{{end}}` +
		`{{define "cell"}}{{if .Href}}<a href="{{.Href}}">{{.Text}}</a>{{else}}{{.Text}}{{end}}{{end}}` +
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
