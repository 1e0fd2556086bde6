package goods

import (
	"context"

	"agentstore/content"
)

// claim writes down the buyer's idea, word for word and in public, with the keeper's line beside it.
var claim = Kind{
	Name:     content.KindClaim,
	Doc:      "the buyer's own text, dated and public",
	Delivers: text{},
	Reserve:  anyEntry,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		g := made(o, text{o.Inputs["detail"]}, e.Text, e.Text)
		g.Tag = o.Inputs["detail"]
		return g, nil
	},
}
