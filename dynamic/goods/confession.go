package goods

import (
	"context"

	"agentstore/content"
)

// confession hears a text, answers it, and signs only its salted digest.
var confession = Kind{
	Name:    content.KindConfession,
	Doc:     "heard and answered; the certificate carries a salted digest and nothing else of it",
	Reserve: anyEntry,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		g := made(o, Deliverable{Text: e.Text}, e.Text, e.Text)
		seal(g, o.Inputs["detail"])
		return g, nil
	},
}
