package goods

import (
	"fmt"

	"store.example/agentstore/content"
)

type invented struct {
	text
	Name    string `json:"name,omitzero"`
	HeldFor string `json:"held_for,omitzero"`
}

// name hands out an invented name with its reason, and notes what the buyer says that it is for.
var name = notTwice(Kind{
	Name:     content.KindName,
	Delivers: invented{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		says := fmt.Sprintf("%s. %s", e.Name, e.Text)
		note := says
		if what := o.Inputs["detail"]; what != "" {
			note += " For: " + what
		}
		g := MadeOf(o, invented{text{e.Text}, e.Name, o.Inputs["detail"]}, says, note)
		g.Tag = e.Name
		return g
	}),
})
