package goods

import (
	"context"
	"fmt"

	"agentstore/content"
	"agentstore/templates/drawing"
)

type card struct {
	text
	Animal   string `json:"animal,omitzero"`
	Strength string `json:"strength,omitzero"`
	SVG      string `json:"svg,omitzero"`
}

// luckies deals an animal card with an honest strength.
var luckies = Kind{
	Name:     content.KindLuckies,
	Doc:      "an animal card, drawn, with one of three strengths",
	Delivers: card{},
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		d := card{text{e.Text}, e.Animal, e.Strength, drawing.AnimalCard(e.Animal, e.Strength, seed(o))}
		g := made(o, d, fmt.Sprintf("The %s: %s.", e.Animal, e.Strength), fmt.Sprintf("The %s, %s. %s", e.Animal, e.Strength, e.Text))
		g.Win = e.Strength
		return g, nil
	},
}
