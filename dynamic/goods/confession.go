package goods

import (
	"context"

	"agentstore/content"
)

type confessed struct {
	text
	sealed
}

// confession hears a text, answers it, and signs only its salted digest.
var confession = Kind{
	Name:     content.KindConfession,
	Doc:      "heard and answered; the certificate carries a salted digest and nothing else of it",
	Delivers: confessed{},
	Reserve:  anyEntry,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		private, attests := seal(o.Inputs["detail"])
		g := made(o, confessed{text{e.Text}, private}, e.Text, e.Text)
		g.Attests = attests
		return g, nil
	},
}
