package generator

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"agentstore/content"
	"agentstore/content/api"
	"agentstore/corpus/attest"
	"agentstore/corpus/derive"
	"agentstore/corpus/record"
	"agentstore/templates"
)

// source is what the rows of the table are rendered from: the Input with what
// many rows need worked out once.
type source struct {
	*Input
	base   string // base URL
	host   string
	chrome *templates.Chrome
	goods  []*content.Good // by id
	ids    []string        // of goods
	codes  []string        // problem codes, sorted
	own    []content.Page  // the keeper's own, by name
	names  []string        // of those
	words  []templates.RetiredWord

	rows    []output                     // the table
	sitemap func() (sitemapFacts, error) // worked out once

	record      *record.Record                  // the signed record, nil for none
	rounds      []record.Round                  // of the record, oldest first
	feed        []record.Observation            // of the record, oldest first
	about       map[string][]record.Observation // of the feed, by host
	chain       attest.Digest                   // over all rounds
	firstHost   string                          // of the record, for commands that name one
	checkpoints sync.Map                        // of tlog.Checkpoint, by size
	proofs      []string                        // state of each round's proof of time
	state       attest.Digest                   // over rounds, proofs of time and observations
	book        func() (*derive.Book, error)
	search      func() (*derive.SearchIndex, error)

	shared    attest.Digest   // what every page depends on
	goodFacts []attest.Digest // of goods, without their prose
	catalogue attest.Digest   // over goodFacts
	api       attest.Digest
}

// generation changes when the rows render differently from the same digests.
const generation = "3"

func newSource(in *Input, rows []output) (*source, error) {
	s := &source{Input: in, rows: rows, base: in.Site.Config.BaseURL, own: in.Site.OwnPages()}
	s.sitemap = sync.OnceValues(s.countAddresses)
	s.book = sync.OnceValues(s.readBook)
	s.search = sync.OnceValues(s.indexHosts)
	host, err := baseHost(s.base)
	if err != nil {
		return nil, err
	}
	s.host = host
	if s.chrome, err = Chrome(in.Site, in.Ring); err != nil {
		return nil, err
	}
	for i := range s.own {
		s.names = append(s.names, s.own[i].Name)
	}
	if err := s.checkOwn(); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	for _, p := range in.Site.Pages { // sorted by name
		if code := p.Code(); code != "" {
			s.codes = append(s.codes, code)
		}
	}

	d := newDigester()
	d.text(generation, templates.Digest(), string(s.chrome.Header), fmt.Sprint(s.chrome.Nav), string(s.chrome.Footer), s.base, string(in.reload))
	s.shared = d.sum()
	s.sortGoods()
	s.digestGoods()
	s.api, err = digestAPI(in.API)
	return s, err
}

// Chrome is what all pages of a site share. The server takes it for the pages that it renders on request, so that they
// look like the published ones.
func Chrome(site *content.Site, ring attest.Ring) (*templates.Chrome, error) {
	identity, cfg, nav := ring.Identity(), site.Config, slices.Clone(navigation)
	for _, p := range site.OwnPages() {
		if p.Nav != "" {
			nav = append(nav, templates.Link{Text: p.Nav, Href: "/" + p.Name})
		}
	}
	return templates.NewChrome(templates.ChromeView{
		Title: cfg.Title, Tagline: cfg.Tagline, BaseURL: cfg.BaseURL, Keeper: cfg.Keeper, Contact: cfg.Contact,
		Nav: nav, PublicKey: identity.Public.String(), KID: identity.KID,
		Specimen: attest.IsSpecimen([]byte(identity.Public)), Date: cfg.Date,
	})
}

// navigation is the header of every page; a test follows it.
var navigation = []templates.Link{
	{Text: "shop", Href: "/"},
	{Text: "shelves", Href: "/#shelves", Also: []string{"/menu"}},
	{Text: "spending", Href: "/what"},
	{Text: "words", Href: "/retired-words"},
	{Text: "record", Href: "/corpus", Also: []string{"/fresh-set", "/registry", "/inflows", "/scorers", "/criteria"}},
	{Text: "instruments", Href: "/try", Also: []string{"/defects", "/conformance"}},
	{Text: "verify", Href: "/verify", Also: []string{"/spec"}},
}

// sortGoods sorts the goods by id. A good is large, so that none is copied.
func (s *source) sortGoods() {
	s.goods, s.ids = make([]*content.Good, len(s.Site.Goods)), make([]string, len(s.Site.Goods))
	for i := range s.Site.Goods {
		s.goods[i] = &s.Site.Goods[i]
	}
	slices.SortFunc(s.goods, func(a, b *content.Good) int { return strings.Compare(a.ID, b.ID) })
	for i, g := range s.goods {
		s.ids[i] = g.ID
	}
}

// digestGoods works out what the lists of goods depend on. Their prose is not in it: that is read once, for the page that it
// stands on.
func (s *source) digestGoods() {
	s.goodFacts = make([]attest.Digest, len(s.goods))
	d, terms := newDigester(), newDigester()
	for i, g := range s.goods {
		terms.terms(g)
		d.good(g)
		d.digest(terms.sum())
		s.goodFacts[i] = d.sum()
	}
	d.digest(s.goodFacts...)
	s.catalogue = d.sum()
}

// need returns a page that content.Load has made sure of.
func (s *source) need(name string) (content.Page, error) {
	p, ok := s.Site.Page(name)
	if !ok {
		return content.Page{}, fmt.Errorf("%w: the site has no page %s", ErrInput, name)
	}
	return p, nil
}

// document returns the description of a published route.
func document(name string) (api.Document, bool) {
	i := slices.IndexFunc(api.Documents, func(d api.Document) bool { return d.Name == name })
	if i < 0 {
		return api.Document{}, false
	}
	return api.Documents[i], true
}
