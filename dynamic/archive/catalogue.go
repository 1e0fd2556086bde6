package archive

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// A Catalogue is the newest round as a list that can be filtered: one entry for each of its rows,
// sorted by host. It does not change. It holds some 200 bytes a host; the rows stay on disk.
type Catalogue struct {
	Number  int64 // counted up from 1 in this process
	Round   record.Round
	entries []catalogueEntry
	lists   [][]string // networks and schemes, which many rows share
	feed    int        // observations that its tiers count
	made    time.Time
}

// catalogueEntry is what filters ask of one row. Lists are places in Catalogue.lists.
type catalogueEntry struct {
	host, url                    string // as words are looked for in them, in lower case
	tier, verdict                string
	least                        int64 // millionths of a US dollar that the door asks at least, -1 for unknown
	networks, schemes, protocols uint32
	refuses                      bool // a client configured with nothing refuses terms of it
	cut                          bool // the row leaves addresses out
}

// A Filter keeps those rows for which everything holds that is set in it.
type Filter struct {
	Type     string // http is the type of every door
	Tier     string
	Verdict  string
	Network  string
	Scheme   string
	Protocol string
	MaxPrice *int64 // in millionths of a US dollar
	Client   string // one of CatalogueClients
	PayTo    string // an address
	Words    []string
}

// The clients of which a row says whether they pay.
const (
	// the stock client without limits: it pays what battery v2 calls ready
	CatalogueUnlimited = "x402-fetch-unlimited"
	// the same configured with nothing: of that, what its ceiling and its table of tokens let pass
	CatalogueDefault = "x402-fetch"
)

// CatalogueClients are the clients of a Filter.
func CatalogueClients() []string { return []string{CatalogueDefault, CatalogueUnlimited} }

// refusedByDefault are the advisories on terms that a client configured with nothing refuses.
var refusedByDefault = []string{"above-default-client-cap", "token-outside-default-table"}

// The bounds of the catalogues that are held: of older ones some stay, so that who pages through
// one sees it whole.
const (
	catalogueEvery = 10 * time.Minute // between two that differ by observations alone
	cataloguesKept = 4
)

// catalogues holds the newest and the ones before it.
type catalogues struct {
	making sync.Mutex // held by the one that makes the next

	mu    sync.Mutex // guards what follows
	kept  []*Catalogue
	count int64
}

// Catalogue returns the catalogue of a number if it is still held, and the newest for any other;
// nil while the record has no round. The first to ask after a round was sealed waits until its
// catalogue is made, everybody else has the one before meanwhile.
func (a *Archive) Catalogue(ctx context.Context, number int64) (*Catalogue, error) {
	s := a.Now()
	if s == nil {
		return nil, nil
	}
	held, newest := a.lists.find(number)
	if held != nil {
		return held, nil
	}
	if newest != nil && !newest.stale(s, time.Now()) {
		return newest, nil
	}
	if newest == nil {
		a.lists.making.Lock()
	} else if !a.lists.making.TryLock() {
		return newest, nil
	}
	defer a.lists.making.Unlock()
	if _, again := a.lists.find(0); again != newest { // somebody else made it
		return again, nil
	}
	c, err := newCatalogue(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("listing round %d: %w", len(s.Rounds), err)
	}
	return a.lists.add(c), nil
}

func (l *catalogues) find(number int64) (held, newest *Catalogue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.kept {
		if newest = c; c.Number == number {
			held = c
		}
	}
	return held, newest
}

func (l *catalogues) add(c *Catalogue) *Catalogue {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	c.Number = l.count
	l.kept = append(slices.Clone(l.kept[max(0, len(l.kept)+1-cataloguesKept):]), c)
	return c
}

// stale reports whether there is a newer round, or an observation that may have moved a tier.
func (c *Catalogue) stale(s *State, now time.Time) bool {
	if c.Round.Sequence != s.Index.Head().Sequence() {
		return true
	}
	return now.Sub(c.made) >= catalogueEvery && slices.ContainsFunc(s.Feed[min(c.feed, len(s.Feed)):],
		func(o record.Observation) bool { return o.Refresh != nil || o.Erratum != nil })
}

func newCatalogue(ctx context.Context, s *State) (*Catalogue, error) {
	c := &Catalogue{Round: s.Rounds[len(s.Rounds)-1], feed: len(s.Feed), made: time.Now()}
	places := map[string]uint32{}
	list := func(words []string) uint32 {
		key := strings.Join(words, " ")
		at, known := places[key]
		if !known {
			at = uint32(len(c.lists))
			places[key], c.lists = at, append(c.lists, words)
		}
		return at
	}
	for h, err := range derive.Corrected(s.Index.Recent(tier.WindowRounds), s.errata) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		row := h.Rows[len(h.Rows)-1]
		if row.Sequence != c.Round.Sequence {
			continue
		}
		e := catalogueEntry{host: h.Host, url: strings.ToLower(row.URL), verdict: row.Verdict, least: -1,
			tier: tier.StandingOf(tier.HistoryOf(s.Rounds, h,
				s.About(h.Host))).Tier, protocols: list(row.Protocols)}
		e.refuses = slices.ContainsFunc(row.Advisories,
			func(name string) bool { return slices.Contains(refusedByDefault, name) })
		e.networks, e.schemes = list(nil), list(nil)
		if o := row.Offer; o != nil {
			e.networks, e.schemes, e.least = list(o.Networks), list(o.Schemes), millionths(o.MinUSDC)
			e.cut = o.PayToLeftOut > 0
		}
		c.entries = append(c.entries, e)
	}
	return c, nil
}

