package counter

import (
	"testing"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/till"
)

// A window is kept up to its very end; from then on begun hours count, all that was paid is owed,
// and nothing of that is said of a term or of money that was taken back.
func TestTheEdgesOfAWindow(t *testing.T) {
	due := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return due.Add(d) }
	c := &Counter{}
	for name, o := range map[string]struct {
		now, done time.Time
		state     till.State
		term      bool
		hours     int64 // 0: no breach
		kind      string
	}{
		"a second before":      {now: at(-time.Second), state: till.Promised},
		"at its end":           {now: at(0), state: till.Promised},
		"a nanosecond past":    {now: at(1), state: till.Promised, hours: 1, kind: "still_open"},
		"an hour past":         {now: at(time.Hour), state: till.Promised, hours: 1, kind: "still_open"},
		"into the second hour": {now: at(time.Hour + 1), state: till.Promised, hours: 2, kind: "still_open"},
		"done at its end":      {now: at(48 * time.Hour), done: at(0), state: till.Delivered},
		"done a second late": {now: at(48 * time.Hour), done: at(time.Second), state: till.Delivered, hours: 1,
			kind: "delivered_late"},
		"late, then taken back": {now: at(48 * time.Hour), done: at(time.Hour), state: till.Reversed},
		"open, then taken back": {now: at(48 * time.Hour), state: till.Reversed},
		"a term past its end":   {now: at(48 * time.Hour), state: till.Promised, term: true},
		"a term closed too late": {now: at(48 * time.Hour), done: at(24 * time.Hour), state: till.Delivered,
			term: true},
	} {
		order := till.HumanOrder{ID: "order_abcdefghij2345672345", At: o.now, Window: 168,
			Work:     goods.Handwork{DueAt: due, CompletedAt: o.done},
			Purchase: &till.Purchase{State: o.state, Amount: 3_500_000}}
		if o.term {
			order.Term = &goods.Watched{}
		}
		b := c.orderView(order).Breach
		if (b == nil) != (o.hours == 0) || b != nil && (b.HoursLate != o.hours || b.Kind != o.kind ||
			b.OwedUSDC != "3.5" || b.DueAt != "2026-12-31T23:30:00Z") {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
