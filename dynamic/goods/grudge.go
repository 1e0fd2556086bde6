package goods

import (
	"context"

	"agentstore/content"
)

// grudge is held for the buyer; what it is about stays private and is signed as a salted digest.
var grudge = Kind{
	Name:     content.KindGrudge,
	Doc:      "a grudge held on the buyer's behalf",
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		g := made(o, Deliverable{Text: e.Text, HeldFor: o.Payer}, e.Text, e.Text)
		if text := o.Inputs["detail"]; text != "" {
			held := g.Attests
			seal(g, text)
			g.Attests = held + " What it is about: " + g.Attests
		}
		return g, nil
	},
}
