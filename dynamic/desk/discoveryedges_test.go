package desk_test

import (
	"encoding/json/v2"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/tier"
)

// listed is an item as a client sees it that knows our members too.
type listed struct {
	Host      string   `json:"host"`
	Tier      string   `json:"tier"`
	Verdict   string   `json:"verdict"`
	Protocols []string `json:"protocols"`
	Networks  []string `json:"networks"`
	Schemes   []string `json:"schemes"`
	MinUSDC   string   `json:"min_usdc"`
}

// edgeRows are doors of which each filter keeps some and drops the ones beside them.
func edgeRows() []record.Row {
	var rows []record.Row
	add := func(host string, change func(*record.Row)) {
		r := recordtest.ReadyRow()
		r.Host, r.URL, r.PreviousLeaf = host, "https://"+host+"/paid", nil
		change(&r)
		rows = append(rows, r)
	}
	price := func(least string) func(*record.Row) {
		return func(r *record.Row) { r.Offer.MinUSDC, r.Offer.MaxUSDC = least, least }
	}
	add("p-0.example", price("0"))
	add("p-1.example", price("0.000001"))
	add("p-below-1.example", price("0.0000005")) // rounded up: it is not had for less than a millionth
	add("p-2.example", price("0.01"))
	add("p-above-2.example", price("0.0100001"))
	add("p-3.example", price("1"))
	add("p-most.example", price("999999999999"))
	add("p-unknown.example", func(r *record.Row) { r.Offer.MinUSDC, r.Offer.MaxUSDC = "", "" })
	add("dear.example", func(r *record.Row) { r.Advisories = []string{"above-default-client-cap"} })
	add("token.example", func(r *record.Row) { r.Advisories = []string{"token-outside-default-table"} })
	add("solana.example", func(r *record.Row) {
		r.Offer.Networks = []string{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}
	})
	add("two.example", func(r *record.Row) {
		r.Offer.Networks, r.Offer.Schemes = []string{"eip155:137", "eip155:8453"}, []string{"exact", "upto"}
	})
	add("mpp.example", func(r *record.Row) { r.Protocols, r.Offer = []string{"mpp-v1"}, nil })
	add("both.example", func(r *record.Row) { r.Protocols = []string{"mpp-v1", "x402"} })
	add("v1.example", func(r *record.Row) {
		r.Protocols, r.Verdict, r.Failed, r.ReachedLevel = []string{"x402-v1"}, record.VerdictNotReady,
			[]string{"x402-version"}, "L2"
		r.Offer, r.AlsoUnder = nil, nil
	})
	add("capitals.example", func(r *record.Row) { r.URL = "https://capitals.example/Weather/Lisbon" })
	away := recordtest.UnprobedRow()
	away.PreviousLeaf = nil
	rows = append(rows, away)
	slices.SortFunc(rows, func(a, b record.Row) int { return strings.Compare(a.Host, b.Host) })
	return rows
}

