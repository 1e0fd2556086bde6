package desk

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// maxFeed is how many of the newest changes a feed lists.
const maxFeed = 100

const atomType = "application/atom+xml; charset=utf-8"

// atomFeed is an Atom feed (RFC 4287).
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  atomPerson  `xml:"author"`
	Rights  string      `xml:"rights"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomPerson struct {
	Name string `xml:"name"`
	URI  string `xml:"uri"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string     `xml:"id"`
	Title   string     `xml:"title"`
	Updated string     `xml:"updated"`
	Links   []atomLink `xml:"link"`
	Summary string     `xml:"summary"`
}

// hostFeed answers with what changed in a host's rows, which is a function of the record alone.
func (d *Desk) hostFeed(w http.ResponseWriter, r *http.Request) error {
	host := strings.ToLower(strings.TrimSuffix(route.Inputs(r).String("host"), "."))
	never := &problem.Error{Code: "not_found", Detail: "No round of the record has named this host. That is a fact " +
		"about the store, not about the host.",
		Next: "GET " + d.cfg.BaseURL + "/api/why/{host} says whether the host is on the roster."}
	s := d.cfg.Archive.Now()
	if s == nil {
		return never
	}
	h, ok, err := s.History(host)
	if err != nil {
		return err
	}
	if !ok {
		return never
	}
	body, err := xml.MarshalIndent(d.feedOf(h, s.Rounds[0].TakenAt), "", " ")
	if err != nil {
		return err
	}
	body = append([]byte(xml.Header), append(body, '\n')...)
	head := w.Header()
	head.Set("Content-Type", atomType)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(body) // the client went away: nobody is left to tell
	return nil
}

// feedOf lists the newest change first. A host of which nothing was observed yet has an empty feed
// that is as old as the record.
func (d *Desk) feedOf(h derive.History, began string) atomFeed {
	page := d.cfg.BaseURL + derive.HostPath(h.Host)
	changes := derive.RowChanges(h)
	slices.Reverse(changes)
	f := atomFeed{ID: page + "/feed.xml", Title: h.Host + " in the record of x402 doors", Updated: began,
		Author: atomPerson{Name: d.host, URI: d.cfg.BaseURL + "/"}, Rights: derive.License,
		Links: []atomLink{{Rel: "self", Type: "application/atom+xml", Href: page + "/feed.xml"},
			{Rel: "alternate", Type: "text/html", Href: page}}}
	for i, c := range changes[:min(len(changes), maxFeed)] {
		if i == 0 {
			f.Updated = c.TakenAt
		}
		f.Entries = append(f.Entries, atomEntry{ID: page + "/feed.xml#" + c.Week, Title: c.Week + " " + c.Title,
			Updated: c.TakenAt, Summary: strings.Join(c.What, "\n") + "\nsigned row: leaf " +
				strconv.FormatInt(c.Leaf, 10) + " of the log",
			Links: []atomLink{{Rel: "alternate", Type: "text/html", Href: page},
				{Rel: "via", Type: "application/json", Href: d.cfg.BaseURL + derive.RoundPath(c.Sequence)}}})
	}
	return f
}

func hostFeedFace() route.Face[*Desk] {
	return instrument(api.Route{
		Name: "host_feed", Method: http.MethodGet, Pattern: "/corpus/host/{host}/feed.xml", Serve: api.Ledger,
		Summary: "What changed in a host's rows, as an Atom feed",
		Description: "One entry for each round whose observation of the host differs from the one before: pay-to " +
			"address, verdict, failed checks, price, networks, schemes or URL. It is made from the record alone.",
		Params: []api.Param{{Name: "host", In: api.Path, Type: "string", Required: true, MinLength: 1,
			MaxLength: 255, Description: "Host name"}},
		Responses: append([]api.Response{{Status: http.StatusOK, ContentType: "application/atom+xml",
			Description: "The feed"}}, problems(404, 503)...),
	}, (*Desk).hostFeed)
}
