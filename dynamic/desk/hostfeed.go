package desk

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/derive"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

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
	body, err := d.feedOf(h, s.Rounds[0].TakenAt).Atom()
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	return route.Send(w, http.StatusOK, templates.AtomType+"; charset=utf-8", body)
}

// feedOf lists the newest change first. A host of which nothing was observed yet has an empty feed
// that is as old as the record.
func (d *Desk) feedOf(h tier.History, began string) templates.Feed {
	page := d.cfg.BaseURL + derive.HostPath(h.Host)
	self := page + "/feed.xml"
	changes := derive.RowChanges(h)
	slices.Reverse(changes)
	var entries []templates.FeedEntry
	for _, c := range changes[:min(len(changes), templates.MaxFeed)] {
		entries = append(entries, templates.FeedEntry{ID: self + "#" + c.Week, Title: c.Week + " " + c.Title,
			Updated: c.TakenAt, Summary: strings.Join(c.What, "\n") + "\nsigned row: leaf " +
				strconv.FormatInt(c.Leaf, 10) + " of the log",
			Links: []templates.FeedLink{{Rel: "alternate", Type: "text/html", Href: page},
				{Rel: "via", Type: "application/json", Href: d.cfg.BaseURL + derive.RoundPath(c.Sequence)}}})
	}
	f := templates.NewFeed(templates.FeedHead{Self: self, Page: page, Title: h.Host + " in the record of x402 doors",
		Began: began},
		templates.FeedAuthor{Name: d.host, URI: d.cfg.BaseURL + "/"}, entries)
	f.Rights = derive.License
	return f
}

func (d *Desk) hostFeedRow() route.Row {
	return instrument(api.Route{
		Name: "host_feed", Method: http.MethodGet, Pattern: "/corpus/host/{host}/feed.xml", Serve: api.Ledger,
		Summary: "What changed in a host's rows, as an Atom feed",
		Description: "One entry for each round whose observation of the host differs from the one before: pay-to " +
			"address, verdict, failed checks, price, networks, schemes or URL. It is made from the record alone.",
		Params: []api.Param{{Name: "host", In: api.Path, Type: "string", Required: true, MinLength: 1,
			MaxLength: 255, Description: "Host name"}},
		Responses: append([]api.Response{{Status: http.StatusOK, ContentType: templates.AtomType,
			Description: "The feed"}}, route.Problems(404, 503)...),
	}, d.hostFeed)
}
