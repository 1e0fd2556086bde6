package templates

import (
	"bytes"
	"fmt"
	"html/template"
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
}

// Chrome is what all pages of one site share: name, navigation and the lines
// at the foot. It is made once by [NewChrome] and may be shared by any number
// of goroutines.
type Chrome struct {
	ChromeView
	// Header and Footer are their finished markup.
	Header, Footer template.HTML
}

// ChromeView is what a Chrome is made from.
type ChromeView struct {
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
}

// NewChrome renders what the pages share.
func NewChrome(v ChromeView) (*Chrome, error) {
	c := &Chrome{ChromeView: v}
	for _, part := range []struct {
		name string
		into *template.HTML
	}{{"header", &c.Header}, {"footer", &c.Footer}} {
		var b bytes.Buffer
		if err := htmlPages.ExecuteTemplate(&b, part.name, v); err != nil {
			return nil, fmt.Errorf("rendering the %s: %w", part.name, err)
		}
		*part.into = template.HTML(b.String())
	}
	return c, nil
}

// Day is the site's date as YYYY-MM-DD.
func (v ChromeView) Day() string { return v.Date.Format(time.DateOnly) }

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
	// Made is the digest in hex of what the page was made from; the foot of
	// the page shows it.
	Made string
	// NoIndex keeps the page out of search engines.
	NoIndex bool
	// Reload is a script for the head, set while the site is being edited and
	// never in what is published.
	Reload template.HTML
}
