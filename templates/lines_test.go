package templates

import (
	"strings"
	"testing"
)

// hostile are texts in which markup, quotes and what is no text stand.
var hostile = []string{"", "plain", `<a href="x">'+&amp;+'</a>`, "\x00\xff\xfe", "ü–○|`*", " a\n\n\n```\n\n\nb\t\n ",
	"```\n", strings.Repeat("<&>", 100),
	"\x1b[31m\x7f\u0085\u2028\u202egnol\u2066\ufeff", "javascript:alert(1)", "1. [a](/b) ![c](/d)", "``a|b` c",
	"url=//evil.example?a='b'", "</title></script><!--"}

// TestLinesInMarkdown: no value ends its line or its cell.
func TestLinesInMarkdown(t *testing.T) {
	got, err := renderText("host.md", &HostView{Chrome: &Chrome{}, Timeline: []TimelineLine{{Week: "2026-W47",
		Listed: "listed", Probed: "not_walked", Gap: "control_failed", Verdict: "–", Protocols: "a|b\nc", Failed: "–",
		Sequence: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "| 2026-W47 | listed | not_walked (control_failed) | – | a\\|b c | – | [7](/corpus/7.json) " +
		"|\n"; !strings.Contains(string(got), want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOneLine holds the quick look at a text against what it stands for.
func TestOneLine(t *testing.T) {
	for _, s := range append(hostile, " ", "a ", " a", "a b", "a  b", "a\tb", "a\u00a0b", "a\u2003", "\u0085",
		"a\u0085b", "\xffa\xa0 ", "a\nb c") {
		if got, want := oneLine(s), strings.Join(strings.Fields(s), " "); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", s, got, want)
		}
	}
}
