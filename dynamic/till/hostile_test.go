package till_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentstore/content"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/till"
)

// hostileKinds are the payers of the package comment's table: what each does while its settlement waits for a block.
var hostileKinds = []struct {
	name  string
	payer string // %d is a fresh number
	does  func(c *fakeChain, p fakePayload)
	// most is how many settlements of one authorization revert.
	most int
}{
	{"code that reverts in a block", "code-%d:payer", func(c *fakeChain, p fakePayload) { c.traps[p.Payer] = true }, 1},
	{"one code for many wallets", "code:payer-%d", func(c *fakeChain, p fakePayload) { c.traps[p.Payer] = true }, 1},
	{"money spent elsewhere", "payer-%d", func(c *fakeChain, p fakePayload) { c.poor[p.Payer] = true }, 2},
	{"cancelled", "payer-%d", func(c *fakeChain, p fakePayload) { c.pool = append([]*fakeTx{{Cancels: &p}}, c.pool...) }, 2},
}

// Fresh hostile wallets come one after the other. All of them together cost the store its budget for reverts and no
// more; then strangers are refused, who has bought here is served, and the next day everybody is.
func TestHostilePayersCostTheirBudget(t *testing.T) {
	t.Parallel()
	for _, kind := range hostileKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				site, err := content.Load(content.Sources{})
				if err != nil {
					t.Fatal(err)
				}
				m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
				m.calm.Store(true)
				const lost, budget = fakeLimit * 800, 1_000_000 // of one revert, and of gas.DefaultReverts
				m.chain.gasPrice = 800
				m.start(site)
				defer func() { m.stop() }()
				sealed, pay := m.sealed, m.pay
				if r := pay("friend", nil); r.status != 200 {
					t.Fatalf("an honest wallet = %d %s", r.status, r.raw)
				}
				answers := map[string]int{}
				for i := range 40 {
					r := pay(fmt.Sprintf(kind.payer, i), kind.does)
					answers[fmt.Sprint(r.status, " ", r.str("billed"))]++
					if r.status == 503 {
						t.Fatalf("hostile wallet %d closes the shop: %s", i, r.raw)
					}
				}
				m.chain.mu.Lock()
				reverted := len(m.chain.reverted)
				m.chain.mu.Unlock()
				t.Logf("%d settlements reverted, %d of %d lost; answers %v", reverted, reverted*lost, budget, answers)
				// A plain wallet's loss is known when it is made, so the one that reaches the budget may pass it.
				if reverted == 0 || reverted*lost > budget+lost*(kind.most-1) {
					t.Errorf("%d settlements reverted, which cost %d of %d", reverted, reverted*lost, budget)
				}
				for _, p := range purchases(t, m.db) {
					if n := len(settlementOf(t, m.db, p).Reverts); n > kind.most {
						t.Errorf("%d settlements of one authorization reverted, want %d at most", n, kind.most)
					}
				}
				if r := pay("stranger", nil); r.status != 429 {
					t.Errorf("a stranger when the budget is spent = %d %s", r.status, r.raw)
				}
				if r := pay("friend", nil); r.status != 200 {
					t.Errorf("one who has bought here = %d %s", r.status, r.raw)
				}
				m.stop() // not to follow the chain through the night
				time.Sleep(time.Until(time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)))
				sealed()
				m.start(site)
				if r := pay("stranger", nil); r.status != 200 {
					t.Errorf("a stranger on the next day = %d %s", r.status, r.raw)
				}
				for _, p := range purchases(t, m.db) {
					if p.State == till.Delivered && p.Payment.Payer != "friend" && p.Payment.Payer != "stranger" {
						t.Errorf("%s was delivered to %s", p.ID, p.Payment.Payer)
					}
				}
			})
		})
	}
}

// sealed seals a block.
func (m *model) sealed() {
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	m.chain.seal(false)
}

// pay presents a payment for a greeting, lets the payer act when its settlement is in the pool, and seals until there is an
// answer.
func (m *model) pay(payer string, does func(*fakeChain, fakePayload)) reply {
	r, _ := m.do("/api/buy/hello", nil)
	if r.status != 402 {
		return r
	}
	s := m.signed("/api/buy/hello", payer, rand.Text(), decodeChallenge(m.t, r.header.Get("PAYMENT-REQUIRED")), 10*time.Minute)
	done := make(chan reply, 1)
	go func() {
		r, _ := m.do(s.path, map[string]string{"PAYMENT-SIGNATURE": s.header})
		done <- r
	}()
	synctest.Wait()
	if does != nil {
		m.chain.mu.Lock()
		does(m.chain, s.payload)
		m.chain.mu.Unlock()
	}
	for range 10 {
		m.sealed()
		time.Sleep(3 * time.Second)
		select {
		case r := <-done:
			return r
		default:
		}
	}
	return <-done
}

// Three plain payers whose settlements revert alike, though nothing shows why, take the network out and ban nobody. It is
// tried again by itself, and a payment that settles then ends the matter.
func TestThreeRevertsAlikeTakeTheNetworkOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		ill := func(c *fakeChain, p fakePayload) { c.traps[p.Payer] = true }
		for i := range 3 {
			if r := m.pay(fmt.Sprint("honest-", i), ill); r.status != 402 || r.str("billed") != "no" {
				t.Errorf("payment %d = %d %s", i, r.status, r.raw)
			}
		}
		reverted := len(m.chain.reverted)
		if reverted > 6 {
			t.Errorf("%d settlements reverted, want two of each at most", reverted)
		}
		time.Sleep(6 * time.Second)
		m.sealed()
		r, _ := m.do("/api/buy/hello", nil)
		left, _ := r.body["left_out"].([]any)
		if r.status != 503 || len(left) != 1 || !strings.Contains(string(r.raw), "in the same way") {
			t.Fatalf("terms = %d %s", r.status, r.raw)
		}
		for range 17 { // more than five minutes
			time.Sleep(20 * time.Second)
			m.sealed()
		}
		clear(m.chain.traps)
		for i := range 3 {
			if r := m.pay(fmt.Sprint("honest-", i), nil); r.status != 200 {
				t.Errorf("payer %d afterwards = %d %s", i, r.status, r.raw)
			}
		}
	})
}

// fickle is a rail whose payers cancel between the claim of a payment and its first draft.
type fickle struct {
	rail.Rail
	chain *fakeChain
}

func (r fickle) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if p := ps[0]; strings.HasPrefix(p.Payer, "fickle") {
		r.chain.mu.Lock()
		paid := payloadOf(p)
		r.chain.pool = append(r.chain.pool, &fakeTx{Cancels: &paid, Salt: "the payer"})
		r.chain.seal(false)
		r.chain.mu.Unlock()
	}
	return r.Rail.Draft(ctx, ps)
}

// A payer who cancels after the goods were made and before anything was sent is shown to have done so: nothing is made ahead
// for it after three (M5).
func TestCancelledBeforeTheDraft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, func(r rail.Rail) rail.Rail { return fickle{r, r.(fakeRail).c} })
		defer func() { m.stop() }()
		for i := range 4 {
			want := "402 payment_invalid"
			if i == 3 {
				want = "429 payment_refused_for_now"
			}
			r := <-m.begin(m.offered("/api/buy/hello", "fickle", fmt.Sprint("cancelled ", i), 0))
			if got := fmt.Sprint(r.status, " ", r.code()); got != want || r.str("billed") != "no" {
				t.Errorf("payment %d of one who cancels is answered %s %s, want %s", i+1, got, r.raw, want)
			}
		}
	})
}
