package onchaintest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
)

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
	db := &fullLedger{DB: ledger.NewMem(ledger.MemOptions{})}
	s := newShop(t, shopOptions{buyers: 1, db: db, services: services.Config{Readings: &reader{},
		Launches: services.LaunchConfig{Purse: &services.Purse{}, Daily: services.LaunchCap}}})
	const path = "/api/buy/launch_check?url=https://a.example/"
	r := s.present(path, s.sign(s.challenge(path), 0, s.net.Buyers[0], nil))
	s.want("a launch check", r, 200, "")
	id := r.Str("order_id")
	s.state(r.Purchase(), till.Promised)
	if err := db.View(t.Context(), func(tx ledger.Tx) error {
		rec, err := services.ReadLaunch(tx, id)
		if err == nil && rec.Reading == nil {
			t.Errorf("wanted %+v", rec)
		}
		return err
	}); err != nil {
		t.Fatal(err)
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
	out := func(promise *goods.Made) (*goods.Made, error) {
		d, err := goods.Delivered[goods.Launched](promise)
		d.NotWalked, d.CompletedAt = "it asks for more", time.Now().UTC().Format(time.RFC3339)
		d.Answer = "sha256:" + strings.Repeat("ab", 32)
		g := *promise
		g.Deliver(content.KindLaunch, d)
		return &g, err
	}
	db.now.Store(true)
	if err := s.till.Complete(t.Context(), r.Purchase(), out); err == nil {
		t.Error("told once, and not kept")
	}
	db.now.Store(false)
	for range 2 { // a process that died may tell it twice
		err := s.till.Complete(t.Context(), r.Purchase(), out)
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
