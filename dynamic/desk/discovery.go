package desk

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// Discovery is a page of the newest round in the shape of the x402 discovery API (x402 version 2,
// bazaar extension): GET /discovery/resources.
type Discovery struct {
	X402Version int             `json:"x402Version"`
	Items       []DiscoveryItem `json:"items"`
	Pagination  DiscoveryPlace  `json:"pagination"`
	DiscoveryOf
}

// DiscoverySearch is the same for GET /discovery/search.
type DiscoverySearch struct {
	X402Version    int             `json:"x402Version"`
	Resources      []DiscoveryItem `json:"resources"`
	PartialResults bool            `json:"partialResults"`
	Pagination     SearchPlace     `json:"pagination"`
	DiscoveryOf
}

// DiscoveryPlace is where a page stands in a list.
type DiscoveryPlace struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
	Total  int `json:"total"`
}

// SearchPlace is where the next page of a search begins.
type SearchPlace struct {
	Limit  int     `json:"limit"`
	Cursor *string `json:"cursor"` // null after the last one
}

// DiscoveryOf says of what a list is, and what was not looked at for it.
type DiscoveryOf struct {
	Round *DiscoveryRound `json:"round"` // null while the record has no round
	// Unapplied names filters that were given and that rows say nothing about.
	Unapplied []string `json:"unappliedFilters,omitempty"`
	// LeftOut counts rows that name more addresses than they list, and that a filter by payTo
	// dropped.
	LeftOut int    `json:"pay_to_possibly_left_out,omitzero"`
	Note    string `json:"note"`
}

// DiscoveryRound is the round whose rows are listed.
type DiscoveryRound struct {
	Sequence int64  `json:"sequence"`
	Week     string `json:"week"`
	TakenAt  string `json:"taken_at"`
	Digest   string `json:"digest"`
	URL      string `json:"url"`
}

// DiscoveryItem is one row of the round. It holds no terms: those are at the door.
type DiscoveryItem struct {
	Resource     string        `json:"resource"`
	Type         string        `json:"type"` // http
	X402Version  int           `json:"x402Version"`
	Accepts      []struct{}    `json:"accepts"` // always empty
	TermsAtDoor  bool          `json:"terms_at_door"`
	LastUpdated  string        `json:"lastUpdated"` // when the door was walked, RFC 3339
	Host         string        `json:"host"`
	Tier         string        `json:"tier"`
	Verdict      probe.Verdict `json:"verdict"`
	Reason       string        `json:"reason,omitzero"`
	Battery      string        `json:"battery"`
	Protocols    []string      `json:"protocols"`
	Networks     []string      `json:"networks"`
	Schemes      []string      `json:"schemes"`
	MinUSDC      string        `json:"min_usdc,omitzero"`
	MaxUSDC      string        `json:"max_usdc,omitzero"`
	Leaf         int64         `json:"leaf"`       // log index of the signed row
	RowSHA256    string        `json:"row_sha256"` // of its exact bytes
	Proof        string        `json:"proof"`      // where the row's bytes and its inclusion proof are
	ReachedLevel string        `json:"reached_level,omitzero"`
}

const discoveryNote = "What the record's newest round saw. It holds no terms: ask the door for them, and see what " +
	"your client would sign with POST /api/before-you-pay/v1. A tier is a count of rounds, no promise."

// filter reads the filters of a request, and names those that rows say nothing about.
func (d *Desk) filter(in route.Values) (archive.Filter, []string, error) {
	f := archive.Filter{Type: in.String("type"), Tier: in.String("tier"), Verdict: in.String("verdict"),
		Network: in.String("network"), Scheme: in.String("scheme"), Protocol: in.String("protocol"),
		Client: in.String("client"), PayTo: in.String("payTo"),
		Words: strings.Fields(strings.ToLower(in.String("query")))}
	if in.Has("max_price_usdc") {
		n, err := content.ParseUSDC(in.String("max_price_usdc"))
		if err != nil {
			return f, nil, route.Invalid(problem.Field{Field: "max_price_usdc", Problem: err.Error()})
		}
		f.MaxPrice = &n
	}
	if in.Has("query") && len(f.Words) == 0 {
		return f, nil, route.Invalid(problem.Field{Field: "query", Problem: "holds no word: without one use " +
			"/corpus/discovery/resources"})
	}
	var unapplied []string
	if in.Has("extensions") {
		unapplied = append(unapplied, "extensions")
	}
	return f, unapplied, nil
}

