package till_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/rail/railtest"
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
				m := bubble(t, scarce(t, map[string]int{"secrets": 10}), nil)
				defer func() { m.stop() }()
				var hog []<-chan reply
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
						answers[fmt.Sprint(r.status, " ", r.code(), " ", r.str("billed"), " ", r.str("retry"))]++
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
					if r := <-c; r.status != 200 {
						t.Fatalf("buyer %d is answered %d %s", i, r.status, r.raw)
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
		m := bubble(t, scarce(t, map[string]int{"secrets": stock}), nil)
		defer func() { m.stop() }()
		late := m.offered(secret, "patient", "of the patient", 0)
		began := time.Now()
		m.hogs(stock)
		held := func(what string, r reply) {
			t.Helper()
			at, err := time.Parse(time.RFC3339, r.str("held_until"))
			wait, err2 := strconv.Atoi(r.header.Get("Retry-After"))
			if r.status != 409 || r.code() != "sold_out" || err != nil || err2 != nil ||
				strings.Contains(string(r.raw), "will not come back") {
				t.Fatalf("%s while all is held = %d %v %s", what, r.status, r.header, r.raw)
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
		if paid.str("billed") != "no" || paid.str("retry") != "after" {
			t.Errorf("a payment while all is held is answered %s", paid.raw)
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
		if r := <-c; r.status != 200 {
			t.Fatalf("after the hold ended a buyer is answered %d %s", r.status, r.raw)
		}
		// A hog's payment lands after all, by another's hand: one is left for it.
		m.ruin(stock, false)
		m.land("hog-0")
		for i := range stock - 2 {
			c := m.begin(m.offered(secret, fmt.Sprintf("more-%d", i), fmt.Sprint("more ", i), 0))
			synctest.Wait()
			m.seal()
			if r := <-c; r.status != 200 {
				t.Fatalf("buyer %d is answered %d %s", i, r.status, r.raw)
			}
		}
		r, _ = m.do(secret, nil)
		if r.status != 409 || !strings.Contains(string(r.raw), "will not come back") || r.str("held_until") != "" {
			t.Errorf("a secret when all are sold = %d %s", r.status, r.raw)
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
	for _, p := range purchases(m.t, m.db) {
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
		m := bubble(t, scarce(t, map[string]int{"secrets": 1}), nil)
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
		if r := <-hog; r.status != 402 || r.str("billed") != "no" {
			t.Errorf("the hog is answered %d %s", r.status, r.raw)
		}
		next := m.begin(m.offered(secret, "buyer", "of the buyer", 0))
		synctest.Wait()
		m.seal()
		if r := <-next; r.status != 200 {
			t.Errorf("the next buyer is answered %d %s", r.status, r.raw)
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
		if r.status != 409 || r.code() != "sold_out" || r.str("held_until") == "" ||
			strings.Contains(string(r.raw), "on the register") {
			t.Errorf("a word that is held = %d %s", r.status, r.raw)
		}
		m.seal()
		r, _ = m.do(path, nil)
		if r.status != 409 || r.code() != "word_already_retired" || r.str("held_until") != "" {
			t.Errorf("a word that is retired = %d %s", r.status, r.raw)
		}
		for _, other := range []string{"SYNERGY.", "synergy%20-", "ＳＹＮＥＲＧＹ"} {
			if r, _ := m.do("/api/buy/retired_word?detail="+other, nil); r.code() != "word_already_retired" {
				t.Errorf("%s, spelt otherwise = %d %s", other, r.status, r.raw)
			}
		}
	})
}

// Terms, signed offers, match and verification agree on how long a payment for a counted good may
// be valid.
func TestCountedGoodsAskForTwoMinutes(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	held := railtest.HostileNamed("holds stock").Holds.Seconds()
	for path, want := range map[string]float64{
		secret: held, "/api/buy/the_drawer": held, "/api/buy/jar_of_tuesday": held, "/api/buy/retired_word": held,
		"/api/buy/hello": 300, "/api/buy/pet_rock": 300,
	} {
		r := s.do("GET", path, nil)
		made := time.Now().Unix()
		for i, a := range r.body["accepts"].([]any) {
			if got := a.(map[string]any)["maxTimeoutSeconds"]; got != want {
				t.Errorf("%s asks for %v s in accepts[%d], want %v", path, got, i, want)
			}
		}
		for i, o := range r.body["offers"].([]any) {
			jws := strings.Split(o.(map[string]any)["signature"].(string), ".")
			raw, err := base64.RawURLEncoding.DecodeString(jws[1])
			if err != nil {
				t.Fatal(err)
			}
			var offer struct{ ValidUntil int64 }
			if err := json.Unmarshal(raw, &offer); err != nil {
				t.Fatal(err)
			}
			if left := offer.ValidUntil - made; left > 60+int64(want) || left < int64(want)-1 {
				t.Errorf("%s: offer %d stands for %d s, want a minute and %v s at most", path, i, left, want)
			}
		}
	}
	ch := s.challenge(secret)
	long := s.sign(ch, 0, s.net.Buyers[0], tenMinutes)
	r := s.present(secret, long)
	s.want("a payment for a secret that is valid for ten minutes", r, 402, "payment_invalid")
	if got := r.str("reason"); !strings.HasSuffix(got, "valid_before") {
		t.Errorf("it is refused for %s", got)
	}
	set := s.sign(ch, 0, s.net.Buyers[0], nil)
	set.wire["accepted"] = func() map[string]any {
		a := map[string]any{}
		maps.Copy(a, set.wire["accepted"].(map[string]any))
		a["maxTimeoutSeconds"] = 300
		return a
	}()
	s.want("a payment that accepts other terms", s.present(secret, set), 402, "payment_invalid")
	bought, _ := s.buy(secret, s.net.Buyers[0], nil)
	s.want("a payment within the two minutes", bought, 200, "")
}

// On a chain: the first settlement that reverts, because the wallet was emptied meanwhile or by its
// code, gives the unit back at once, and costs what is stated.
func TestHoldEndsAtTheFirstRevert(t *testing.T) {
	t.Parallel()
	for _, row := range railtest.Hostile {
		if row.Holds == 0 {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			code := hostileCode[row.Name].code
			s := newShop(t, shopOptions{manual: true, site: scarce(t, map[string]int{"secrets": 1}),
				chain: chaintest.Options{Code: [][]byte{code}}})
			hog := s.net.Buyers[0]
			p := s.sign(s.challenge(secret), 0, hog, nil)
			if code != nil {
				p = s.signAs(s.challenge(secret), 0, hog, s.net.Coded[0].Address, nil)
			}
			wait := s.pending(secret, p)
			r := s.do("GET", secret, nil)
			s.want("the last secret while it is held", r, 409, "sold_out")
			if r.str("held_until") == "" {
				t.Errorf("what is held is told as %s", r.raw)
			}
			if code == nil {
				all := s.net.SignTransfer(hog, s.net.Buyers[1].Address, s.net.Balance(hog.Address))
				s.net.MustSealTxs(s.foreign(s.net.Minter, s.net.Asset, 0, all.Call()))
			}
			s.net.MustSeal()
			until(t, "the secret to come back", func() bool { return s.do("GET", secret, nil).status == 402 })
			if r := wait()[0]; r.status != 402 || r.str("billed") != "no" {
				t.Errorf("the one who held it is answered %d %s", r.status, r.raw)
			}
			s.net.SetAutomine(true)
			sold, _ := s.buy(secret, s.net.Buyers[2], nil)
			s.want("another buyer of the last secret", sold, 200, "")
			n, gas := s.reverted()
			t.Logf("%d settlements reverted, %d gas", n, gas)
			if n != row.Reverts || gas > row.Measured {
				t.Errorf("%d settlements reverted and burnt %d gas, want %d and %d at most", n, gas, row.Reverts,
					row.Measured)
			}
		})
	}
}
