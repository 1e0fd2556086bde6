package till_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/till"
)

const secret = "/api/buy/a_secret"

// hogs lets a wallet each pay for a secret, and sees that the payments are on their way.
func (m *model) hogs(n int) {
	m.t.Helper()
	for i := range n {
		m.begin(m.offered(secret, fmt.Sprintf("hog-%d", i), fmt.Sprintf("of hog %d", i), 0))
		synctest.Wait()
	}
	if got := m.states(); got[till.Settling] != n {
		m.t.Fatalf("%v, want %d on their way", got, n)
	}
}

// ruin takes the money of all hogs away.
func (m *model) ruin(n int, poor bool) {
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	for i := range n {
		m.chain.poor[fmt.Sprintf("hog-%d", i)] = poor
	}
}

// Forty-five payments of one wallet that never lets them settle hold one secret between them, and
// everybody else buys.
func TestOneWalletHoldsOneUnit(t *testing.T) {
	t.Parallel()
	for _, row := range railtest.Hostile {
		if row.Holds == 0 {
			continue
		}
		kind := hostileKinds[row.Name]
		hogs := fmt.Sprintf(kind.payer, 0)
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := bubble(t, tilltest.Scarce(t, map[string]int{"secrets": 10}), nil)
				defer func() { m.stop() }()
				var hog []<-chan tilltest.Reply
				for i := range 45 {
					hog = append(hog, m.begin(m.offered(secret, hogs, fmt.Sprint("hog's ", i), 0)))
				}
				time.Sleep(10 * time.Second)
				if got := m.states(); got[till.Settling]+got[till.Unknown] != row.Open {
					t.Errorf("%v, want %d on their way", got, row.Open)
				}
				answers := map[string]int{}
				for _, c := range hog[1:] {
					select {
					case r := <-c:
						answers[fmt.Sprint(r.Status, " ", r.Code(), " ", r.Str("billed"), " ", r.Str("retry"))]++
					default:
						answers["none yet"]++
					}
				}
				if len(answers) != 1 || answers["429 rate_limited no same_payment"] != 44 {
					// Which of the 45 is the one under way is chance.
					if answers["none yet"] != 1 || answers["429 rate_limited no same_payment"] != 43 {
						t.Errorf("the other payments of the wallet are answered %v", answers)
					}
				}
				m.chain.mu.Lock()
				kind.does(m.chain, fakePayload{Payer: hogs})
				m.chain.mu.Unlock()
				for i := range 9 {
					c := m.begin(m.offered(secret, fmt.Sprintf("buyer-%d", i), fmt.Sprint("good ", i), 0))
					synctest.Wait()
					m.seal()
					if r := <-c; r.Status != 200 {
						t.Fatalf("buyer %d is answered %d %s", i, r.Status, r.Raw)
					}
				}
			})
		})
	}
}

// What is held is told as held, with the time at which it comes back, and comes back at the first
// revert; what is sold is told as gone.
func TestHeldIsNotSold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const stock = 6
		row := railtest.HostileNamed("holds stock")
		m := bubble(t, tilltest.Scarce(t, map[string]int{"secrets": stock}), nil)
		defer func() { m.stop() }()
		late := m.offered(secret, "patient", "of the patient", 0)
		began := time.Now()
		m.hogs(stock)
		held := func(what string, r tilltest.Reply) {
			t.Helper()
			at, err := time.Parse(time.RFC3339, r.Str("held_until"))
			wait, err2 := strconv.Atoi(r.Header.Get("Retry-After"))
			if r.Status != 409 || r.Code() != "sold_out" || err != nil || err2 != nil ||
				strings.Contains(string(r.Raw), "will not come back") {
				t.Fatalf("%s while all is held = %d %v %s", what, r.Status, r.Header, r.Raw)
			}
			most := row.Holds + 10*time.Second // for the chain
			if at.Before(began) || at.After(began.Add(most)) || wait < 1 || wait > int(most.Seconds()) {
				t.Errorf("%s while all is held: until %s in %d s, want within %s of %s", what, at, wait, most, began)
			}
		}
		r, _ := m.do(secret, nil)
		held("asking", r)
		paid := <-m.begin(late)
		held("paying", paid)
		if paid.Str("billed") != "no" || paid.Str("retry") != "after" {
			t.Errorf("a payment while all is held is answered %s", paid.Raw)
		}
		m.ruin(stock, true)
		m.seal()
		time.Sleep(2 * time.Second) // the first reverts are seen
		if got := m.states(); got[till.NotSettled] != stock {
			t.Errorf("after the first revert of each: %v, want %d not settled", got, stock)
		}
		c := m.begin(late)
		synctest.Wait()
		m.seal()
		if r := <-c; r.Status != 200 {
			t.Fatalf("after the hold ended a buyer is answered %d %s", r.Status, r.Raw)
		}
		// A hog's payment lands after all, by another's hand: one is left for it.
		m.ruin(stock, false)
		m.land("hog-0")
		for i := range stock - 2 {
			c := m.begin(m.offered(secret, fmt.Sprintf("more-%d", i), fmt.Sprint("more ", i), 0))
			synctest.Wait()
			m.seal()
			if r := <-c; r.Status != 200 {
				t.Fatalf("buyer %d is answered %d %s", i, r.Status, r.Raw)
			}
		}
		r, _ = m.do(secret, nil)
		if r.Status != 409 || !strings.Contains(string(r.Raw), "will not come back") || r.Str("held_until") != "" {
			t.Errorf("a secret when all are sold = %d %s", r.Status, r.Raw)
		}
		m.land("hog-1")
		time.Sleep(10 * time.Minute)
		got := m.states()
		if got[till.Delivered] != stock || got[till.RefundOwed] != 1 || got[till.NotSettled] != stock-2 {
			t.Errorf("in the end %v, want %d delivered, one owed and the rest not settled", got, stock)
		}
	})
}

