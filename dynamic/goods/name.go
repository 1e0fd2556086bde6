package goods

import (
	"context"
	"fmt"

	"agentstore/content"
)

type invented struct {
	text
	Name    string `json:"name,omitzero"`
	HeldFor string `json:"held_for,omitzero"`
}

// name hands out an invented name with its reason, and notes what the buyer says that it is for.
var name = Kind{
	Name:     content.KindName,
	Doc:      "an invented name, not the one this wallet was given last",
	Delivers: invented{},
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		says := fmt.Sprintf("%s. %s", e.Name, e.Text)
		note := says
		if what := o.Inputs["detail"]; what != "" {
			note += " For: " + what
		}
		g := made(o, invented{text{e.Text}, e.Name, o.Inputs["detail"]}, says, note)
		g.Tag = e.Name
		return g, nil
	},
}
