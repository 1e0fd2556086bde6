package goods

import (
	"context"
	"fmt"

	"agentstore/content"
)

// drawer gives the one curio it finds; each leaves the drawer once.
var drawer = Kind{
	Name:      content.KindDrawer,
	Doc:       "one curio, given once, stock counted",
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
		return made(o, Deliverable{Name: e.Name, Text: e.Text}, e.Name, fmt.Sprintf("%s. %s", e.Name, e.Text)), nil
	},
}
