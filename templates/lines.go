package templates

import (
	"strconv"
	"strings"
)

// The lists that a host's page consists of are written here and not by actions of a template, each of which costs more
// than the line that it makes: a record has many such pages. What stands between them is in html/host.html.

// escaped appends text as html/template writes it between tags and in quoted attributes.
func escaped(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		var with string
		switch s[i] {
		case 0:
			with = "\uFFFD"
		case '"':
			with = "&#34;"
		case '&':
			with = "&amp;"
		case '\'':
			with = "&#39;"
		case '+':
			with = "&#43;"
		case '<':
			with = "&lt;"
		case '>':
			with = "&gt;"
		default:
			continue
		}
		b = append(append(b, s[from:i]...), with...)
		from = i + 1
	}
	return append(b, s[from:]...)
}

// facts is a list of facts.
func facts(list []Fact) Markup {
	b := make([]byte, 0, 64+128*len(list))
	b = append(b, "<dl class=\"facts\">\n"...)
	for _, f := range list {
		b = append(escaped(append(b, "<dt>"...), f.Name), "</dt><dd"...)
		if f.Mono {
			b = append(b, ` class="mono"`...)
		}
		b = append(escaped(append(b, '>'), f.Value), "</dd>\n"...)
	}
	return Markup(append(b, "</dl>\n"...))
}

// timeline is the rows of a host's table.
func timeline(lines []TimelineLine) Markup {
	b := make([]byte, 0, 256*len(lines))
	for _, l := range lines {
		b = escaped(append(b, `<tr><th scope="row" class="n">`...), l.Week)
		b = escaped(append(b, `</th><td class="nowrap">`...), l.Listed)
		b = escaped(append(b, `</td><td class="n">`...), l.Probed)
		if l.Gap != "" {
			b = append(escaped(append(b, `<br><span class="faint">`...), l.Gap), `</span>`...)
		}
		b = escaped(append(b, `</td><td class="n `...), l.Mark)
		b = escaped(append(b, `">`...), l.Verdict)
		b = escaped(append(b, `</td><td class="nowrap">`...), l.Protocols)
		b = escaped(append(b, `</td><td class="mono">`...), l.Failed)
		b = escaped(append(b, `</td><td><a class="n" href="`...), l.Entry)
		b = append(strconv.AppendInt(append(b, `">`...), l.Sequence, 10), "</a></td></tr>\n"...)
	}
	return Markup(b)
}

// timelineText is the same rows in Markdown.
func timelineText(lines []TimelineLine) string {
	b := make([]byte, 0, 128*len(lines))
	for _, l := range lines {
		for _, s := range []string{l.Week, l.Listed, l.Probed} {
			b = append(append(b, "| "...), s...)
			b = append(b, ' ')
		}
		if l.Gap != "" {
			b = append(append(append(b, '('), l.Gap...), ") "...)
		}
		for _, s := range []string{l.Verdict, cell(l.Protocols), cell(l.Failed)} {
			b = append(append(b, "| "...), s...)
			b = append(b, ' ')
		}
		b = append(strconv.AppendInt(append(b, "| ["...), l.Sequence, 10), "]("...)
		b = append(append(b, l.Entry...), ") |\n"...)
	}
	return string(b)
}

// factsText is a list of facts in Markdown, each on a line.
func factsText(list []Fact) string {
	var b strings.Builder
	for _, f := range list {
		mark := ""
		if f.Mono {
			mark = "`"
		}
		b.WriteString("- " + f.Name + ": " + mark + f.Value + mark + "\n")
	}
	return b.String()
}
