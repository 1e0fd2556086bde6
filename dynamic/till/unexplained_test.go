package till_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// forgetful is a rail whose nodes have no state of a block behind the head, in which a revert is
// looked into.
type forgetful struct{ rail.Rail }

func (forgetful) Explain(context.Context, *rail.Payment, rail.Revert) (rail.Cause, error) {
	return rail.Cause{}, errors.New("missing trie node")
}

// A revert that no node can explain any more is counted, as nobody's doing, and its purchase comes
// to its end: what else the chain says of it must not wait for that.
func TestRevertThatNobodyExplains(t *testing.T) {
	t.Parallel()
	for _, lands := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := bubble(t, nil, func(r rail.Rail) rail.Rail { return forgetful{r} })
			defer func() { m.stop() }()
			s := m.offered(hello, "code:trap", "nonce", 0)
			m.chain.mu.Lock()
			m.chain.traps["code:trap"] = true
			m.chain.mu.Unlock()
			m.begin(s)
			for i := range 300 {
				m.chain.mu.Lock()
				if lands && i == 30 { // somebody else lands it
					m.chain.traps["code:trap"] = false
					m.chain.pool = append(m.chain.pool, &fakeTx{Pays: []fakePayload{s.payload}, Salt: "stranger"})
				}
				m.chain.seal(false)
				m.chain.mu.Unlock()
				time.Sleep(3 * time.Second)
			}
			want := till.NotSettled
			if lands {
				want = till.Delivered
			}
			if got := m.states(); got[want] != 1 {
				t.Errorf("%v, want it %s", got, want)
			}
			if lost, reverts, held := m.lost(); reverts != fakeLimit || lost != reverts || held != 0 {
				t.Errorf("the reverts cost %d, %d counts as lost, %d are held", reverts, lost, held)
			}
		})
	}
}
