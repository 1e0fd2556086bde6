package templates

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
				b = escaped(b, c.Text)
			} else {
				a, err := address(c.Href)
				if err != nil {
					return "", err
				}
				b = append(append(append(b, `<a href="`...), a...), `">`...)
				b = append(escaped(b, c.Text), "</a>"...)
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
