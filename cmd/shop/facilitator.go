package shop

import (
	"context"
	"errors"
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/settle"
)

// maxFacilitatorWait keeps an answer of /settle within the 90 s that stock clients wait, with what
// verifying and broadcasting take before.
const maxFacilitatorWait = 50 * time.Second

// facilitatorRoutes are what a facilitator serves (x402 v2, facilitator interface).
var facilitatorRoutes = []api.Route{
	{
		Name: "facilitator_verify", Method: http.MethodPost, Pattern: "/verify", Serve: api.Metered,
		Budget: "facilitator", Summary: "Says whether a payment would be settled",
		Body: facilitatorBody,
	},
	{
		Name: "facilitator_settle", Method: http.MethodPost, Pattern: "/settle", Serve: api.Metered,
		Budget: "facilitator", Timeout: facilitator.Timeout,
		Summary: "Settles a payment; the same again is answered with the same settlement",
		Body:    facilitatorBody,
	},
	{
		Name: "facilitator_supported", Method: http.MethodGet, Pattern: "/supported", Serve: api.Ledger,
		Summary: "The networks and accounts by which payments are settled",
	},
}

var facilitatorBody = &api.Body{ContentType: api.JSON, Limit: facilitator.MaxRequest,
	Description: "x402Version, paymentPayload and paymentRequirements"}

// facilitatorBudgets bound what one seller's address may ask, since each answer asks a node.
var facilitatorBudgets = []budget.Limit{{Name: "facilitator", Window: time.Minute, Client: 1200,
	Doc: "Payments verified and settled for other sellers, by the seller's address."}}

// OpenFacilitator puts together a shop that sells nothing and settles other sellers' payments. What
// it has settled, and what it was settling, is in the ledger. Close it.
func OpenFacilitator(ctx context.Context, c *Config, o Options) (_ *Shop, err error) {
	if c.Facilitator.Listen == "" {
		return nil, errors.New("facilitator.listen and facilitator.pay_to are empty, so there is nobody to settle " +
			"for: " +
			"see [facilitator] in what store config prints")
	}
	s := &Shop{Config: *c, Log: o.Log}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, n := range c.Networks {
		if n.Facilitator != "" {
			return nil, errors.New("network " + n.ID +
				": a facilitator settles by relayer_key, not by another facilitator")
		}
	}
	spec, err := LedgerSpec(c)
	if err != nil {
		return nil, err
	}
	if s.DB, err = dynamic.Open(ctx, spec); err != nil {
		return nil, err
	}
	metrics := dynamic.NewMetrics()
	if err := s.openRails(metrics); err != nil {
		return nil, err
	}
	guard, err := s.guard(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	driver, err := settle.New(settle.Config{DB: s.DB, Rails: s.Rails, Gas: guard, Log: s.Log})
	if err != nil {
		return nil, err
	}
	h, err := facilitator.NewHandler(facilitator.HandlerConfig{Rails: s.Rails, PayTo: c.Facilitator.PayTo, Gas: guard,
		Settles: driver, Wait: time.Duration(c.Facilitator.Wait), Client: route.Address, Outcome: metrics.Settlement,
		Log: s.Log})
	if err != nil {
		return nil, err
	}
	var rows []route.Row
	for _, r := range facilitatorRoutes {
		rows = append(rows, route.Row{Route: r, Handle: func(w http.ResponseWriter, r *http.Request) error {
			h.ServeHTTP(w, r)
			return nil
		}})
	}
	proxies, err := prefixes(c.Server.TrustedProxies)
	if err != nil {
		return nil, err
	}
	budgets, err := budget.New(s.DB, facilitatorBudgets)
	if err != nil {
		return nil, err
	}
	s.Server, err = dynamic.New(dynamic.Config{Rows: rows, BaseURL: c.BaseURL, Log: s.Log, Level: o.Level,
		Metrics: metrics,
		Budgets: budgets, TrustedProxies: proxies, Drains: []dynamic.Drain{h}})
	return s, err
}
