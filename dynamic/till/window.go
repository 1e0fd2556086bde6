package till

import (
	"errors"
	"net/http"
	"time"

	"agentstore/content"
	"agentstore/content/api"
	"agentstore/dynamic/goods"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/route"
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

// window answers GET /api/window/v1. It reads the ledger and changes nothing.
func (t *Till) window(w http.ResponseWriter, r *http.Request) error {
	out := Window{Version: "v1", Stock: []OnDisplay{}, NextSteps: []string{
		"GET buy_url without a payment answers 402 with the terms and reserves nothing.", "GET " + t.cfg.BaseURL + "/menu.json lists the goods that are not counted as well."}}
	err := t.view(r.Context(), func(tx ledger.Tx) error {
		out.AsOf, out.Stock = tx.Now().UTC().Truncate(time.Second).Format(time.RFC3339), out.Stock[:0]
		site := t.cfg.Site.Now()
		for _, g := range site.Goods {
			if !g.Stock {
				continue
			}
			d, err := t.display(tx, goods.Maker{Site: site}, g)
			if err != nil {
				return err
			}
			out.Stock = append(out.Stock, d)
		}
		return nil
	})
	if err != nil {
		return ledgerDown(err)
	}
	w.Header().Set("Cache-Control", windowFresh)
	return writeJSON(w, out)
}

// display says how one counted good stands.
func (t *Till) display(tx ledger.Tx, m goods.Maker, g content.Good) (OnDisplay, error) {
	d := OnDisplay{ItemID: g.ID, Name: g.Name, State: onTheShelf, PriceUSDC: g.PriceUSDC(), BuyURL: t.cfg.BaseURL + "/api/buy/" + g.ID}
	left, err := m.Left(tx, g)
	if err != nil {
		return d, err
	}
	d.Left = left
	k, err := goods.Of(g)
	if err != nil || k.Available == nil {
		return d, err
	}
	err = k.Available(m, tx, g, nil)
	if err == nil {
		return d, nil
	}
	if !refused(err) {
		return d, err
	}
	// The answer to a buyer says it in the same words.
	d.State = notToBeHad
	if e, ok := errors.AsType[*problem.Error](t.gateError(err)); ok {
		d.Says = e.Detail
		d.ReopensAt, _ = e.Extra["reopens_at"].(string)
		d.HeldUntil, _ = e.Extra["held_until"].(string)
	}
	return d, nil
}

func (t *Till) windowRow(responses []api.Response) route.Row {
	return route.Row{
		Route: api.Route{
			Name: "window_v1", Method: http.MethodGet, Pattern: "/api/window/v1", Tags: []string{"storefront"}, Serve: api.Ledger, Version: "v1", Since: api.ContractSince, Tool: "look_in_window",
			Summary:     "What is on display now",
			Description: "The live stock of every good that is counted: how many are left, or why none is to be had. Free; it reserves nothing.",
			Responses:   responses,
		},
		Handle: t.window,
	}
}
