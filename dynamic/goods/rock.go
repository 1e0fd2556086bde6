package goods

import (
	"context"
	"crypto/sha256"
	"fmt"

	"agentstore/content"
	"agentstore/templates/drawing"
)

type stone struct {
	text
	Name        string `json:"name,omitzero"`
	Temperament string `json:"temperament,omitzero"`
	SVG         string `json:"svg,omitzero"`
}

// rock gives a rock: a name, a temperament and a drawing of its own.
var rock = Kind{
	Name:     content.KindRock,
	Doc:      "a rock with a drawn portrait and a temperament",
	Delivers: stone{},
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		d := stone{text{e.Text}, e.Name, e.Temperament, drawing.Rock(seed(o), e.Name)}
		return made(o, d, fmt.Sprintf("%s, %s", e.Name, e.Temperament), fmt.Sprintf("%s, %s. %s", e.Name, e.Temperament, e.Text)), nil
	},
}

// seed makes drawings differ from purchase to purchase without showing the purchase in them.
func seed(o *Order) []byte {
	h := sha256.Sum256([]byte("store-drawing/v1|" + o.ID))
	return h[:]
}
