package templates

import (
	"strconv"

	"agentstore/corpus/derive"
)

// The pages of which there are many are written here and in the files beside it and not by actions of a template, each of
// which costs more than the line that it makes. Every writer appends to a slice and returns it.

// weave appends markup and text by turns: the first part is markup, the second a text to be escaped, the third markup again.
func weave(b []byte, parts ...string) []byte {
	for i, s := range parts {
		if i%2 == 0 {
			b = append(b, s...)
		} else {
			b = escaped(b, s)
		}
	}
	return b
}

// add appends parts as they are.
func add(b []byte, parts ...string) []byte {
	for _, s := range parts {
		b = append(b, s...)
	}
	return b
}

// markupEscapes are what html/template writes for some bytes between tags and in quoted attributes, and markupEscape is
// which of them it is for a byte: the first for the byte itself.
var (
	markupEscapes = [...]string{"", "\uFFFD", "&#34;", "&amp;", "&#39;", "&#43;", "&lt;", "&gt;"}
	markupEscape  = [256]uint8{0: 1, '"': 2, '&': 3, '\'': 4, '+': 5, '<': 6, '>': 7}
)

// escaped appends text as html/template writes it between tags and in quoted attributes.
func escaped(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		if n := markupEscape[s[i]]; n != 0 {
			b = append(append(b, s[from:i]...), markupEscapes[n]...)
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}

// facts is a list of facts.
func facts(list []Fact) Markup { return Markup(appendFacts(make([]byte, 0, 64+128*len(list)), list)) }

func appendFacts(b []byte, list []Fact) []byte {
	b = append(b, "<dl class=\"facts\">\n"...)
	for i := range list {
		f := &list[i]
		open := "</dt><dd>"
		if f.Mono {
			open = `</dt><dd class="mono">`
		}
		b = weave(b, "<dt>", f.Name, open, f.Value, "</dd>\n")
	}
	return append(b, "</dl>\n"...)
}

// appendTimeline is the rows of a host's table.
func appendTimeline(b []byte, lines []TimelineLine) []byte {
	for i := range lines {
		l := &lines[i]
		b = weave(b, `<tr><th scope="row" class="n">`, l.Week, `</th><td class="nowrap">`, l.Listed, `</td><td class="n">`, l.Probed)
		if l.Gap != "" {
			b = weave(b, `<br><span class="faint">`, l.Gap, `</span>`)
		}
		b = weave(b, `</td><td class="n `, l.Mark, `">`, l.Verdict, `</td><td class="nowrap">`, l.Protocols, `</td><td class="mono">`, l.Failed,
			`</td><td><a class="n" href="`)
		b = append(derive.AppendRoundPath(b, l.Sequence), `">`...)
		b = append(strconv.AppendInt(b, l.Sequence, 10), "</a></td></tr>\n"...)
	}
	return b
}

// appendTimelineText is the same rows in Markdown.
func appendTimelineText(b []byte, lines []TimelineLine) []byte {
	for i := range lines {
		l := &lines[i]
		b = add(b, "| ", l.Week, " | ", l.Listed, " | ", l.Probed, " ")
		if l.Gap != "" {
			b = add(b, "(", l.Gap, ") ")
		}
		b = add(b, "| ", l.Verdict, " | ", cell(l.Protocols), " | ", cell(l.Failed), " | [")
		b = append(strconv.AppendInt(b, l.Sequence, 10), "]("...)
		b = append(derive.AppendRoundPath(b, l.Sequence), ") |\n"...)
	}
	return b
}

// appendFactsText is a list of facts in Markdown, each on a line.
func appendFactsText(b []byte, list []Fact) []byte {
	for i := range list {
		f := &list[i]
		b = append(append(append(b, "- "...), said(f.Name)...), ": "...)
		if f.Mono {
			b = appendCode(b, f.Value)
		} else {
			b = append(b, said(f.Value)...)
		}
		b = append(b, '\n')
	}
	return b
}
