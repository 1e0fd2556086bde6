package goods

import (
	"crypto/sha256"
	"fmt"

	"store.example/agentstore/content"
	"store.example/agentstore/templates/drawing"
)

type stone struct {
	text
	Name        string `json:"name,omitzero"`
	Temperament string `json:"temperament,omitzero"`
	SVG         string `json:"svg,omitzero"`
}

// rock gives a rock: a name, a temperament and a drawing of its own.
var rock = notTwice(Kind{
	Name:     content.KindRock,
	Delivers: stone{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		d := stone{text{e.Text}, e.Name, e.Temperament, drawing.Rock(seed(o), e.Name)}
		return MadeOf(o, d, fmt.Sprintf("%s, %s", e.Name, e.Temperament),
			fmt.Sprintf("%s, %s. %s", e.Name, e.Temperament,
				e.Text))
	}),
})

// seed makes drawings differ from purchase to purchase without showing the purchase in them.
func seed(o *Order) []byte {
	h := sha256.Sum256([]byte("store-drawing/v1|" + o.ID))
	return h[:]
}
