package till_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// next is the next number of the relayer's account.
func (m *model) next() (n uint64) {
	m.t.Helper()
	err := m.db.View(m.t.Context(), func(tx ledger.Tx) error {
		n = 0
		v, err := tx.Get(ledger.RelayerKey(fakeNetwork, "relayer", "next"))
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		if err == nil {
			n, err = ledger.ParseNumber(string(v))
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

// Two stores on one ledger have 48 transactions of an account under way between them and not one
// more, at every block; and when one of them dies with numbers that it signed for and never sent,
// the other sends them, and everybody gets what they paid for.
func TestTwoStoresAtTheBound(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint("one dies: ", dies), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, err := content.Load(content.Sources{})
				if err != nil {
					t.Fatal(err)
				}
				one := bubble(t, site, nil)
				defer func() { one.stop() }()
				two := &model{t: t, chain: one.chain, db: one.db, dies: func(step string) bool {
					return dies &&
						step == "settling"
				}}
				two.calm.Store(true)
				two.start(site)
				ended := false
				end := func() {
					if !ended {
						two.stop()
						ended = true
					}
				}
				defer end()

				const each = 45
				var sales []*modelSale
				for i := range each {
					for j, m := range []*model{two, one} {
						s := m.offered(hello, fmt.Sprintf("payer-%d-%d", i, j), "nonce", 0)
						sales = append(sales, s)
						m.begin(s)
						if i < 20 || j == 1 {
							synctest.Wait()
						}
					}
				}
				synctest.Wait()
				if n := one.next(); n != settle.MaxUnmined {
					t.Fatalf("%d numbers were given, want %d", n, settle.MaxUnmined)
				}
				if dies {
					end()
				}
				for range 100 {
					one.chain.mu.Lock()
					mined := one.chain.head().mined
					if pooled := len(one.chain.pool); pooled > settle.MaxUnmined {
						t.Errorf("%d transactions are in the pool", pooled)
					}
					one.chain.mu.Unlock()
					if n := one.next(); n > mined+settle.MaxUnmined {
						t.Errorf("%d numbers were given, and %d are mined", n, mined)
					}
					one.seal()
				}
				for _, s := range sales {
					if !one.present(s) {
						t.Errorf("a payment is answered %d %s", s.answers[0].Status, s.answers[0].Raw)
					}
				}
				if got := one.states(); got[till.Delivered] != len(sales) {
					t.Errorf("%v, want all %d delivered", got, len(sales))
				}
				if n := one.next(); n != uint64(len(sales)) || one.chain.head().mined != n {
					t.Errorf("%d numbers for %d payments, %d mined", n, len(sales), one.chain.head().mined)
				}
			})
		})
	}
}
