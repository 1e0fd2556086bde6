package visitors

import (
	"net/http"
	"strconv"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// Rung is the answer to a ring of the bell.
type Rung struct {
	Message string `json:"message"`
	Count   int    `json:"count"` // rings today, by UTC, with this one
	Cadence string `json:"cadence"`
}

// postBell answers POST /api/bell. Nothing of who rang is kept but the day's count.
func (d *Service) postBell(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r)
	n := 0
	err := d.cfg.DB.Update(r.Context(), func(tx ledger.Tx) (err error) {
		n, err = d.take(tx, v, KindBell, 0)
		return err
	})
	if err != nil {
		return down(err)
	}
	out := Rung{Message: "The bell rings. The cat looks up.", Count: n, Cadence: "once a day for a visitor, by UTC"}
	return d.answer(w, r, http.StatusOK, out, func() *templates.SheetView {
		return &templates.SheetView{Page: templates.Page{Title: "The bell", Summary: out.Message, Path: "/api/bell"},
			Sections: []templates.Section{{Facts: []templates.Fact{{Name: "Rings today", Value: strconv.Itoa(n)},
				{Name: "How often", Value: out.Cadence}}}}}
	})
}

func (d *Service) bellRows() []route.Row {
	return []route.Row{
		write(api.Route{
			Name: "bell", Pattern: "/api/bell", Summary: "Ring the bell",
			Description: "Free, once a day for a visitor. It takes no body, and keeps no more than that it rang.",
		}, nil, route.Answers[Rung](http.StatusOK, "It rang", 429, 503), d.postBell),
	}
}