// land has a stranger submit a payer's payment, and waits until it is found.
func (m *model) land(payer string) {
	m.t.Helper()
	for _, p := range tilltest.Purchases(m.t, m.db) {
		if p.Payment.Payer == payer {
			m.chain.mu.Lock()
			m.chain.pool = append(m.chain.pool, &fakeTx{Pays: []fakePayload{payloadOf(&p.Payment)}, Salt: "stranger"})
			m.chain.mu.Unlock()
		}
	}
	m.seal()
	time.Sleep(time.Minute)
}

// A wallet that is empty only while its payment is mined could have its secret held by one
// settlement after the other. The first that reverts ends the hold, though the next would go
// through.
func TestOneRevertEndsAHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, tilltest.Scarce(t, map[string]int{"secrets": 1}), nil)
		defer func() { m.stop() }()
		hog := m.begin(m.offered(secret, "hog", "of the hog", 0))
		synctest.Wait()
		m.chain.mu.Lock()
		m.chain.poor["hog"] = true
		m.chain.seal(false)
		m.chain.poor["hog"] = false
		m.chain.mu.Unlock()
		time.Sleep(2 * time.Second)
		m.seal()
		if row := railtest.HostileNamed("holds stock"); len(m.chain.reverted) != row.Reverts {
			t.Errorf("%d settlements reverted, want %d", len(m.chain.reverted), row.Reverts)
		}
		if got := m.states(); got[till.NotSettled] != 1 {
			t.Errorf("after one revert %v, want the payment given up", got)
		}
		if r := <-hog; r.Status != 402 || r.Str("billed") != "no" {
			t.Errorf("the hog is answered %d %s", r.Status, r.Raw)
		}
		next := m.begin(m.offered(secret, "buyer", "of the buyer", 0))
		synctest.Wait()
		m.seal()
		if r := <-next; r.Status != 200 {
			t.Errorf("the next buyer is answered %d %s", r.Status, r.Raw)
		}
	})
}

// A word that somebody pays for right now is held, and not on the register.
func TestHeldWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, nil)
		defer func() { m.stop() }()
		const path = "/api/buy/retired_word?detail=synergy"
		m.begin(m.offered(path, "hog", "of the hog", 0))
		synctest.Wait()
		r, _ := m.do(path, nil)
		if r.Status != 409 || r.Code() != "sold_out" || r.Str("held_until") == "" ||
			strings.Contains(string(r.Raw), "on the register") {
			t.Errorf("a word that is held = %d %s", r.Status, r.Raw)
		}
		m.seal()
		r, _ = m.do(path, nil)
		if r.Status != 409 || r.Code() != "word_already_retired" || r.Str("held_until") != "" {
			t.Errorf("a word that is retired = %d %s", r.Status, r.Raw)
		}
		for _, other := range []string{"SYNERGY.", "synergy%20-", "ＳＹＮＥＲＧＹ"} {
			if r, _ := m.do("/api/buy/retired_word?detail="+other, nil); r.Code() != "word_already_retired" {
				t.Errorf("%s, spelt otherwise = %d %s", other, r.Status, r.Raw)
			}
		}
	})
}
