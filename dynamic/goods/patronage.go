package goods

import (
	"context"

	"agentstore/content"
)

// patronage thanks a patron. It entitles to nothing but a nicer badge.
var patronage = Kind{
	Name:    content.KindPatronage,
	Doc:     "thanks, and the nicer badge",
	Reserve: anyEntry,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return made(o, Deliverable{Text: e.Text}, e.Text, e.Text), nil
	},
}

// NicerBadge reports whether a good comes with the nicer badge.
func NicerBadge(kind string) bool { return kind == content.KindPatronage }
