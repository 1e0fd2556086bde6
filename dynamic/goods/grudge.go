package goods

import (
	"context"

	"agentstore/content"
)

type heldGrudge struct {
	text
	sealed
	HeldFor string `json:"held_for,omitzero"` // wallet
}

// grudge is held for the buyer; what it is about stays private and is signed as a salted digest.
var grudge = Kind{
	Name:     content.KindGrudge,
	Doc:      "a grudge held on the buyer's behalf",
	Delivers: heldGrudge{},
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		d := heldGrudge{text: text{e.Text}, HeldFor: o.Payer}
		about, attests := o.Inputs["detail"], ""
		if about != "" {
			d.sealed, attests = seal(about)
		}
		g := made(o, d, e.Text, e.Text)
		if about != "" {
			g.Attests += " What it is about: " + attests
		}
		return g, nil
	},
}
