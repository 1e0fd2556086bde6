package goods

import (
	"context"
	"fmt"

	"agentstore/content"
)

// name hands out an invented name with its reason, and what it is for on the label.
var name = Kind{
	Name:     content.KindName,
	Doc:      "an invented name, not the one this wallet was given last",
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		g := made(o, Deliverable{Name: e.Name, Text: e.Text, HeldFor: o.Inputs["detail"]},
			fmt.Sprintf("%s. %s", e.Name, e.Text), fmt.Sprintf("%s. %s", e.Name, e.Text))
		g.Tag = o.Inputs["detail"]
		return g, nil
	},
}
