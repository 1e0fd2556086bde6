package onchain_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// doorsBought wants purchases at doors, and remembers them.
type doorsBought struct{ wanted []goods.Launch }

func (*doorsBought) Ready() error { return nil }

func (*doorsBought) Daily() int64 { return goods.LaunchCap }

func (*doorsBought) Drop(ledger.Tx, string) error { return nil }

func (b *doorsBought) Want(_ ledger.Tx, l goods.Launch) error {
	b.wanted = []goods.Launch{l} // a transaction may run more than once
	return nil
}

// fullLedger is a ledger that can be told to take nothing.
type fullLedger struct {
	ledger.DB
	now atomic.Bool
}

func (d *fullLedger) Update(ctx context.Context, f func(ledger.Tx) error) error {
	if d.now.Load() {
		return errors.New("no space left")
	}
	return d.DB.Update(ctx, f)
}

// A door that could not be bought at is told, and what was paid for it is owed as of a window that
// was missed; the keeper is asked to do nothing else about it.
func TestALaunchCheckThatCouldNotBe(t *testing.T) {
	t.Parallel()
	doors := &doorsBought{}
	db := &fullLedger{DB: ledger.NewMem(ledger.MemOptions{})}
	s := newShop(t, shopOptions{buyers: 1, db: db, config: func(c *till.Config) {
		c.Readings, c.Launches = &reader{}, doors
	}})
	const path = "/api/buy/launch_check?url=https://a.example/"
	r := s.present(path, s.sign(s.challenge(path), 0, s.net.Buyers[0], nil))
	s.want("a launch check", r, 200, "")
	id := r.Str("order_id")
	s.state(r.Purchase(), till.Promised)
	if len(doors.wanted) != 1 || doors.wanted[0].Order != id || doors.wanted[0].Reading == nil {
		t.Fatalf("wanted %+v", doors.wanted)
	}
	s.want("another at the host", s.do("GET", path, nil), 409, "target_held")
	s.want("beyond the limit of the day", s.do("GET", "/api/buy/launch_check?url=https://b.example/", nil), 429,
		"budget_spent")
	s.final(r.Purchase())
	debts := func() []till.Debt {
		list, err := s.till.Debts(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if len(debts()) != 0 {
		t.Errorf("owed before it was tried: %+v", debts())
	}
	out := goods.LaunchOutcome{NotWalked: "it asks for more"}
	db.now.Store(true)
	if err := s.till.CloseLaunch(t.Context(), r.Purchase(), out, time.Now()); err == nil {
		t.Error("told once, and not kept")
	}
	db.now.Store(false)
	for range 2 { // a process that died may tell it twice
		err := s.till.CloseLaunch(t.Context(), r.Purchase(), out, time.Now())
		if err != nil {
			t.Fatal(err)
		}
	}
	got := s.do("GET", "/api/order/"+id, nil)
	breach, _ := got.Body["window_breached"].(map[string]any)
	if got.Str("status") != "completed" || breach["kind"] != "not_walked" || breach["owed_usdc"] != "5" {
		t.Errorf("the order: %s", got.Raw)
	}
	if list := debts(); len(list) != 1 || list[0].Kind != till.DebtWindow || list[0].OrderID != id ||
		list[0].Reason != "the door could not be bought at: it asks for more" {
		t.Errorf("owed: %+v", list)
	}
	for _, all := range []bool{true, false} {
		if list, err := s.till.HumanOrders(t.Context(), all); err != nil || len(list) != 0 {
			t.Errorf("the keeper is asked: %+v, %v", list, err)
		}
	}
}
