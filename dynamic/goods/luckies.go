package goods

import (
	"fmt"

	"store.example/agentstore/content"
	"store.example/agentstore/templates/drawing"
)

type card struct {
	text
	Animal   string `json:"animal,omitzero"`
	Strength string `json:"strength,omitzero"`
	SVG      string `json:"svg,omitzero"`
}

// luckies deals an animal card with an honest strength.
var luckies = notTwice(Kind{
	Name:     content.KindLuckies,
	Delivers: card{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		d := card{text{e.Text}, e.Animal, e.Strength, drawing.AnimalCard(e.Animal, e.Strength, seed(o))}
		g := MadeOf(o, d, fmt.Sprintf("The %s: %s.", e.Animal, e.Strength),
			fmt.Sprintf("The %s, %s. %s", e.Animal, e.Strength, e.Text))
		g.Win = e.Strength
		return g
	}),
})
