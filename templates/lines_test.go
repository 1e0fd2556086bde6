package templates

import (
	"bytes"
	"html/template"
	"strings"
	"testing"
)

// hostile are texts in which markup, quotes and what is no text stand.
var hostile = []string{"", "plain", `<a href="x">'+&amp;+'</a>`, "\x00\xff\xfe", "ü–○|`*", strings.Repeat("<&>", 100)}

// TestLinesAreWhatATemplateWrites holds the lists that are written in Go against the same lists as a template.
func TestLinesAreWhatATemplateWrites(t *testing.T) {
	reference := template.Must(template.New("").Parse(`{{define "facts"}}<dl class="facts">
{{range .}}<dt>{{.Name}}</dt><dd{{if .Mono}} class="mono"{{end}}>{{.Value}}</dd>
{{end}}</dl>
{{end}}{{define "timeline"}}{{range .}}<tr><th scope="row" class="n">{{.Week}}</th><td class="nowrap">{{.Listed}}</td><td class="n">{{.Probed}}{{with .Gap}}<br><span class="faint">{{.}}</span>{{end}}</td><td class="n {{.Mark}}">{{.Verdict}}</td><td class="nowrap">{{.Protocols}}</td><td class="mono">{{.Failed}}</td><td><a class="n" href="{{.Entry}}">{{.Sequence}}</a></td></tr>
{{end}}{{end}}`))
	var list []Fact
	var lines []TimelineLine
	for i, s := range hostile {
		list = append(list, Fact{Name: s, Value: hostile[len(hostile)-1-i], Mono: i%2 == 0})
		lines = append(lines, TimelineLine{Week: s, Listed: s, Probed: s, Gap: s, Verdict: s, Mark: s, Protocols: s, Failed: s, Sequence: int64(i), Entry: "/corpus/7.json"})
	}
	for name, c := range map[string]struct {
		data any
		got  Markup
	}{"facts": {list, facts(list)}, "timeline": {lines, timeline(lines)}} {
		var want bytes.Buffer
		if err := reference.ExecuteTemplate(&want, name, c.data); err != nil {
			t.Fatal(err)
		}
		if string(c.got) != want.String() {
			t.Errorf("%s: %q\nwant %q", name, c.got, want.String())
		}
	}
}

// TestLinesInMarkdown: no value ends its line or its cell.
func TestLinesInMarkdown(t *testing.T) {
	got := timelineText([]TimelineLine{{Week: "2026-W47", Listed: "listed", Probed: "not_walked", Gap: "control_failed", Verdict: "–", Protocols: "a|b\nc", Failed: "–", Sequence: 7, Entry: "/corpus/7.json"}})
	if want := "| 2026-W47 | listed | not_walked (control_failed) | – | a\\|b c | – | [7](/corpus/7.json) |\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = factsText([]Fact{{Name: "Tier", Value: "standing"}, {Name: "Digest", Value: "00ff", Mono: true}})
	if want := "- Tier: standing\n- Digest: `00ff`\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
