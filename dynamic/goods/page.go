package goods

import "context"

// PageDelivered is a page that was paid for. The salt lets its buyer show that the index committed
// to this body.
type PageDelivered struct {
	Title      string `json:"title"`
	URL        string `json:"url"`
	Published  string `json:"published"` // UTC date
	Body       string `json:"body"`      // Markdown
	Digest     string `json:"digest"`    // SHA-256 in hex of salt and body
	Salt       string `json:"salt"`      // 32 bytes in hex
	HowToCheck string `json:"how_to_check"`
}

// PageName is the name of that kind.
const PageName = "page"

// PageKind is the kind of a page whose body is given.
func PageKind(p PageDelivered) Kind {
	return Kind{Name: PageName, Delivers: PageDelivered{}, Make: func(context.Context, Maker, *Order) (*Made, error) {
		m := &Made{Message: p.Title + ", as it was published on " + p.Published + "."}
		m.Deliver(PageName, p)
		return m, nil
	}}
}
