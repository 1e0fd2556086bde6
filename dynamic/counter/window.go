package counter

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/problem"
)

// Window is what is on display now.
type Window struct {
	Version   string      `json:"version"` // v1
	AsOf      string      `json:"as_of"`   // RFC 3339, by the ledger's clock
	Stock     []OnDisplay `json:"stock"`   // every good that is counted or cannot be made, in shelf order
	Porch     *PorchSays  `json:"porch,omitempty"`
	Stamp     *WeeksStamp `json:"stamp,omitempty"`
	Newest    []Title     `json:"newest"` // of each publication, the newest first
	NextSteps []string    `json:"next_steps"`
}

// PorchSays is what is said on the porch in this hour.
type PorchSays struct {
	Line string `json:"line"`
	Hour string `json:"hour"` // RFC 3339 UTC, its beginning
	URL  string `json:"url"`
}

// WeeksStamp is what the free stamp of this week says.
type WeeksStamp struct {
	Week string `json:"week"` // ISO week, 2026-W48
	Line string `json:"line"`
	How  string `json:"how"`
}

// Title is a page that is sold.
type Title struct {
	Title       string `json:"title"`
	Publication string `json:"publication"`
	Date        string `json:"date"` // of its publishing, 2026-11-23
	PriceUSDC   string `json:"price_usdc"`
	BuyURL      string `json:"buy_url"`
}

// OnDisplay is one good that is counted, or that cannot be made.
type OnDisplay struct {
	ItemID    string `json:"item_id"`
	Name      string `json:"name"`
	State     string `json:"state"` // on_the_shelf or not_to_be_had
	Left      int    `json:"left"`
	Says      string `json:"says,omitzero"`       // why it is not to be had
	ReopensAt string `json:"reopens_at,omitzero"` // RFC 3339
	// RFC 3339: what is left is held for payments that are not settled yet
	HeldUntil string `json:"held_until,omitzero"`
	// paid orders that wait for the keeper, of what is made by hand
	Waiting   *int   `json:"waiting,omitempty"`
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
	site := c.Site.Now()
	out := Window{Version: "v1", AsOf: stamp(at), Stock: []OnDisplay{}, Porch: c.porchSays(site, at),
		Newest: c.newest(site), NextSteps: []string{
			"GET buy_url without a payment answers 402 with the terms and reserves nothing.", "GET " + c.BaseURL +
				"/menu.json lists the goods that are not counted as well."}}
	for _, g := range stock {
		d := OnDisplay{ItemID: g.ID, Name: g.Name, State: onTheShelf, Left: g.Left, Waiting: g.Waiting,
			PriceUSDC: g.PriceUSDC(),
			BuyURL:    c.BaseURL + g.Path}
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
	if c.cfg.Stamp != nil && site.Has("stamps") {
		week, line, err := c.cfg.Stamp(r.Context())
		if err != nil {
			return err
		}
		out.Stamp = &WeeksStamp{Week: week, Line: line, How: "POST " + c.BaseURL + "/api/stamp, free"}
	}
	w.Header().Set("Cache-Control", windowFresh)
	return WriteJSON(w, out)
}

// porchSays is the line of the hour of a time, nil where there is no porch.
func (c *Counter) porchSays(site *content.Site, at time.Time) *PorchSays {
	if c.cfg.Weather == nil || !site.Has("porch") || !site.Porch.Open() {
		return nil
	}
	hour := at.UTC().Truncate(time.Hour)
	return &PorchSays{Line: site.Porch.Line(hour, c.cfg.Weather(hour)), Hour: stamp(hour), URL: c.BaseURL + "/porch"}
}

// newest is the page of each publication that came last, the newest first.
func (c *Counter) newest(site *content.Site) []Title {
	titles := []Title{}
	for _, p := range content.Publications {
		if of := site.IssuesOf(p.Name); len(of) > 0 {
			titles = append(titles, Title{Title: of[0].Title, Publication: p.Name,
				Date: of[0].Date.Format(time.DateOnly), PriceUSDC: content.FormatUSDC(p.Price),
				BuyURL: c.BaseURL + of[0].Path()})
		}
	}
	slices.SortStableFunc(titles, func(a, b Title) int { return strings.Compare(b.Date, a.Date) })
	return titles
}
