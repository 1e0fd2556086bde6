package till_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
)

// A payment that has paid, of which the ledger knows nothing, is told as that also where nothing
// could be taken: while its good is sold out, while its network takes none, and while a restored
// store is closed.
func TestAUsedAuthorizationWhereNothingIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, tilltest.Scarce(t, map[string]int{"secrets": 1}), nil)
		defer func() { m.stop() }()
		var paid []*modelSale
		pool := &fakeTx{Salt: "stranger"}
		for i, path := range []string{secret, "/api/buy/hello", "/api/buy/hello"} {
			s := m.offered(path, fmt.Sprint("payer-", i), "sent past the store", 0)
			paid, pool.Pays = append(paid, s), append(pool.Pays, s.payload)
		}
		last := m.begin(m.offered(secret, "rich", "the last secret", 0))
		synctest.Wait()
		m.chain.mu.Lock()
		m.chain.pool = append(m.chain.pool, pool)
		m.chain.mu.Unlock()
		m.seal()
		if r := <-last; r.Status != 200 {
			t.Fatalf("the last secret is answered %d %s", r.Status, r.Raw)
		}
		used := func(what string, s *modelSale) {
			t.Helper()
			bare := edited(t, s, func(wire map[string]any) { delete(wire, "extensions") })
			for how, s := range map[string]*modelSale{"whole": s, "without extensions": bare} {
				if r := <-m.begin(s); r.Status != 409 || r.Code() != "payment_already_used" ||
					r.Str("billed") != "yes" {
					t.Errorf("%s, %s: a payment that has paid is answered %d %s", what, how, r.Status, r.Raw)
				}
			}
		}
		used("sold out", paid[0])
		m.chain.mu.Lock()
		m.chain.empty = true
		m.chain.mu.Unlock()
		time.Sleep(10 * time.Second)
		used("no gas", paid[1])
		m.chain.mu.Lock()
		m.chain.empty = false
		m.chain.mu.Unlock()
		time.Sleep(10 * time.Second)
		unpaid := m.offered("/api/buy/hello", "next", "of the next", 0)
		if err := m.db.Update(t.Context(), ledger.Shut); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		used("closed", paid[2])
		if r := <-m.begin(unpaid); r.Status != 503 || r.Code() != "store_closed" || r.Str("billed") != "no" {
			t.Errorf("a payment at a closed store is answered %d %s", r.Status, r.Raw)
		}
	})
}