// edges is a record of one round of those rows.
func edges(t *testing.T) listing {
	t.Helper()
	w := recordtest.Writer(t)
	d := recordtest.Draft(1)
	rows := edgeRows()
	recordtest.Date(d.TakenAt, rows)
	d.Roster.Listed = int64(len(rows))
	d.Rows = func(yield func(record.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
	recordtest.Seal(t, w, d)
	return newListing(t, w)
}

// kept asks both routes for what a filter keeps, and demands the same of them.
func (l listing) kept(t *testing.T, query string) (all []listed) {
	t.Helper()
	var page struct {
		Items     []listed `json:"items"`
		Resources []listed `json:"resources"`
		Unapplied []string `json:"unappliedFilters"`
	}
	status, body := l.get(t, "/corpus/discovery/resources?limit=100&"+query)
	if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK || page.Unapplied != nil {
		t.Fatalf("%s: %d %v %s", query, status, err, body)
	}
	status, body = l.get(t, "/corpus/discovery/search?limit=100&query=example&"+query)
	if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK {
		t.Fatalf("searched %s: %d %v %s", query, status, err, body)
	}
	if fmt.Sprint(page.Items) != fmt.Sprint(page.Resources) {
		t.Errorf("%s: listed %v, searched %v", query, page.Items, page.Resources)
	}
	return page.Items
}

// TestDiscoveryFiltersAtTheirEdges holds every value of every filter against the rows themselves:
// what is kept is exactly what has it.
func TestDiscoveryFiltersAtTheirEdges(t *testing.T) {
	l := edges(t)
	all := l.kept(t, "")
	if len(all) != len(edgeRows()) {
		t.Fatalf("%d rows of %d", len(all), len(edgeRows()))
	}
	dollars := func(s string) *big.Rat {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%q is no amount", s)
		}
		return r
	}
	type filter struct {
		query string
		keeps func(listed) bool
	}
	filters := []filter{}
	for _, tier := range tier.TierNames() {
		filters = append(filters, filter{"tier=" + tier, func(i listed) bool { return i.Tier == tier }})
	}
	for _, verdict := range []string{"ready", "not_ready", "unreachable", "not_probed"} {
		filters = append(filters, filter{"verdict=" + verdict, func(i listed) bool { return i.Verdict == verdict }})
	}
	for _, protocol := range []string{"x402", "x402-v1", "mpp-v1"} {
		filters = append(filters, filter{"protocol=" + protocol,
			func(i listed) bool { return slices.Contains(i.Protocols, protocol) }})
	}
	for _, network := range []string{"eip155:8453", "eip155:137", "eip155:13", "eip155:1370", "solana:5eykt4UsFv8P8N" +
		"JdTREpY1vzqKqZKvdp", "solana:5eykt4usfv8p8njdtrepy1vzqkqzkvdp", "other"} {
		filters = append(filters, filter{"network=" + network,
			func(i listed) bool { return slices.Contains(i.Networks, network) }})
	}
	for _, scheme := range []string{"exact", "upto", "exac", "Exact"} {
		filters = append(filters, filter{"scheme=" + scheme,
			func(i listed) bool { return slices.Contains(i.Schemes, scheme) }})
	}
	for _, most := range []string{"0", "0.000001", "0.000002", "0.009999", "0.01", "0.010000", "0.010001", "0.999999",
		"1", "999999999998.999999", "999999999999"} {
		filters = append(filters, filter{"max_price_usdc=" + most, func(i listed) bool {
			return i.MinUSDC != "" && dollars(i.MinUSDC).Cmp(dollars(most)) <= 0
		}})
	}
	pays := func(i listed) bool { return i.Verdict == "ready" && slices.Contains(i.Protocols, "x402") }
	filters = append(filters, filter{"client=x402-fetch-unlimited", pays},
		filter{"client=x402-fetch", func(i listed) bool {
			return pays(i) && i.Host != "dear.example" && i.Host != "token.example"
		}},
		filter{"client=x402-fetch&protocol=mpp-v1&network=eip155:8453&max_price_usdc=0.001",
			func(i listed) bool { return i.Host == "both.example" }})
	some := 0
	for _, f := range filters {
		want := slices.DeleteFunc(slices.Clone(all), func(i listed) bool { return !f.keeps(i) })
		if got := l.kept(t, f.query); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s keeps\n%v, want\n%v", f.query, got, want)
		}
		if len(want) > 0 && len(want) < len(all) {
			some++
		}
	}
	if some < 20 {
		t.Errorf("%d filters of %d keep some and drop some", some, len(filters))
	}
}

// TestDiscoveryRefusesWhatItDoesNotKnow: a name or a value that is none is refused by its name, so
// that nobody takes the whole list for a filtered one.
func TestDiscoveryRefusesWhatItDoesNotKnow(t *testing.T) {
	l := edges(t)
	for _, path := range []string{"/corpus/discovery/resources?", "/corpus/discovery/search?query=example&"} {
		for query, field := range map[string]string{"max_price=1": "max_price", "maxPrice=1": "maxPrice",
			"price=1": "price", "max_usdc=1": "max_usdc", "Tier=observed": "Tier", "tiers=observed": "tiers",
			"pay_to=0x1": "pay_to", "tier=": "tier", "tier=Observed": "tier", "protocol=l402": "protocol",
			"protocol=X402": "protocol", "client=": "client", "client=x402-axios": "client",
			"verdict=fine": "verdict", "max_price_usdc=": "max_price_usdc", "max_price_usdc=-1": "max_price_usdc",
			"max_price_usdc=0.0000001": "max_price_usdc", "max_price_usdc=1000000000000": "max_price_usdc",
			"max_price_usdc=01": "max_price_usdc", "max_price_usdc=.5": "max_price_usdc", "network=": "network",
			"limit=101": "limit", "limit=ten": "limit"} {
			status, body := l.get(t, path+query)
			var said struct {
				Error  string `json:"error"`
				Fields []struct {
					Field   string `json:"field"`
					Problem string `json:"problem"`
				} `json:"errors"`
			}
			err := json.Unmarshal(body, &said)
			if err != nil || status != http.StatusBadRequest || len(said.Fields) != 1 ||
				said.Fields[0].Field != field || said.Fields[0].Problem == "" {
				t.Errorf("%s%s: %d %v, want one error of %s in %s", path, query, status, err, field, body)
			}
		}
	}
	for _, query := range []string{"query=%20", "query=+%09", "query=", "query=&limit=1", "limit=1"} {
		if status, body := l.get(t, "/corpus/discovery/search?"+query); status != http.StatusBadRequest {
			t.Errorf("a search for %q: %d %s", query, status, body)
		}
	}
}

// TestDiscoverySearchReadsCapitals: a word is found however it or the address is written.
func TestDiscoverySearchReadsCapitals(t *testing.T) {
	l := edges(t)
	for query, want := range map[string]int{"Weather": 1, "weather": 1, "WEATHER lisbon": 1, "weather porto": 0,
		"CAPITALS.example/weather": 1, "https": len(edgeRows())} {
		if got := l.search(t, url.QueryEscape(query), 100, func(int) {}); len(got) != want {
			t.Errorf("%q finds %v, want %d", query, got, want)
		}
	}
}
