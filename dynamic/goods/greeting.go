package goods

import (
	"context"

	"agentstore/content"
)

// greeting says hello.
var greeting = Kind{
	Name:    content.KindGreeting,
	Doc:     "any greeting from the pool",
	Reserve: anyEntry,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return made(o, Deliverable{Text: e.Text}, e.Text, e.Text), nil
	},
}