// millionths reads a decimal of US dollars, rounded up; -1 for what is none or has no room.
func millionths(s string) int64 {
	if s == "" || len(s) > 100 || strings.Trim(s, "0123456789.") != "" {
		return -1
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return -1
	}
	r.Mul(r, big.NewRat(1_000_000, 1))
	n := new(big.Int).Add(r.Num(), new(big.Int).Sub(r.Denom(), big.NewInt(1)))
	if n.Quo(n, r.Denom()); !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}

// A CataloguePage is some of the rows that a filter keeps.
type CataloguePage struct {
	Items []CatalogueItem
	Total int // rows that the filter keeps
	// Last is the host behind which the next page begins, "" after the last one.
	Last string
	// LeftOut counts rows that name more addresses than they list, among those a filter by address
	// drops.
	LeftOut int
}

// A CatalogueItem is one row with its host's tier.
type CatalogueItem struct {
	Tier string
	Row  record.StoredRow
}

// Span is which rows of a catalogue are asked for: those behind a host, "" for all, at most so many
// from an offset on.
type Span struct {
	After  string
	Offset int
	Limit  int
}

// Page returns the rows that a filter keeps, in the order of their hosts, at most limit from the
// offset on; after is a host behind which they begin, "" for the first.
func (a *Archive) Page(ctx context.Context, c *Catalogue, f Filter, at Span) (CataloguePage,
	error) {
	var p CataloguePage
	s := a.Now()
	hosts, err := s.advertise(c, f.PayTo)
	if err != nil {
		return p, err
	}
	var found []catalogueEntry
	for i := range c.entries {
		e := &c.entries[i]
		if !c.keeps(e, &f) {
			continue
		}
		if f.PayTo != "" && !hosts[e.host] {
			if e.cut {
				p.LeftOut++
			}
			continue
		}
		if e.host > at.After || at.After == "" {
			if p.Total >= at.Offset && len(found) < at.Limit {
				found = append(found, *e)
			} else if p.Total >= at.Offset && p.Last == "" && len(found) > 0 {
				p.Last = found[len(found)-1].host
			}
		}
		p.Total++
	}
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = e.host
	}
	for h, err := range derive.Corrected(s.Index.RecentOf(names, 2*cataloguesKept), s.errata) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return p, err
		}
		e := found[len(p.Items)]
		i := slices.IndexFunc(h.Rows, func(r record.StoredRow) bool { return r.Sequence == c.Round.Sequence })
		if i < 0 {
			return p, fmt.Errorf("listing round %d: the index has no row of %s", c.Round.Sequence, e.host)
		}
		p.Items = append(p.Items, CatalogueItem{Tier: e.tier, Row: h.Rows[i]})
	}
	return p, nil
}

// keeps reports whether a row passes all filters but that by address.
func (c *Catalogue) keeps(e *catalogueEntry, f *Filter) bool {
	switch {
	case f.Type != "" && f.Type != "http",
		f.Tier != "" && e.tier != f.Tier,
		f.Verdict != "" && e.verdict != f.Verdict,
		f.Network != "" && !slices.Contains(c.lists[e.networks], f.Network),
		f.Scheme != "" && !slices.Contains(c.lists[e.schemes], f.Scheme),
		f.Protocol != "" && !slices.Contains(c.lists[e.protocols], f.Protocol),
		f.MaxPrice != nil && (e.least < 0 || e.least > *f.MaxPrice):
		return false
	case f.Client != "" && (e.verdict != record.VerdictReady ||
		!slices.Contains(c.lists[e.protocols], probe.ProtocolX402) || f.Client == CatalogueDefault && e.refuses):
		return false
	}
	for _, word := range f.Words {
		if !strings.Contains(e.host, word) && !strings.Contains(e.url, word) {
			return false
		}
	}
	return true
}

// advertise finds the hosts that advertised an address in the round, whatever the network; nil for
// no address.
func (s *State) advertise(c *Catalogue, address string) (map[string]bool, error) {
	if address == "" {
		return nil, nil
	}
	hosts := map[string]bool{}
	for _, network := range append([]string{networks.OtherNetwork}, s.Index.Head().Networks...) {
		p := record.PayTo{Network: network, Digest: exchange.PayToDigest(network, address)}
		for d, err := range s.Index.Doors(p) {
			if err != nil {
				return nil, err
			}
			if slices.Contains(d.Sequences, c.Round.Sequence) {
				hosts[d.Host] = true
			}
		}
	}
	return hosts, nil
}
