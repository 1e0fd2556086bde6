package onchaintest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// Networks are opened one by one: what is closed is left out of the terms and refused, what is open
// sells.
func TestReopenByNetwork(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	const path = "/api/buy/the_drawer"
	ctx := t.Context()
	ch := s.challenge(path)
	if err := s.db.Update(ctx, ledger.Shut); err != nil {
		t.Fatal(err)
	}
	until(t, "the store to notice that it is closed", func() bool { return s.do("GET", path, nil).Status == 503 })
	if _, err := restore.Reconcile(ctx, s.till, nil, nil); err != nil {
		t.Fatal(err)
	}
	restoredEarlier(t, s.db, 15*time.Minute)
	if _, err := restore.Reopen(ctx, s.db, s.rails, restore.Options{Network: "eip155:1"}); err == nil ||
		!strings.Contains(err.Error(), "not configured") {
		t.Errorf("a network that is not configured: %v", err)
	}
	got, err := restore.Reopen(ctx, s.db, s.rails, restore.Options{Network: "eip155:137"})
	if err != nil || len(got) != 1 || !got[0].Open {
		t.Fatalf("Reopen = %+v, %v", got, err)
	}
	until(t, "the store to sell", func() bool { return s.do("GET", path, nil).Status == 402 })
	r := s.do("GET", path, nil)
	for _, a := range r.Body["accepts"].([]any) {
		if n := a.(map[string]any)["network"]; n != "eip155:137" {
			t.Errorf("a closed network %v is offered", n)
		}
	}
	if !strings.Contains(string(r.Raw), `"left_out":[{"network":"eip155:8453"`) {
		t.Errorf("what is closed is not named: %s", r.Raw)
	}
	closed := s.present(path, s.sign(ch, 0, s.net.Buyers[0], nil))
	s.want("a payment on the closed network", closed, 503, "store_closed")
	bought, _ := s.buy(path, s.net.Buyers[0], nil)
	s.want("a payment on the open network", bought, 200, "")
	s.reopens()
	until(t, "both networks", func() bool {
		return strings.Contains(string(s.do("GET", path, nil).Raw), `"left_out":[]`)
	})
	bought, _ = s.buy(path, s.net.Buyers[1], nil)
	s.want("a payment on the first network", bought, 200, "")
	err = s.db.View(ctx, func(tx ledger.Tx) error {
		for e, err := range tx.Scan(ledger.Prefix(ledger.Key("meta"))) {
			if err != nil {
				return err
			}
			if k := ledger.KeyText(e.Key); strings.Contains(k, "open:") || strings.Contains(k, "closed") ||
				strings.Contains(k, "reconciled") {
				t.Errorf("%s is left behind", k)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// On a chain: a payment that was signed for the store, and that its payer sent without showing it,
// is found and owed.
func TestUncreditedOnAChain(t *testing.T) {
	t.Parallel()
	var late sync.Map
	s := newShop(t, shopOptions{config: func(c *till.Config) {
		c.Sweep, c.Late = time.Millisecond, func(d schedule.Task, by time.Duration) { late.Store(d.Job, by) }
	}})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	s.buy(path, s.net.Buyers[1], nil)
	until(t, "the first reading", func() bool {
		err := s.db.View(t.Context(), func(tx ledger.Tx) error {
			_, err := tx.Get(ledger.BudgetKey("uncredited", "swept", "eip155:8453", s.net.PayTo.Hex()))
			return err
		})
		return err == nil
	})
	s.land(p)
	for range 5 { // until it is final
		s.net.MustSeal()
	}
	until(t, "the debt", func() bool {
		o, err := till.ListOwed(t.Context(), s.db)
		return err == nil && len(o) == 1 && o[0].Payer == s.net.Buyers[0].Address.Hex() && o[0].USDC == "0.5"
	})
	c := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	s.want("claims of the payer", c, 200, "")
	list := c.Body["purchases"].([]any)
	if len(list) != 1 {
		t.Fatalf("claims list %v", list)
	}
	if m := list[0].(map[string]any); m["state"] != "uncredited" || m["billed"] != "yes" || m["owed_usdc"] != "0.5" {
		t.Errorf("claims list %v", m)
	}
	s.want("the payment, shown at last", s.present(path, p), 409, "payment_already_used")
	s.audit()
	for _, job := range []string{"purchase", "arrivals"} {
		if by, told := late.Load(job); !told || by.(time.Duration) < 0 {
			t.Errorf("%s was begun %v after its time, told: %v", job, by, told)
		}
	}
}
