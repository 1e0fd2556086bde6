package goods

import (
	"context"

	"agentstore/content"
)

// blessing gives a blessing that differs from the payer's last one.
var blessing = Kind{
	Name:     content.KindBlessing,
	Doc:      "a blessing, never the same one twice running to one wallet",
	Reserve:  notTwice,
	Release:  notTwiceRelease,
	Complete: notTwiceComplete,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		e, err := m.entry(o)
		if err != nil {
			return nil, err
		}
		return made(o, Deliverable{Text: e.Text}, e.Text, e.Text), nil
	},
}