// list answers with a page by offset. A client that begins at 0 goes on in the catalogue in which
// it began, whatever is sealed meanwhile.
func (d *Desk) list(w http.ResponseWriter, r *http.Request) error {
	in := route.Inputs(r)
	f, unapplied, err := d.filter(in)
	if err != nil {
		return err
	}
	limit, offset := defaultPage, 0
	if in.Has("limit") {
		limit = int(in.Int("limit"))
	}
	if in.Has("offset") {
		offset = int(in.Int("offset"))
	}
	q := r.URL.Query()
	q.Del("offset")
	q.Del("limit")
	reader := route.Client(r) + " " + q.Encode()
	c, err := d.cfg.Archive.Catalogue(r.Context(), d.pins.number(reader, offset, time.Now()))
	if err != nil {
		return err
	}
	out := Discovery{X402Version: 2, Items: []DiscoveryItem{}, Pagination: DiscoveryPlace{Limit: limit, Offset: offset},
		DiscoveryOf: d.discoveryOf(c, unapplied)}
	if c == nil {
		return route.JSON(w, out)
	}
	if offset == 0 {
		d.pins.pin(reader, c.Number, time.Now())
	}
	p, err := d.cfg.Archive.Page(r.Context(), c, f, archive.Span{After: "", Offset: offset, Limit: limit})
	if err != nil {
		return err
	}
	out.Pagination.Total, out.LeftOut, out.Items = p.Total, p.LeftOut, d.items(p, c)
	return route.JSON(w, out)
}

// search answers with a page behind a cursor, which names the last host of the page before.
func (d *Desk) search(w http.ResponseWriter, r *http.Request) error {
	in := route.Inputs(r)
	f, unapplied, err := d.filter(in)
	if err != nil {
		return err
	}
	limit := defaultPage
	if in.Has("limit") {
		limit = int(in.Int("limit"))
	}
	number, after, ok := readCursor(in.String("cursor"))
	if !ok {
		return route.Invalid(problem.Field{Field: "cursor", Problem: "is none that an answer of this route held"})
	}
	c, err := d.cfg.Archive.Catalogue(r.Context(), number)
	if err != nil {
		return err
	}
	out := DiscoverySearch{X402Version: 2, Resources: []DiscoveryItem{}, Pagination: SearchPlace{Limit: limit},
		DiscoveryOf: d.discoveryOf(c, unapplied)}
	if c == nil {
		return route.JSON(w, out)
	}
	p, err := d.cfg.Archive.Page(r.Context(), c, f, archive.Span{After: after, Offset: 0, Limit: limit})
	if err != nil {
		return err
	}
	if out.LeftOut, out.Resources = p.LeftOut, d.items(p, c); p.Last != "" {
		next := writeCursor(c.Number, p.Last)
		out.Pagination.Cursor = &next
	}
	return route.JSON(w, out)
}

func writeCursor(number int64, host string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(number, 10) + " " + host))
}

func readCursor(s string) (number int64, host string, ok bool) {
	if s == "" {
		return 0, "", true
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	text, host, found := strings.Cut(string(b), " ")
	number, numberErr := strconv.ParseInt(text, 10, 64)
	return number, host, err == nil && numberErr == nil && found && host != ""
}

func (d *Desk) discoveryOf(c *archive.Catalogue, unapplied []string) DiscoveryOf {
	out := DiscoveryOf{Unapplied: unapplied, Note: discoveryNote}
	if c != nil {
		out.Round = &DiscoveryRound{Sequence: c.Round.Sequence, Week: c.Round.Week, TakenAt: c.Round.TakenAt,
			Digest: c.Round.Digest.String(), URL: d.cfg.BaseURL + derive.RoundPath(c.Round.Sequence)}
	}
	return out
}

func (d *Desk) items(p archive.CataloguePage, c *archive.Catalogue) []DiscoveryItem {
	out := make([]DiscoveryItem, 0, len(p.Items))
	for _, item := range p.Items {
		row := item.Row
		one := DiscoveryItem{Resource: row.URL, Type: "http", X402Version: 2, Accepts: []struct{}{}, TermsAtDoor: true,
			LastUpdated: row.ObservedAt, Host: row.Host, Tier: item.Tier, Verdict: probe.Verdict(row.Verdict),
			Reason: row.Reason, Battery: row.Battery, Protocols: row.Protocols, Networks: []string{},
			Schemes: []string{}, Leaf: row.Leaf,
			RowSHA256: attest.Digest(sha256.Sum256(row.Raw)).String(), ReachedLevel: row.ReachedLevel,
			Proof: d.cfg.BaseURL + derive.HostPath(row.Host) + ".json"}
		if one.LastUpdated == "" { // it was not walked, which the round says
			one.LastUpdated = c.Round.TakenAt
		}
		if o := row.Offer; o != nil {
			one.Networks, one.Schemes, one.MinUSDC, one.MaxUSDC = o.Networks, o.Schemes, o.MinUSDC, o.MaxUSDC
		}
		out = append(out, one)
	}
	return out
}

// The bounds of paging by offset.
const (
	defaultPage = 20
	maxPage     = 100 // as the stock API has it
	maxPins     = 10_000
	pinned      = 30 * time.Minute // since a reader began
)

// pins remember in which catalogue a reader began. The zero value works. Where there are too many
// readers at once, a further one reads the newest list with every page, and nobody's is forgotten
// for that.
type pins struct {
	mu sync.Mutex // guards at
	at map[string]pin
}

type pin struct {
	number int64
	ends   time.Time
}

// number is the catalogue in which a reader began, 0 for the newest.
func (p *pins) number(reader string, offset int, now time.Time) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if held, ok := p.at[reader]; ok && offset > 0 && now.Before(held.ends) {
		return held.number
	}
	return 0
}

