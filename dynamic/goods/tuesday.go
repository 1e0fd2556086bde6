package goods

import (
	"context"
	"fmt"
	"time"

	"agentstore/content"
	"agentstore/dynamic/ledger"
	"agentstore/templates/drawing"
)

// JarCounter is the ledger counter of jars sold.
const JarCounter = "jar_of_tuesday"

type jar struct {
	text
	Date   string `json:"date,omitzero"`   // ISO 8601
	Number int64  `json:"number,omitzero"` // of the jar; not the patron number
	SVG    string `json:"svg,omitzero"`
}

// tuesday sells one particular Tuesday, once. The jar's number is given when it is paid for, so numbers have no gaps.
var tuesday = Kind{
	Name:      content.KindTuesday,
	Doc:       "a particular Tuesday, numbered as sold, never sold twice",
	Delivers:  jar{},
	Counted:   true,
	Available: onceAvailable,
	Reserve:   once,
	Release:   onceRelease,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		date := e.Date.Format(time.DateOnly)
		return made(o, jar{text: text{e.Text}, Date: date}, e.Text, fmt.Sprintf("Tuesday, %s. %s", date, e.Text)), nil
	},
	Settle: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
		if err := onceSettle(m, tx, o, g); err != nil {
			return err
		}
		n, err := ledger.Next(tx, JarCounter)
		if err != nil {
			return err
		}
		d, err := delivered[jar](g)
		if err != nil {
			return err
		}
		date, err := time.Parse(time.DateOnly, d.Date)
		if err != nil {
			return err
		}
		d.Number, d.SVG = n, drawing.TuesdayJar(date, n)
		g.Deliver(o.Good.Kind, d)
		g.Number = n
		g.Tag = fmt.Sprintf("jar %d", n)
		return nil
	},
}
