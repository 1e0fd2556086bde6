package till_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// What a process left on its way is taken up at once by the next that has the ledger for itself,
// before its time has come; and what nothing can change any more is no longer looked at.
func TestWhatWasLeftIsTakenUpAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := bubble(t, site, nil)
		out := m.begin(m.offered(hello, "payer", "nonce", 0))
		synctest.Wait()
		m.stop()
		if r := <-out; r.Status == 200 {
			t.Fatalf("a purchase that no block holds is answered %d", r.Status)
		}
		m.sealed()
		if w := waits(t, m.db); len(w) != 1 || time.Until(w[0].Due) < 3*time.Second {
			t.Fatalf("%+v waits at %v, want it to for some seconds", w, time.Now())
		}
		m.start(site)
		defer func() { m.stop() }()
		time.Sleep(time.Second)
		if p := tilltest.Purchases(t, m.db); len(p) != 1 || p[0].State != till.Delivered {
			t.Errorf("after a second: %+v, want it delivered", p)
		}
		if n := len(waits(t, m.db)); n != 1 {
			t.Errorf("%d tasks for a purchase that may be reorganised away", n)
		}
		for range 100 {
			m.seal()
		}
		time.Sleep(10 * time.Minute)
		if n := len(waits(t, m.db)); n != 0 {
			t.Errorf("%d tasks are left of a purchase that is final", n)
		}
	})
}

// waits are the purchases that will be looked at.
func waits(t *testing.T, db ledger.DB) (all []schedule.Task) {
	t.Helper()
	err := db.View(context.Background(), func(tx ledger.Tx) (err error) {
		all, err = schedule.Tasks(tx, "purchase")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
