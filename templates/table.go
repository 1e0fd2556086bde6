package templates

import (
	"strings"
	"unicode/utf8"
)

// Wide begins the box in which a table scrolls by itself and by the keyboard; </div> ends it.
const Wide = `<div class="wide" tabindex="0" role="group" aria-label="A table, which may scroll">`

// maxWord is the longest word, in characters, that a table shows whole.
const maxWord = 40

// narrow shortens the words of a table's cell that are longer than maxWord in the middle, so that no name of a stranger's
// can widen a table, and reports whether there were any: then the whole text belongs into the title. The end of a name is
// kept, since that of a host says whose it is.
func narrow(s string) (shown string, cut bool) {
	if len(s) <= maxWord {
		return s, false
	}
	words := strings.Split(s, " ")
	for i, w := range words {
		if utf8.RuneCountInString(w) > maxWord {
			r := []rune(w)
			words[i], cut = string(r[:maxWord/2-1])+"…"+string(r[len(r)-maxWord/2:]), true
		}
	}
	return strings.Join(words, " "), cut
}

// narrowed is a text as a cell of a table holds it. Every table that is not made by tableRows uses it for what it did not
// write itself.
func narrowed(s string) Markup { return Markup(appendNarrow(make([]byte, 0, len(s)+16), s)) }

func appendNarrow(b []byte, s string) []byte {
	shown, cut := narrow(s)
	if !cut {
		return escaped(b, s)
	}
	return weave(b, `<span title="`, s, `">`, shown, "</span>")
}

// tableRows is the rows of a table. Like the lists of a host's page they are written in Go: the list of all hosts is
// made of them.
func tableRows(t *Table) (Markup, error) {
	b := make([]byte, 0, 160*len(t.Rows))
	for _, row := range t.Rows {
		b = append(b, "<tr>"...)
		for i, c := range row {
			open, end := "<td", "</td>"
			if i == 0 {
				open, end = `<th scope="row"`, "</th>"
			}
			b = append(b, open...)
			if class := classes(c, t.Head[i]); class != "" {
				b = append(escaped(append(b, ` class="`...), class), '"')
			}
			b = append(b, '>')
			if c.Href == "" {
				b = appendNarrow(b, c.Text)
			} else {
				a, err := address(c.Href)
				if err != nil {
					return "", err
				}
				b = append(append(append(b, `<a href="`...), a...), '"')
				shown, cut := narrow(c.Text)
				if cut {
					b = append(escaped(append(b, ` title="`...), c.Text), '"')
				}
				b = append(escaped(append(b, '>'), shown), "</a>"...)
			}
			b = append(b, end...)
		}
		b = append(b, "</tr>\n"...)
	}
	return Markup(b), nil
}

// tableText is the same rows in Markdown.
func tableText(t *Table) string {
	b := make([]byte, 0, 96*len(t.Rows))
	for _, row := range t.Rows {
		b = append(b, '|')
		for _, c := range row {
			if c.Href == "" {
				b = append(append(append(b, ' '), said(c.Text)...), " |"...)
				continue
			}
			b = append(append(append(b, " ["...), said(c.Text)...), "]("...)
			b = append(append(b, c.Href...), ") |"...)
		}
		b = append(b, '\n')
	}
	return string(b)
}