func (p *pins) pin(reader string, number int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		p.at = map[string]pin{}
	}
	if _, again := p.at[reader]; !again && len(p.at) >= maxPins {
		for key, held := range p.at {
			if !now.Before(held.ends) {
				delete(p.at, key)
			}
		}
		if len(p.at) >= maxPins {
			return
		}
	}
	p.at[reader] = pin{number, now.Add(pinned)}
}

// filterParams are those that list and search share.
func filterParams() []api.Param {
	query := func(name, pattern string, most int, about string, enum ...string) api.Param {
		return api.Param{Name: name, In: api.QueryP, Type: "string", Pattern: pattern, MinLength: 1, MaxLength: most,
			Enum: enum, Description: about}
	}
	return []api.Param{
		query("type", "", 20, "kind of resource; every door of the record is http, so that others keep nothing"),
		query("payTo", "", 100, "address that the door wants to be paid at, on whatever network; it is looked up by "+
			"its digests"),
		query("scheme", "", 64, "payment scheme, such as exact"),
		query("network", "", 64, "network as the door named it, such as eip155:8453"),
		query("extensions", "", 200, "taken and named in unappliedFilters: rows say nothing of extensions"),
		query("tier", "", 20, "tier of the host", tier.TierNames()...),
		query("verdict", "", 20, "verdict of the row", record.VerdictReady, record.VerdictNotReady,
			record.VerdictUnreachable, record.VerdictNotProbed),
		query("protocol", "", 20, "protocol that the door speaks", probe.ProtocolX402, probe.ProtocolX402V1,
			probe.ProtocolMPP),
		query("max_price_usdc", `^[0-9]{1,12}(\.[0-9]{1,6})?$`, 19, "the most that its least price may be; a door "+
			"without a known price is dropped"),
		query("client", "", 30, "a client that pays the door: the stock one configured with nothing, or without "+
			"limits", archive.CatalogueClients()...),
	}
}

func (d *Desk) discoveryRows() []route.Row {
	one, most, none := 1.0, float64(maxPage), 0.0
	limit := api.Param{Name: "limit", In: api.QueryP, Type: "integer", Minimum: &one, Maximum: &most,
		Description: "rows of a page; 20 where it is not given"}
	params := filterParams()
	return []route.Row{
		instrument(api.Route{
			Name: "corpus_discovery_resources", Method: http.MethodGet, Pattern: "/corpus/discovery/resources",
			Serve: api.Ledger, Summary: "The newest round as a discovery list",
			Description: "The rows of the record's newest round in the shape of the x402 discovery API, sorted by " +
				"host. Every filter is applied, or named in unappliedFilters. Who begins at offset 0 goes on in the " +
				"same round for half an hour, whatever is sealed meanwhile. accepts is empty: the terms are at the " +
				"door.",
			Params: append(slices.Clone(params), limit, api.Param{Name: "offset", In: api.QueryP, Type: "integer",
				Minimum: &none, Description: "rows that are passed over"}),
			Responses: route.OK[Discovery]("A page", 400, 503),
		}, d.list),
		instrument(api.Route{
			Name: "corpus_discovery_search", Method: http.MethodGet, Pattern: "/corpus/discovery/search",
			Serve: api.Ledger, Summary: "Search the newest round",
			Description: "The same rows, those in whose host or URL every word stands. Pages are joined by a cursor, " +
				"which never gives a row twice.",
			Params: append(slices.Clone(params), limit,
				api.Param{Name: "query", In: api.QueryP, Type: "string", Required: true, MinLength: 1, MaxLength: 120,
					Description: "words that must all stand in the host or the URL"},
				api.Param{Name: "cursor", In: api.QueryP, Type: "string", MinLength: 1, MaxLength: 512,
					Description: "from the page before"}),
			Responses: route.OK[DiscoverySearch]("A page", 400, 503),
		}, d.search),
	}
}
