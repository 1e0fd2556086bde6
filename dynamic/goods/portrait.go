package goods

import (
	"context"

	"agentstore/content"
	"agentstore/templates/drawing"
)

type portrayed struct {
	text
	SVG     string `json:"svg,omitzero"`
	HeldFor string `json:"held_for,omitzero"`
}

// portrait draws the paying wallet from its address.
var portrait = Kind{
	Name:     content.KindPortrait,
	Doc:      "a generative portrait of the paying wallet",
	Delivers: portrayed{},
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return made(o, portrayed{text{e.Text}, drawing.Portrait(o.Payer), o.Payer}, e.Text, e.Text), nil
	},
}
