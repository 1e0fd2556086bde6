package till_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"

	"store.example/agentstore/dynamic/till"
)

// lost is what the network lost today, what is held included, what its reverts cost by the
// settlements' records, and how many things those hold.
func (m *model) lost() (lost, reverts int64, held int) {
	m.t.Helper()
	g, err := settle.NewGasGuard(settle.GasConfig{DB: m.db, Rails: []rail.Rail{fakeRail{m.chain}}})
	if err != nil {
		m.t.Fatal(err)
	}
	err = m.db.View(m.t.Context(), func(tx ledger.Tx) (err error) {
		lost, reverts, held = 0, 0, 0
		for e, err := range tx.Scan(ledger.Prefix(ledger.Key("settlement"))) {
			if err != nil {
				return err
			}
			var s settle.Settlement
			if err := json.Unmarshal(e.Value, &s); err != nil {
				return err
			}
			held += len(s.Held)
			for _, r := range s.Reverts {
				reverts += r.Cost
			}
		}
		lost, _, err = g.Lost(tx, fakeNetwork)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return lost, reverts, held
}

// What is held for a wallet with code that lets its payments expire comes back: nothing was burnt,
// and the day's budget is everybody's.
func TestGasThatWasHeldComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, nil)
		defer func() { m.stop() }()
		for i := range 8 {
			m.begin(m.offered(hello, "code:idle", fmt.Sprint("idle ", i), 0))
			synctest.Wait()
		}
		if lost, _, held := m.lost(); held != 8 || lost != 8*fakeLimit {
			t.Fatalf("%d are held, %d of the budget", held, lost)
		}
		for range 400 { // the node has nothing of what it is sent in its blocks, until all have expired
			m.chain.mu.Lock()
			if m.chain.head().time.Sub(m.chain.blocks[0].time) < 10*time.Minute {
				m.chain.seal(true)
			} else {
				m.chain.seal(false)
			}
			m.chain.mu.Unlock()
			time.Sleep(5 * time.Second)
		}
		if got := m.states(); got[till.NotSettled] != 8 {
			t.Fatalf("%v, want 8 not settled", got)
		}
		if lost, reverts, held := m.lost(); held != 0 || lost != reverts {
			t.Errorf("%d are held and %d counts as lost; reverts cost %d", held, lost, reverts)
		}
	})
}
