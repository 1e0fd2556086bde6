package goods

import (
	"store.example/agentstore/content"
	"store.example/agentstore/templates/drawing"
)

type portrayed struct {
	text
	SVG     string `json:"svg,omitzero"`
	HeldFor string `json:"held_for,omitzero"`
}

// portrait draws the paying wallet from its address.
var portrait = notTwice(Kind{
	Name:     content.KindPortrait,
	Delivers: portrayed{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		return MadeOf(o, portrayed{text{e.Text}, drawing.Portrait(o.Payer), o.Payer}, e.Text, e.Text)
	}),
})
