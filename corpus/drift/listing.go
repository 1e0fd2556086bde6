package drift

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

// The bounds of what facilitators are asked about one door.
const (
	MaxFacilitators = 4
	MaxPayTos       = 4   // addresses that one door wants to be paid at
	listingLimit    = 100 // resources of one answer
)

// A Listing is what a facilitator lists of who is paid at an address: its own words, which a buyer
// finds doors by.
type Listing struct {
	URL   string `json:"url"` // that was asked
	PayTo string `json:"pay_to"`
	// Total is how many resources it says that it lists, -1 where it does not say.
	Total int `json:"total"`
	// Listed says that the door is among those that it named.
	Listed bool `json:"listed"`
}

// PayTos are the addresses that a door wants to be paid at by x402, at most MaxPayTos.
func (l Live) PayTos() []string {
	var out []string
	for _, t := range l.terms {
		if to := t.payTo.text; t.protocol == X402 && to != "" && len(to) <= maxShown && !slices.Contains(out, to) &&
			len(out) < MaxPayTos {
			out = append(out, to)
		}
	}
	return out
}

// ListingURL is where a facilitator tells what it lists of an address, below its own.
func ListingURL(facilitator, payTo string) string {
	return strings.TrimSuffix(facilitator, "/") + "/discovery/merchant?" +
		url.Values{"limit": {fmt.Sprint(listingLimit)}, "payTo": {payTo}}.Encode()
}

// AddListings holds what facilitators answered at ListingURL against the door, as a declaration of
// its own. An address of which one lists nothing has no claim, and contradicts nothing.
func (r *Report) AddListings(door string, live Live, answers []exchange.Exchange) error {
	at, err := url.Parse(door)
	if err != nil {
		return fmt.Errorf("comparing listings: %.200q is no door", door)
	}
	look := reading{door: at}
	for _, x := range answers {
		d := readDocument(Listed, x)
		asked, err := url.Parse(x.Request.URL)
		if err != nil {
			return fmt.Errorf("comparing listings: %w", err)
		}
		before := len(look.claims)
		look.add(d, listed)
		if d.problem != "" {
			continue
		}
		l := Listing{URL: d.url, PayTo: asked.Query().Get("payTo"), Total: -1, Listed: len(look.claims) > before}
		if d.absent {
			l.Total = 0
		} else if total, ok := d.value.get("pagination", "total").value.(float64); ok && total >= 0 && total < 1e9 {
			l.Total = int(total)
		}
		r.Listings = append(r.Listings, l)
	}
	more := look.report(live)
	r.Compared, r.Findings = append(r.Compared, more.Compared...), append(r.Findings, more.Findings...)
	r.Unread = append(r.Unread, more.Unread...)
	return nil
}
