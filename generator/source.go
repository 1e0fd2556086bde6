package generator

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// source is what the rows of the table are rendered from: the Input with what
// many rows need worked out once.
type source struct {
	*Input
	API    []api.Route    // those of the Input that this store serves
	docs   []api.Document // that this store has
	base   string         // base URL
	host   string
	chrome *templates.Chrome
	goods  []*content.Good // by id
	ids    []string        // of goods
	codes  []string        // problem codes, sorted
	own    []int           // of the pages, the keeper's own
	names  []string        // of those
	sums   []attest.Digest // of the pages
	words  []templates.RetiredWord

	rows []output // the table
	// of places, by the path of the page that has them
	placed        sync.Map
	documentation func() [][]listed            // worked out once
	sitemap       func() (sitemapFacts, error) // worked out once

	record    *record.Record                  // the signed record, nil for none
	rounds    []record.Round                  // of the record, oldest first
	feed      []record.Observation            // of the record, oldest first
	about     map[string][]record.Observation // of the feed, by host
	errata    record.Errata                   // of the feed
	chain     attest.Digest                   // over all rounds
	firstHost string                          // of the record, for commands that name one
	prover    derive.Prover                   // of the record
	proofs    []string                        // state of each round's proof of time
	state     attest.Digest                   // over rounds, proofs of time and observations
	book      func() (*derive.Book, error)
	search    func() (*derive.SearchIndex, error)

	shared    attest.Digest   // what every page depends on
	goodFacts []attest.Digest // of goods, without their prose
	catalogue attest.Digest   // over goodFacts
	api       attest.Digest
}

// generation changes when the rows render differently from the same digests.
const generation = "6"

func newSource(in *Input, rows []output) (*source, error) {
	s := &source{Input: in, rows: rows, base: in.Site.Config.BaseURL}
	s.API = slices.DeleteFunc(slices.Clone(in.API), func(r api.Route) bool { return !in.Site.Serves(r.Pattern) })
	for i := range s.API {
		s.API[i].Params = ownExample(s.API[i].Params, in.Site.Cheapest().ID)
	}
	s.docs = slices.DeleteFunc(slices.Clone(api.Documents), func(d api.Document) bool {
		return !in.Site.Serves(d.Path)
	})
	s.documentation = sync.OnceValue(s.documented)
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
	for i := range in.Site.Pages { // sorted by name
		p := &in.Site.Pages[i]
		if p.Own {
			s.own, s.names = append(s.own, i), append(s.names, p.Name)
		}
		if code := p.Code(); code != "" {
			s.codes = append(s.codes, code)
		}
	}
	if err := s.checkOwn(); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, err
	}

	d := newDigester()
	d.text(generation, templates.Digest(), s.chrome.Title, s.chrome.Tagline, string(s.chrome.Header),
		fmt.Sprint(s.chrome.Nav), string(s.chrome.Footer),
		s.base, string(in.reload))
	s.digestDocumentation(d)
	s.shared = d.sum()
	var group errgroup.Group
	group.Go(func() (err error) {
		s.api, err = digestAPI(s.API, s.docs)
		return err
	})
	s.sortGoods()
	s.digestPages()
	s.digestGoods()
	return s, group.Wait()
}

// Chrome is what all pages of a site share. The server takes it for the pages that it renders on
// request, so that they look like the published ones.
func Chrome(site *content.Site, ring attest.Ring) (*templates.Chrome, error) {
	identity, cfg, nav := ring.Identity(), site.Config, slices.Clone(navigation)
	for i := range site.Pages {
		if p := &site.Pages[i]; p.Own && p.Nav != "" {
			nav = append(nav, templates.Link{Text: p.Nav, Href: "/" + p.Name})
		}
	}
	return templates.NewChrome(templates.Chrome{
		Title: cfg.Title, Tagline: cfg.Tagline, BaseURL: cfg.BaseURL, Keeper: cfg.Keeper, Contact: cfg.Contact,
		Nav: nav, PublicKey: identity.Public.String(), KID: identity.KID,
		Specimen: attest.IsSpecimen([]byte(identity.Public)), Date: cfg.Date,
	})
}

// navigation is the header of every page; a test follows it.
var navigation = []templates.Link{
	{Text: "shop", Href: "/", Also: []string{"/what", "/almanac", "/gazette", "/porch", "/zodiac", "/tips",
		"/directory", "/retired-words", "/api/guestbook", "/api/letter", "/api/stamp", "/api/tip", "/api/bell",
		"/api/request"}},
	{Text: "shelves", Href: "/#shelves", Also: []string{"/menu"}},
	{Text: "record", Href: "/corpus", Also: []string{"/fresh-set", "/registry", "/inflows", "/scorers", "/criteria",
		"/bounties"}},
	{Text: "instruments", Href: "/try", Also: []string{"/defects", "/conformance"}},
	{Text: "verify", Href: "/verify", Also: []string{"/spec"}},
	{Text: "docs", Href: "/docs", Also: []string{"/mcp", "/problems", "/deprecation", "/running"}},
	{Text: "search", Href: "/search"},
}

// ownExample gives a good of this store as the example of the id of one.
func ownExample(params []api.Param, id string) []api.Param {
	params = slices.Clone(params)
	for i := range params {
		if p := &params[i]; p.Name == api.ItemID.Name && p.Example != "" {
			p.Example = id
		}
	}
	return params
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

// digestPages reads every page once, for whatever depends on it.
func (s *source) digestPages() {
	s.sums = make([]attest.Digest, len(s.Site.Pages))
	var group sync.WaitGroup
	for first := range s.workers() {
		group.Go(func() {
			d := newDigester()
			for i := first; i < len(s.sums); i += s.workers() {
				d.page(&s.Site.Pages[i])
				s.sums[i] = d.sum()
			}
		})
	}
	group.Wait()
}

// digestGoods works out what the lists of goods depend on. Their prose is not in it: that is read
// once, for the page that it stands on.
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

// documents are the descriptions of published routes, by name.
var documents = func() map[string]api.Document {
	all := make(map[string]api.Document)
	for _, d := range api.Documents {
		all[d.Name] = d
	}
	return all
}()
