package goods

import (
	"fmt"

	"store.example/agentstore/content"
)

type curio struct {
	text
	Name string `json:"name,omitzero"`
}

// drawer gives the one curio it finds; each leaves the drawer once.
var drawer = once(Kind{
	Name:     content.KindDrawer,
	Delivers: curio{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		return MadeOf(o, curio{text{e.Text}, e.Name}, e.Name, fmt.Sprintf("%s. %s", e.Name, e.Text))
	}),
})
