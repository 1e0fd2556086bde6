package counter

import (
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
)

// OffersPath is where the signed offers of what is sold are, which a 402 names in offers_url.
const OffersPath = "/api/offers"

// Offered are the terms of one door with a signed offer for each.
type Offered struct {
	Resource string             `json:"resource"` // the door's address
	Accepts  []rail.Requirement `json:"accepts"`  // as its 402 has them, but for what that says anew each time
	Offers   []x402.Offer       `json:"offers"`   // one for every entry of accepts
	Until    string             `json:"until"`    // RFC 3339: the same offers are given until then
}

func (c *Counter) offersRow() route.Row {
	return route.Row{
		Name: "signed_offers", Method: http.MethodGet, Pattern: OffersPath, Tag: "purchase",
		Serve: api.Ledger, Summary: "The signed offers of one door",
		Description: "A JWS for every entry of accepts, where the 402 has that of the first alone. Free; it " +
			"reserves nothing.",
		Params: []api.Param{{Name: "item", In: api.QueryP, Type: "string", Required: true, MinLength: 1,
			MaxLength: 200, Description: "what is sold: a good's id, or a paid page's path without its first /"}},
		Responses: ok(api.Response{Schema: api.SchemaFor[Offered](), Headers: private,
			Description: "The terms and their offers"}, route.Problems(404, 503)...),
		Handle: c.serveOffers,
	}
}

func (c *Counter) serveOffers(w http.ResponseWriter, r *http.Request) error {
	o, err := c.till.Offer(r.Context(), route.Inputs(r).String("item"))
	if err != nil {
		return c.problem(err, request{})
	}
	if o == nil {
		return &problem.Error{Code: "not_found", Detail: "Nothing is sold under that id. GET /menu.json has the goods."}
	}
	q, err := c.till.Quote(o)
	if err != nil {
		return c.problem(err, request{})
	}
	minute := c.Now().UTC().Truncate(time.Minute)
	asked := c.asked(q, http.MethodGet, minute)
	signed, err := x402.Offers(asked, pay.SignOffer(c.signOffer), len(asked.Accepts))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=15")
	return WriteJSON(w, Offered{asked.URL, asked.Accepts, signed, minute.Add(time.Minute).Format(time.RFC3339)})
}
