package pages

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// Source is what the rows of the table are rendered from: the Input with what
// many rows need worked out once.
type Source struct {
	*Input
	API    []api.Route    // those of the Input that this store serves
	docs   []api.Document // that this store has
	Base   string         // base URL
	host   string
	chrome *templates.Chrome
	goods  []*content.Good // by id
	ids    []string        // of goods
	codes  []string        // problem codes, sorted
	own    []int           // of the pages, the keeper's own
	names  []string        // of those
	sums   []attest.Digest // of the pages
	words  []templates.RetiredWord

	rows []Output // the table
	// of places, by the path of the page that has them
	placed        sync.Map
	documentation func() [][]listed            // worked out once
	sitemap       func() (sitemapFacts, error) // worked out once

	Record    *record.Record                  // the signed record, nil for none
	Rounds    []record.Round                  // of the record, oldest first
	Feed      []record.Observation            // of the record, oldest first
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

// need returns a page that content.Load has made sure of.
func (s *Source) need(name string) (content.Page, error) {
	p, ok := s.Site.Page(name)
	if !ok {
		return content.Page{}, fmt.Errorf("%w: the site has no page %s", ErrInput, name)
	}
	return p, nil
}

// Documents are the descriptions of published routes, by name.
var Documents = func() map[string]api.Document {
	all := make(map[string]api.Document)
	for _, d := range api.Documents {
		all[d.Name] = d
	}
	return all
}()

// listing of the documentation, with a note for each page that has a summary.
type listed struct {
	templates.Link
	note string
}

// sitemapFacts are what a pass over all addresses shows.
type sitemapFacts struct {
	n      int
	digest attest.Digest // of all addresses, where one sitemap holds them
}

// cloned reports whether it is published as a repository, which is signed.
func (s *Source) cloned() bool { return s.inBulk() && s.Bulk.Signer != nil }

// inBulk reports whether the record is published in bulk.
func (s *Source) inBulk() bool { return s.Bulk != nil && len(s.Rounds) > 0 }

// docsFolder holds the pages of the documentation, runningFolder the recipes for keepers.
const docsFolder, runningFolder = "docs/", "running/"

// pathOf is the address that a page of prose may have, "" where it is part of another.
func pathOf(p *content.Page) string {
	switch {
	case p.Own:
		return "/" + p.Name
	case p.Name == "index":
		return "/"
	case p.Name == "verify-run":
		return "/verify/run"
	case strings.HasPrefix(p.Name, "spec/"):
		return "/" + strings.Replace(p.Name, "-v", "/v", 1)
	case strings.HasPrefix(p.Name, "record/"), p.Name == "404":
		return ""
	}
	return "/" + p.Name
}
