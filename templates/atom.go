package templates

import (
	"encoding/xml"
	"fmt"
)

// AtomType is the media type of a feed, without a parameter.
const AtomType = "application/atom+xml"

// MaxFeed is how many entries a feed lists, the newest.
const MaxFeed = 100

// Feed is an Atom feed (RFC 4287) of what changes on a page, the newest first. All addresses in it
// are whole.
type Feed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"` // the feed's own address
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"` // RFC 3339
	Author  FeedAuthor  `xml:"author"`
	Rights  string      `xml:"rights,omitempty"` // the name of a licence
	Links   []FeedLink  `xml:"link"`
	Entries []FeedEntry `xml:"entry"`
}

// FeedAuthor is who speaks in a feed.
type FeedAuthor struct {
	Name string `xml:"name"`
	URI  string `xml:"uri"`
}

// FeedLink is a link of a feed or of an entry.
type FeedLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

// FeedEntry is one change.
type FeedEntry struct {
	ID      string     `xml:"id"`
	Title   string     `xml:"title"`
	Updated string     `xml:"updated"` // RFC 3339
	Links   []FeedLink `xml:"link"`
	Summary string     `xml:"summary"` // plain text
}

// FeedHead says whose feed it is: its address, the page that it follows, its title, and when that
// began, RFC 3339.
type FeedHead struct {
	Self  string
	Page  string
	Title string
	Began string
}

// NewFeed is the feed at an address of what changes on a page; without entries it is as old as
// began, RFC 3339.
func NewFeed(h FeedHead, author FeedAuthor, entries []FeedEntry) Feed {
	f := Feed{ID: h.Self, Title: h.Title, Updated: h.Began, Author: author,
		Entries: entries[:min(len(entries), MaxFeed)],
		Links: []FeedLink{{Rel: "self", Type: AtomType, Href: h.Self},
			{Rel: "alternate", Type: "text/html", Href: h.Page}}}
	if len(entries) > 0 {
		f.Updated = entries[0].Updated
	}
	return f
}

// Atom is the feed in XML. What XML cannot hold is replaced by U+FFFD.
func (f Feed) Atom() ([]byte, error) {
	body, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		return nil, fmt.Errorf("rendering the feed %s: %w", f.ID, err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}
