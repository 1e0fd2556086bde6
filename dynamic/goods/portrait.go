package goods

import (
	"context"

	"agentstore/content"
	"agentstore/templates/drawing"
)

// portrait draws the paying wallet from its address.
var portrait = Kind{
	Name:     content.KindPortrait,
	Doc:      "a generative portrait of the paying wallet",
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return made(o, Deliverable{Text: e.Text, HeldFor: o.Payer, SVG: drawing.Portrait(o.Payer)}, e.Text, e.Text), nil
	},
}
