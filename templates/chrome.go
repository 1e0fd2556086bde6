package templates

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// Prose is text by the keeper in both of its forms.
type Prose struct {
	Markdown string
	HTML     template.HTML
}

// Link is a link with the words it hangs on.
type Link struct {
	Text, Href string
	// Also are addresses beside Href below which the pages of this link stand. Only the header
	// knows them.
	Also []string
}

// leads reports whether a link of the header is that of the page at an address, and of it or of one
// above it.
func (l Link) leads(page string) (it, above bool) {
	above = isBelow(page, l.Href) || slices.ContainsFunc(l.Also, func(at string) bool { return isBelow(page, at) })
	return l.Href == page, above
}

// isBelow reports whether a page stands at an address or below it.
func isBelow(page, at string) bool {
	rest, is := strings.CutPrefix(page, at)
	return is && (rest == "" || rest[0] == '/')
}

// Chrome is what all pages of one site share: name, navigation and the lines at the foot. It is
// completed once by [NewChrome] and may be shared by any number of goroutines. Its fields are its
// own and not those of a struct in it: a template finds those by a search of all, for each use.
type Chrome struct {
	Title, Tagline string
	// BaseURL is the site's address without a slash at its end.
	BaseURL string
	Keeper  string
	Contact string
	// Nav holds links that exist on the site, in the order of the header.
	Nav []Link
	// PublicKey is the identity key in hex, KID its thumbprint (RFC 7638).
	PublicKey, KID string
	// Specimen says that the private half of the key is public by design.
	Specimen bool
	// Date is the date of the site.
	Date time.Time

	// Header, Footer and Picture are their finished markup. Header marks no page; HeaderOn does.
	// Picture is of the site, which others show beside a link to a page without one of its own.
	Header, Footer, Picture template.HTML

	marked []markedHeader // one for each link of Nav
}

// markedHeader is the header on the page that a link leads to, and on those below it.
type markedHeader struct{ on, below template.HTML }

// HeaderOn is the header of the page at a path: the link that leads to it, or to what it stands
// below, is marked.
func (c *Chrome) HeaderOn(page string) template.HTML {
	for i, m := range c.marked {
		if it, above := c.Nav[i].leads(page); it {
			return m.on
		} else if above {
			return m.below
		}
	}
	return c.Header
}

// NewChrome renders the header, the footer and the picture of a Chrome that has everything else.
func NewChrome(c Chrome) (*Chrome, error) {
	c.marked = make([]markedHeader, len(c.Nav))
	type view struct {
		*Chrome
		Page          Page
		Current, Mark string
	}
	type part struct {
		name string
		view view
		into *template.HTML
	}
	parts := []part{{"header", view{Chrome: &c}, &c.Header}, {"footer", view{Chrome: &c}, &c.Footer},
		{"picture", view{Chrome: &c}, &c.Picture}}
	for i, l := range c.Nav {
		parts = append(parts, part{"header", view{Chrome: &c, Current: l.Href, Mark: "page"}, &c.marked[i].on},
			part{"header", view{Chrome: &c, Current: l.Href, Mark: "true"}, &c.marked[i].below})
	}
	for _, p := range parts {
		var b bytes.Buffer
		if err := htmlPages.ExecuteTemplate(&b, p.name, p.view); err != nil {
			return nil, fmt.Errorf("rendering the %s: %w", p.name, err)
		}
		*p.into = template.HTML(b.String())
	}
	return &c, nil
}

// Day is the site's date as YYYY-MM-DD.
func (c *Chrome) Day() string { return c.Date.Format(time.DateOnly) }

// Page says which page a view is of.
type Page struct {
	// Title is the page's one h1 and its name in the tab.
	Title string
	// Summary is one sentence of plain text.
	Summary string
	// Path is the page's address below the base URL, "/menu/hello".
	Path string
	// Twin is the address of the Markdown twin, "" for none.
	Twin string
	// Data is the address of the JSON twin, "" for none.
	Data string
	// Feed is the address of an Atom feed of what changes on the page, "" for none.
	Feed string
	// Made is the digest in hex of what the page was made from; the foot of
	// the page shows it.
	Made string
	// About describes what the page is about in the words of schema.org, as LinkedData makes it, ""
	// for nothing. Browsers do not run it, so that the policy on scripts lets it be.
	About Markup
	// NoIndex keeps the page out of search engines.
	NoIndex bool
	// Reload is a script for the head, set while the site is being edited and
	// never in what is published.
	Reload template.HTML
}
