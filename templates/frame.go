package templates

import (
	"bytes"
	"html/template"
	"strings"
)

// top is what every page begins with, up to its own words. Like the lists of a host's page it is written in Go, since it
// stands on every page.
func top(p Page, c *Chrome) (Markup, error) {
	b := make([]byte, 0, 2<<10)
	b = append(b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>`...)
	b = escaped(b, p.Title)
	if p.Title != c.Title {
		b = escaped(append(b, " · "...), c.Title)
	}
	b = append(b, "</title>\n"...)
	if p.Summary != "" {
		b = append(escaped(append(b, `<meta name="description" content="`...), p.Summary), "\">\n"...)
	}
	links := []struct{ begin, address string }{{`<link rel="canonical" href="`, c.BaseURL + p.Path},
		{`<link rel="alternate" type="text/markdown" href="`, p.Twin}, {`<link rel="alternate" type="application/json" href="`, p.Data}}
	if p.NoIndex {
		b = append(b, "<meta name=\"robots\" content=\"noindex\">\n"...)
		links = links[1:]
	}
	for _, l := range links {
		if l.address == "" {
			continue
		}
		a, err := address(l.address)
		if err != nil {
			return "", err
		}
		b = append(append(append(b, l.begin...), a...), "\">\n"...)
	}
	b = append(b, `<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
`...)
	b = append(append(b, p.Reload...), "</head>\n<body>\n"...)
	return Markup(append(append(b, c.Header...), "<main id=\"main\">\n"...)), nil
}

// bottom is what every page ends with.
func bottom(p Page, c *Chrome) (Markup, error) {
	b := make([]byte, 0, 1<<10)
	b = append(append(b, "</main>\n<footer class=\"foot\">\n"...), c.Footer...)
	begin := "This page "
	for _, l := range []struct{ address, words string }{{p.Twin, "in Markdown"}, {p.Data, "as JSON"}} {
		if l.address == "" {
			continue
		}
		a, err := address(l.address)
		if err != nil {
			return "", err
		}
		if begin == "This page " {
			b = append(b, "<p>"...)
		}
		b = append(append(append(b, begin...), `<a href="`...), a...)
		b = append(append(append(b, `">`...), l.words...), "</a>"...)
		begin = ", "
	}
	if p.Made != "" {
		if begin == "This page " {
			b = append(b, "<p>Made"...)
		} else {
			b = append(b, " · made"...)
		}
		b = escaped(append(b, ` from <code class="digest" title="`...), p.Made)
		b = append(escaped(append(b, `">`...), Short(p.Made)), "</code>"...)
	}
	if p.Twin != "" || p.Data != "" || p.Made != "" {
		b = append(b, "</p>\n"...)
	}
	return Markup(append(b, "</footer>\n</body>\n</html>\n"...)), nil
}

// link writes an address as html/template does, which knows what is no address.
var link = template.Must(template.New("").Parse(`<a href="{{.}}">`))

// address is an address as it stands in an attribute.
func address(s string) (string, error) {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-", r)
	}
	path := strings.TrimPrefix(strings.TrimPrefix(s, "https:"), "http:")
	if strings.HasPrefix(path, "/") && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return s, nil
	}
	var b bytes.Buffer
	if err := link.Execute(&b, s); err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `<a href="`), `">`), nil
}
