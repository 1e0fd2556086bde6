package counter

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// DiscoveryPath is where crawlers of x402 look for what a seller has, as facilitators serve it.
const DiscoveryPath = "/discovery/resources"

// Discovered is a page of the list.
type Discovered struct {
	Version    int            `json:"x402Version"`
	Items      []Resource     `json:"items"`
	Pagination DiscoveredPage `json:"pagination"`
}

// DiscoveredPage says which part of the list it is.
type DiscoveredPage struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
	Total  int `json:"total"`
}

// Resource is one paid door: its terms as its 402 has them, but for what a 402 says anew each time.
type Resource struct {
	URL         string                     `json:"resource"`
	Type        string                     `json:"type"` // http
	Version     int                        `json:"x402Version"`
	Accepts     []rail.Requirement         `json:"accepts"`
	LastUpdated string                     `json:"lastUpdated"` // RFC 3339: the site as it stands is of this day
	Description string                     `json:"description"`
	MediaType   string                     `json:"mimeType"`
	Service     string                     `json:"serviceName"`
	Available   bool                       `json:"available"`       // false: the store cannot make it at present
	Why         string                     `json:"reason,omitzero"` // why not
	Extensions  map[string]json.RawMessage `json:"extensions"`      // bazaar: the inputs
}

const (
	discoveredLimit = 20 // unless a caller says otherwise
	discoveredMost  = 100
)

func (c *Counter) discoveryRow() route.Row {
	least, most, start := 1.0, float64(discoveredMost), 0.0
	return route.Row{
		Name: "discovery_resources", Method: http.MethodGet, Pattern: DiscoveryPath, Tag: "agents",
		Serve: api.Ledger, Summary: "The store's own paid doors, for crawlers of x402",
		Description: "In the form in which facilitators list resources. The terms are those of the doors' 402 at " +
			"present; what is sold out is listed all the same, and so is what cannot be made at present, with " +
			"available false and the reason. The doors of others that were observed are at /corpus/discovery.",
		Params: []api.Param{
			{Name: "type", In: api.QueryP, Type: "string", MaxLength: 20,
				Description: "http; of every other type there is nothing"},
			{Name: "limit", In: api.QueryP, Type: "integer", Minimum: &least, Maximum: &most,
				Description: "how many; 20 if left out"},
			{Name: "offset", In: api.QueryP, Type: "integer", Minimum: &start,
				Description: "how many to leave out at the beginning"},
		},
		Responses: ok(api.Response{Schema: api.SchemaFor[Discovered](), Headers: private,
			Description: "A page of the list"}),
		Handle: c.serveDiscovery,
	}
}

func (c *Counter) serveDiscovery(w http.ResponseWriter, r *http.Request) error {
	in := route.Inputs(r)
	var quotes []*till.Quote
	if kind := in.String("type"); kind == "" || kind == "http" {
		quotes = c.till.Quotes()
	}
	page := DiscoveredPage{Limit: discoveredLimit, Total: len(quotes)}
	if n := in.Int("limit"); n > 0 {
		page.Limit = int(n)
	}
	page.Offset = int(min(in.Int("offset"), int64(len(quotes))))
	quotes = quotes[page.Offset:min(len(quotes), page.Offset+page.Limit)]
	out := Discovered{Version: 2, Items: []Resource{}, Pagination: page}
	for _, q := range quotes {
		one, err := c.resource(q)
		if err != nil {
			return err
		}
		out.Items = append(out.Items, one)
	}
	w.Header().Set("Cache-Control", "public, max-age=60")
	return WriteJSON(w, out)
}

// resource is an offer as the list has it. Its inputs are those of the challenge.
func (c *Counter) resource(q *till.Quote) (Resource, error) {
	asked := c.quote(q.Offer, http.MethodGet)
	ch, err := c.challengeFor(q, false, false, c.Now())
	if err != nil {
		return Resource{}, err
	}
	one := Resource{URL: asked.URL, Type: "http", Version: 2, Accepts: c.till.Accepts(q),
		Description: asked.Description, MediaType: asked.MediaType, Service: serviceName(q.Site),
		Extensions: map[string]json.RawMessage{}, LastUpdated: q.Site.Config.Date.UTC().Format(time.RFC3339),
		Why: c.away(q.Offer)}
	one.Available = one.Why == ""
	for _, t := range ch.terms {
		for _, m := range t.Members() {
			var all map[string]json.RawMessage
			if m.Name == "extensions" && json.Unmarshal(m.Value, &all) == nil && all["bazaar"] != nil {
				one.Extensions["bazaar"] = slices.Clone(all["bazaar"])
			}
		}
	}
	return one, nil
}

// Away says why a good cannot be made here at present, "" for one that can or is not sold.
func (c *Counter) Away(item string) string {
	o := c.till.Good(c.Site.Now(), item)
	if o == nil {
		return ""
	}
	return c.away(o)
}

// away is Away in the words in which a buyer is told.
func (c *Counter) away(o *till.Offer) string {
	if e := c.till.Away(o); e != nil {
		if p, ok := errors.AsType[*problem.Error](c.problem(e, request{})); ok {
			return p.Detail
		}
	}
	return ""
}
