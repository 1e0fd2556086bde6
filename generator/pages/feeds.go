package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
)

// author is who speaks in the feeds of the site.
func (s *Source) author() templates.FeedAuthor {
	return templates.FeedAuthor{Name: s.Site.Config.Title, URI: s.Base + "/"}
}

// renderPublicationFeed lists what a publication's index lists, which is what it says before it is
// paid for.
func renderPublicationFeed(name string) func(*Source, Unit, string, attest.Digest) ([]byte, error) {
	return func(s *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
		pub := publicationOf(name)
		page, err := s.need(pub.Index[1:])
		if err != nil {
			return nil, err
		}
		var entries []templates.FeedEntry
		for _, i := range s.Site.IssuesOf(name) {
			at := s.Base + i.Path()
			entries = append(entries, templates.FeedEntry{ID: at, Title: i.Title, Updated: i.Date.Format(time.RFC3339),
				Summary: i.Summary, Links: []templates.FeedLink{{Rel: "alternate", Type: "text/html", Href: at}}})
		}
		return templates.NewFeed(templates.FeedHead{Self: s.Base + Documents[name+"_feed"].Path, Page: s.Base +
			pub.Index, Title: page.Title,
			Began: s.Site.Config.Date.Format(time.RFC3339)}, s.author(), entries).Atom()
	}
}

// depsRecordFeed: a week depends on what its round holds, and a round never changes.
func depsRecordFeed(s *Source, _ int, d *Digester) {
	depsConfig(s, 0, d)
	depsViews(s, 0, d)
}

// renderRecordFeed has an entry a week.
func renderRecordFeed(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	self := s.Base + Documents["corpus_feed"].Path
	var entries []templates.FeedEntry
	for _, f := range slices.Backward(b.Figures) {
		w := f.Week
		entries = append(entries, templates.FeedEntry{ID: self + "#" + w.Week, Updated: w.TakenAt,
			Title: fmt.Sprintf("%s: %d of %d doors ready", w.Week, w.Ready, w.HostsProbed),
			Summary: fmt.Sprintf("%d hosts were due and %d were probed: %d ready, %d not ready, %d unreachable. "+
				"The round is signed, number %d.", w.HostsDue, w.HostsProbed, w.Ready, w.NotReady, w.Unreachable,
				w.Sequence),
			Links: []templates.FeedLink{{Rel: "alternate", Type: api.JSON,
				Href: s.Base + derive.RoundPath(w.Sequence)}}})
	}
	f := templates.NewFeed(templates.FeedHead{Self: self, Page: s.Base + "/corpus",
		Title: "The record of x402 doors, week by week",
		Began: s.Site.Config.Date.Format(time.RFC3339)}, s.author(), entries)
	f.Rights = derive.License
	return f.Atom()
}

// renderErrorsFeed has an entry for each verdict that was corrected.
func renderErrorsFeed(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	self := s.Base + Documents["errors_feed"].Path
	var entries []templates.FeedEntry
	for _, m := range b.Errors().Corrections {
		entries = append(entries, templates.FeedEntry{ID: fmt.Sprintf("%s#%d", self, m.Observation), Updated: m.At,
			Title:   fmt.Sprintf("%s, %s: signed %s, now %s", m.Host, m.Week, m.Signed, m.Now),
			Summary: fmt.Sprintf("Cause: %s. %s", m.Cause, m.Reason),
			Links: []templates.FeedLink{{Rel: "alternate", Type: "text/html",
				Href: s.Base + derive.HostPath(m.Host)}}})
	}
	f := templates.NewFeed(templates.FeedHead{Self: self, Page: s.Base + "/corpus/errors",
		Title: "Verdicts of the record that were corrected",
		Began: s.Site.Config.Date.Format(time.RFC3339)}, s.author(), entries)
	f.Rights = derive.License
	return f.Atom()
}

// renderPurchasesFeed has an entry for each purchase at a door that the series names.
func renderPurchasesFeed(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	self := s.Base + Documents["purchases_feed"].Path
	var entries []templates.FeedEntry
	for _, p := range b.Purchases().Newest {
		outcome := cmp.Or(p.Outcome, "no outcome told")
		entries = append(entries, templates.FeedEntry{ID: fmt.Sprintf("%s#%d", self, p.Observation), Updated: p.At,
			Title: fmt.Sprintf("%s: %s", p.Host, outcome),
			Summary: fmt.Sprintf("%s at %s for %s USDC on %s, by %s. Charged twice: %s.", outcome, p.URL, p.USDC,
				p.Network, cmp.Or(p.By, "whom is not told"), p.ChargedTwice),
			Links: []templates.FeedLink{{Rel: "alternate", Type: "text/html",
				Href: s.Base + derive.HostPath(p.Host)}}})
	}
	f := templates.NewFeed(templates.FeedHead{Self: self, Page: s.Base + "/corpus/purchases",
		Title: "Purchases at doors, and what came of them",
		Began: s.Site.Config.Date.Format(time.RFC3339)}, s.author(), entries)
	f.Rights = derive.License
	return f.Atom()
}
