package goods

import (
	"fmt"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/templates/drawing"
)

// JarCounter is the ledger counter of jars sold.
const JarCounter = "jar_of_tuesday"

type jar struct {
	text
	Date   string `json:"date,omitzero"`   // ISO 8601
	Number int64  `json:"number,omitzero"` // of the jar; not the patron number
	SVG    string `json:"svg,omitzero"`
}

// tuesday sells one particular Tuesday, once. The jar's number is given when it is paid for, so
// numbers have no gaps.
var tuesday = once(Kind{
	Name:     content.KindTuesday,
	Delivers: jar{},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		date := e.Date.Format(time.DateOnly)
		return MadeOf(o, jar{text: text{e.Text}, Date: date}, e.Text, fmt.Sprintf("Tuesday, %s. %s", date, e.Text))
	}),
	Settle: func(_ Maker, tx ledger.Tx, o *Order, g *Made) error {
		n, err := ledger.Next(tx, JarCounter)
		if err != nil {
			return err
		}
		d, err := Delivered[jar](g)
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
})
