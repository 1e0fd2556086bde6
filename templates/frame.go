package templates

import (
	"bytes"
	"html/template"
	"strings"
)

// top is what every page begins with, up to its own words. Like the lists of a host's page it is written in Go, since it
// stands on every page.
func top(p Page, c *Chrome) (Markup, error) {
	b, err := appendTop(make([]byte, 0, 2<<10), &p, c)
	return Markup(b), err
}

func appendTop(b []byte, p *Page, c *Chrome) ([]byte, error) {
	b = append(b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>`...)
	b = escaped(b, p.Title)
	if p.Title != c.Title {
		b = weave(b, " · ", c.Title)
	}
	b = append(b, "</title>\n"...)
	if p.Summary != "" {
		b = weave(b, `<meta name="description" content="`, p.Summary, "\">\n")
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
			return nil, err
		}
		b = add(b, l.begin, a, "\">\n")
	}
	b = append(b, `<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
`...)
	return add(b, string(p.Reload), "</head>\n<body>\n", string(c.HeaderOn(p.Path)), "<main id=\"main\">\n"), nil
}

// appendTitle is the page's heading, with the sentence below it.
func appendTitle(b []byte, p *Page) []byte {
	b = weave(b, "<h1>", p.Title, "</h1>\n")
	if p.Summary != "" {
		b = weave(b, `<p class="lede">`, p.Summary, "</p>\n")
	}
	return b
}

// bottom is what every page ends with.
func bottom(p Page, c *Chrome) (Markup, error) {
	b, err := appendBottom(make([]byte, 0, 1<<10), &p, c)
	return Markup(b), err
}

func appendBottom(b []byte, p *Page, c *Chrome) ([]byte, error) {
	b = add(b, "</main>\n<footer class=\"foot\">\n", string(c.Footer))
	begin := "This page "
	for _, l := range []struct{ address, words string }{{p.Twin, "in Markdown"}, {p.Data, "as JSON"}} {
		if l.address == "" {
			continue
		}
		a, err := address(l.address)
		if err != nil {
			return nil, err
		}
		if begin == "This page " {
			b = append(b, "<p>"...)
		}
		b = add(b, begin, `<a href="`, a, `">`, l.words, "</a>")
		begin = ", "
	}
	if p.Made != "" {
		if begin == "This page " {
			b = append(b, "<p>Made"...)
		} else {
			b = append(b, " · made"...)
		}
		b = weave(b, ` from <code class="digest" title="`, p.Made, `">`, Short(p.Made), "</code>")
	}
	if p.Twin != "" || p.Data != "" || p.Made != "" {
		b = append(b, "</p>\n"...)
	}
	return append(b, "</footer>\n</body>\n</html>\n"...), nil
}

// link writes an address as html/template does, which knows what is no address.
var link = template.Must(template.New("").Parse(`<a href="{{.}}">`))

// address is an address as it stands in an attribute.
func address(s string) (string, error) {
	if isPlainAddress(s) {
		return s, nil
	}
	var b bytes.Buffer
	if err := link.Execute(&b, s); err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `<a href="`), `">`), nil
}

// isPlainAddress reports whether an address is one and needs no escape: what follows its scheme begins with a slash.
func isPlainAddress(s string) bool {
	path := strings.TrimPrefix(strings.TrimPrefix(s, "https:"), "http:")
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '/', c == '.', c == '_', c == '-', c == ':':
		default:
			return false
		}
	}
	return strings.HasPrefix(path, "/")
}
