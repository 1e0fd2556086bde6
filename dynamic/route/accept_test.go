package route

import "testing"

func TestNegotiate(t *testing.T) {
	const html, md, js = "text/html", "text/markdown", "application/json"
	pageFirst := []string{html, md}
	jsonFirst := []string{js, md, html}
	for _, c := range []struct {
		accept string
		offers []string
		want   string
	}{
		{"", pageFirst, html},
		{"*/*", pageFirst, html},
		{"*/*", jsonFirst, js},
		{"text/markdown", pageFirst, md},
		{"text/html", jsonFirst, html},
		// What browsers send.
		{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", jsonFirst, html},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", pageFirst, html},
		// What agents send.
		{"text/markdown, text/html, */*", pageFirst, md},
		{"text/markdown, text/html, */*", jsonFirst, md},
		{"text/html, text/markdown", pageFirst, html},
		{"application/json, text/plain, */*", jsonFirst, js},
		{"text/markdown;q=0.1,text/html", pageFirst, html},
		{"text/markdown;q=0.9,text/html;q=0.8", pageFirst, md},
		{"text/markdown, */*;q=0.1", jsonFirst, md},
		{"TEXT/Markdown", pageFirst, md},
		// The most specific range decides about a type.
		{"text/*;q=0.9, text/html;q=0.1", pageFirst, md},
		{"text/html;q=0, */*", pageFirst, md},
		{"*/*, application/json;q=0.5", jsonFirst, md},
		{"text/html;level=1;q=0.3, text/markdown;q=0.4", pageFirst, md},
		// Nothing fits: the default. Refused is refused.
		{"image/png", pageFirst, html},
		{"text/html;q=0", pageFirst, md},
		{"text/html;q=0, text/markdown;q=0", pageFirst, ""},
		{"*/*;q=0", jsonFirst, ""},
		{"text/html;q=2, text/markdown;q=0.5", pageFirst, md},
		{",,;q=1,", pageFirst, html},
	} {
		i := Negotiate(c.accept, c.offers)
		got := ""
		if i >= 0 {
			got = c.offers[i]
		}
		if got != c.want {
			t.Errorf("Negotiate(%q, %v) = %q, want %q", c.accept, c.offers, got, c.want)
		}
	}
}
