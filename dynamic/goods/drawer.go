package goods

import (
	"context"
	"fmt"

	"agentstore/content"
)

type curio struct {
	text
	Name string `json:"name,omitzero"`
}

// drawer gives the one curio it finds; each leaves the drawer once.
var drawer = Kind{
	Name:      content.KindDrawer,
	Doc:       "one curio, given once, stock counted",
	Delivers:  curio{},
	Counted:   true,
	Available: onceAvailable,
	Reserve:   once,
	Release:   onceRelease,
	Settle:    onceSettle,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return made(o, curio{text{e.Text}, e.Name}, e.Name, fmt.Sprintf("%s. %s", e.Name, e.Text)), nil
	},
}
