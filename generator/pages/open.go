package pages

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// generation changes when the rows render differently from the same digests.
const generation = "6"

func NewSource(in *Input, rows []Output) (*Source, error) {
	s := &Source{Input: in, rows: rows, Base: in.Site.Config.BaseURL}
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
	host, err := baseHost(s.Base)
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

	d := NewDigester()
	d.text(generation, templates.Digest(), s.chrome.Title, s.chrome.Tagline, string(s.chrome.Header),
		fmt.Sprint(s.chrome.Nav), string(s.chrome.Footer),
		s.Base, string(in.Reload))
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

// sortGoods sorts the goods by id. A good is large, so that none is copied.
func (s *Source) sortGoods() {
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
func (s *Source) digestPages() {
	s.sums = make([]attest.Digest, len(s.Site.Pages))
	var group sync.WaitGroup
	for first := range s.Concurrency() {
		group.Go(func() {
			d := NewDigester()
			for i := first; i < len(s.sums); i += s.Concurrency() {
				d.page(&s.Site.Pages[i])
				s.sums[i] = d.sum()
			}
		})
	}
	group.Wait()
}

// digestGoods works out what the lists of goods depend on. Their prose is not in it: that is read
// once, for the page that it stands on.
func (s *Source) digestGoods() {
	s.goodFacts = make([]attest.Digest, len(s.goods))
	d, terms := NewDigester(), NewDigester()
	for i, g := range s.goods {
		terms.terms(g)
		d.good(g)
		d.digest(terms.sum())
		s.goodFacts[i] = d.sum()
	}
	d.digest(s.goodFacts...)
	s.catalogue = d.sum()
}

// open reads the heads of the signed record: rounds, observations and what is
// derived from them for many pages. Rows are read by the rows of the table that
// need them.
func (s *Source) open() error {
	if s.Corpus == nil {
		return nil
	}
	var err error
	if s.Record, err = record.Open(s.Corpus, s.Ring); err != nil {
		return derive.Mend(err)
	}
	s.prover.Record = s.Record
	if s.Feed, err = s.Record.Observations(); err != nil {
		return derive.Mend(err)
	}
	s.Rounds, s.words = s.Record.Rounds(), retiredWords(s.Feed)
	if n := len(s.Rounds); n > 0 && s.Rounds[n-1].LeavesEnd() > s.Record.Log.Head().Size {
		return fmt.Errorf("the log of the record has %d leaves, and its rounds %d; hint: store census ends what was "+
			"interrupted; otherwise fetch the folder log from the last backup or from the published copy",
			s.Record.Log.Head().Size, s.Rounds[n-1].LeavesEnd())
	}
	s.about, s.errata, s.chain = aboutHosts(s.Feed), record.ErrataOf(s.Feed), s.digestRounds()
	if s.firstHost, err = firstHost(s.Record); err != nil {
		return derive.Mend(err)
	}
	return s.openViews()
}

// firstHost is the host of the first row of a record, "" for none. It stays the same however the
// record grows.
func firstHost(r *record.Record) (string, error) {
	for _, round := range r.Rounds() {
		for row, err := range r.Rows(round.Sequence) {
			return row.Host, err
		}
	}
	return "", nil
}

// retiredWords are those of the public register.
func retiredWords(feed []record.Observation) []templates.RetiredWord {
	var words []templates.RetiredWord
	for _, o := range feed {
		if o.Kind == record.ObservationRetiredWord {
			words = append(words, templates.RetiredWord{
				Number: o.Number, Word: cmp.Or(o.Word.Text, "[withdrawn]"), Epitaph: o.Epitaph,
				Date: o.At[:len(time.DateOnly)],
			})
		}
	}
	return words
}

// baseHost is the host, with its port if it has one, of a base URL.
func baseHost(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%w: %q is not a base URL", ErrInput, base)
	}
	return u.Host, nil
}

// digestAPI is over the whole description of the routes.
func digestAPI(routes []api.Route, documents []api.Document) (attest.Digest, error) {
	b, err := json.Marshal([]any{routes, documents})
	if err != nil {
		return attest.Digest{}, fmt.Errorf("encoding the API description: %w", err)
	}
	return sha256.Sum256(b), nil
}

// checkOwn refuses a page of the keeper's own at an address that the store uses, or below which it
// does.
func (s *Source) checkOwn() error {
	taken := make(map[string]bool)
	take := func(p string) {
		first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
		taken[strings.TrimSuffix(first, path.Ext(first))] = true
	}
	for _, d := range api.Documents {
		if d.TreeOnly {
			continue
		}
		take(d.Path)
		for _, f := range d.Files {
			take(f.Path)
		}
	}
	for _, r := range s.Input.API {
		take(r.Pattern)
	}
	var errs []error
	for _, i := range s.own {
		p := &s.Site.Pages[i]
		if first, _, _ := strings.Cut(p.Name, "/"); taken[first] {
			errs = append(errs, fmt.Errorf("%s: the store itself uses the address /%s; hint: give your page another "+
				"name", p.File(), p.Name))
		}
	}
	return errors.Join(errs...)
}
