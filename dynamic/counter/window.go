package counter

import (
	"errors"
	"net/http"

	"agentstore/dynamic/problem"
)

// Window is what is on display now: of every good that is counted, what is left of it.
type Window struct {
	Version   string      `json:"version"` // v1
	AsOf      string      `json:"as_of"`   // RFC 3339, by the ledger's clock
	Stock     []OnDisplay `json:"stock"`   // in shelf order
	NextSteps []string    `json:"next_steps"`
}

// OnDisplay is one counted good.
type OnDisplay struct {
	ItemID    string `json:"item_id"`
	Name      string `json:"name"`
	State     string `json:"state"` // on_the_shelf or not_to_be_had
	Left      int    `json:"left"`
	Says      string `json:"says,omitzero"`       // why it is not to be had
	ReopensAt string `json:"reopens_at,omitzero"` // RFC 3339
	HeldUntil string `json:"held_until,omitzero"` // RFC 3339: what is left is held for payments that are not settled yet
	PriceUSDC string `json:"price_usdc"`
	BuyURL    string `json:"buy_url"`
}

// The words of OnDisplay.State.
const (
	onTheShelf  = "on_the_shelf"
	notToBeHad  = "not_to_be_had"
	windowFresh = "public, max-age=5"
)

// serveWindow answers GET /api/window/v1. It reads the ledger and changes nothing.
func (c *Counter) serveWindow(w http.ResponseWriter, r *http.Request) error {
	at, stock, err := c.till.Stock(r.Context())
	if err != nil {
		return c.problem(err, request{})
	}
	out := Window{Version: "v1", AsOf: stamp(at), Stock: []OnDisplay{}, NextSteps: []string{
		"GET buy_url without a payment answers 402 with the terms and reserves nothing.", "GET " + c.BaseURL + "/menu.json lists the goods that are not counted as well."}}
	for _, g := range stock {
		d := OnDisplay{ItemID: g.ID, Name: g.Name, State: onTheShelf, Left: g.Left, PriceUSDC: g.PriceUSDC(), BuyURL: c.BaseURL + g.Path}
		if g.Out != nil {
			d.State = notToBeHad
			// The answer to a buyer says it in the same words.
			if e, ok := errors.AsType[*problem.Error](c.problem(g.Out, request{})); ok {
				d.Says = e.Detail
				d.ReopensAt, _ = e.Extra["reopens_at"].(string)
				d.HeldUntil, _ = e.Extra["held_until"].(string)
			}
		}
		out.Stock = append(out.Stock, d)
	}
	w.Header().Set("Cache-Control", windowFresh)
	return writeJSON(w, out)
}
