package goods

import (
	"errors"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
)

type fortune struct {
	text
	Day string `json:"day,omitzero"` // the UTC day that it is for
}

// daily gives one entry per wallet and UTC day: whoever asks again before midnight gets the same
// one.
var daily = Kind{
	Name:     content.KindDaily,
	Delivers: fortune{},
	Reserve: func(m Maker, tx ledger.Tx, o *Order) error {
		key := ledger.GoodsKey("day", day(o.At), o.Good.ID, o.Payer)
		held, err := tx.Get(key)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		if _, ok := m.Pools.Pool(o.Good.Pool).Entry(string(held)); ok {
			o.Entry = string(held)
			return nil
		}
		if err := anyEntry(m, tx, o); err != nil {
			return err
		}
		return tx.Set(key, []byte(o.Entry))
	},
	Make: ofEntry(func(o *Order, e content.Entry) *Made {
		return MadeOf(o, fortune{text{e.Text}, day(o.At)}, e.Text, e.Text)
	}),
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
