package onchaintest_test

import (
	"context"
	"fmt"
	"testing"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/till"

	"github.com/google/go-cmp/cmp"
)

func openPostgres(t testing.TB, dsn string) ledger.DB {
	t.Helper()
	db, err := postgres.Open(context.Background(), dsn, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestLongTwoStoresOnOneLedger(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.Postgres(t)
	config := func(c *till.Config) { c.BaseURL, c.Exclusive = childBase, false }
	one := newShop(t, shopOptions{db: openPostgres(t, dsn), config: config})
	two := newShop(t, shopOptions{net: one.net, db: openPostgres(t, dsn), config: config})
	const path = "/api/buy/small_blessing"
	for round := range 3 {
		p := one.sign(one.challenge(path), 0, one.net.Buyers[round], nil)
		h := map[string]string{"PAYMENT-SIGNATURE": p.header(t)}
		before := one.net.Balance(one.net.PayTo)
		all := make(chan []tilltest.Reply, 2)
		for _, s := range []*shop{one, two} {
			go func() {
				all <- s.atOnce(10, func(int) string { return path }, func(int) map[string]string { return h })
			}()
		}
		rs := append(<-all, <-all...)
		firsts := 0
		for _, r := range rs {
			one.want("one of twenty over two stores", r, 200, "")
			if r.Body["idempotent_replay"] == false {
				firsts++
			}
			if d := cmp.Diff(tilltest.PlainBody(rs[0]), tilltest.PlainBody(r)); d != "" {
				t.Errorf("answers differ: %s", d)
			}
		}
		if got := one.net.Balance(one.net.PayTo) - before; got != 5000 || firsts != 1 {
			t.Errorf("payTo received %d, %d answers are the first", got, firsts)
		}
	}
	// Different payments through both, one relayer key between them.
	headers := make([]map[string]string, 20)
	for i := range headers {
		headers[i] = map[string]string{"PAYMENT-SIGNATURE": one.pay(one.challenge(path), 0, one.net.Buyers[i%5])}
	}
	done := make(chan []tilltest.Reply, 2)
	for i, s := range []*shop{one, two} {
		go func() {
			done <- s.atOnce(10, func(int) string { return path },
				func(n int) map[string]string { return headers[2*n+i] })
		}()
	}
	for i, r := range append(<-done, <-done...) {
		one.want(fmt.Sprintf("payment %d over two stores", i), r, 200, "")
	}
	if n := one.audit(); n != 23 {
		t.Errorf("%d patron numbers, want 23", n)
	}
}

func TestLongOneStoreFinishesWhatAnotherDiedOver(t *testing.T) {
	t.Parallel()
	v := newVictims(t, 5)
	v.ledger = ledgertest.Postgres(t)
	v.longer = 120 // the dead one's lease must not outlast them
	var dead []*order
	// Each leaves to the last what the one before it left: it must not die of that. So the number
	// that is signed for and not sent is the highest.
	for _, step := range []string{"claimed", "settled", "sent", "settling"} {
		k := v.start(childConfig{Step: step, Nth: 1, Idle: true})
		o, ok := v.order(k, "/api/buy/small_blessing")
		if !ok {
			t.Fatalf("no terms: %s", k.log)
		}
		if err := v.present(k, o); err != nil {
			t.Fatal(err)
		}
		v.killed(k, step)
		dead = append(dead, o)
	}
	db := openPostgres(t, v.ledger)
	s := newShop(t, shopOptions{net: v.net, db: db, config: func(c *till.Config) {
		c.BaseURL, c.Exclusive = childBase, false
	}})
	// The dead one's lease must run out first.
	s.rest()
	for i, o := range dead {
		r := s.do("GET", o.path, o.header)
		s.want(fmt.Sprintf("order %d at the other store", i), r, 200, "")
	}
	if n := s.audit(); n != len(dead) || len(v.kills) != len(dead) {
		t.Errorf("%d delivered of %d orders, %v", n, len(dead), v.kills)
	}
}
