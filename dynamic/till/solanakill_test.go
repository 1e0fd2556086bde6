package till_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// solanaKillSteps are the steps of a purchase on Solana after which a process is killed. Nothing is
// signed anew there, and nothing fills a number.
var solanaKillSteps = []string{"claimed", "settling", "sent", "settled", "delivered", "unknown", "not_settled"}

func newSolanaVictims(t testing.TB, buyers int) *victims {
	return &victims{t: t, kills: map[string]int{}, ledger: filepath.Join(t.TempDir(), "ledger.bolt"),
		solana: newSolanaNet(t, slot, buyers)}
}

// orderOnSolana signs a payment for a path; false when the child died meanwhile.
func (v *victims) orderOnSolana(k *child, path string) (*order, bool) {
	v.t.Helper()
	r, err := k.try("GET", path, nil)
	if err != nil || r.status != 402 {
		return nil, false
	}
	v.buyer++
	n := v.solana
	o := &order{path: path, header: map[string]string{"PAYMENT-SIGNATURE": n.pay(decodeChallenge(v.t,
		r.header.Get("PAYMENT-REQUIRED")), n.buyers[v.buyer%len(n.buyers)])}}
	v.orders = append(v.orders, o)
	return o, true
}

// killOnSolana runs one child until it dies after a step, with whatever brings that step about.
func (v *victims) killOnSolana(step string, nth, buyers int) {
	v.t.Helper()
	n := v.solana
	c := childConfig{Step: step, Nth: nth}
	lost := step == "unknown" || step == "not_settled" // what is broadcast gets nowhere
	if lost {
		c.SettleWait, c.Nth, buyers = 500*time.Millisecond, 1, 1
	}
	k := v.start(c)
	if lost {
		v.rested(k) // what was left behind must not be taken for what is to come
		n.Do(nil, "dev_dropNext", 1_000_000)
		defer n.Do(nil, "dev_dropNext", 0)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for range buyers {
		o, ok := v.orderOnSolana(k, "/api/buy/"+killItems[rand.IntN(len(killItems))])
		if !ok { // a counted good may be sold out by now
			o, ok = v.orderOnSolana(k, "/api/buy/hello")
		}
		if !ok {
			break
		}
		wg.Go(func() {
			if err := v.present(k, o); err != nil {
				v.t.Error(err)
			}
		})
	}
	if step == "not_settled" {
		wg.Wait() // until the buyer was told that it is not known
		payer := n.buyers[v.buyer%len(n.buyers)]
		has := n.balance(payer)
		n.give(payer, 0) // who spends the money elsewhere
		defer n.give(payer, has)
		n.Do(nil, "dev_dropNext", 0)
		v.killed(k, step, patience)
		return
	}
	answered := make(chan struct{})
	go func() { wg.Wait(); close(answered) }()
	select {
	case <-k.ended:
	case <-answered: // under load some are refused, and the step is not taken so often
	}
	v.killed(k, step, 10*time.Second)
}

// finishOnSolana is finish for a cluster.
func (v *victims) finishOnSolana() {
	v.t.Helper()
	k := v.start(childConfig{})
	for i, o := range v.orders {
		until(v.t, fmt.Sprintf("order %d of %s to end", i, o.path), func() bool {
			if err := v.present(k, o); err != nil {
				v.t.Fatalf("order %d: %v\n%s", i, err, k.log)
			}
			return o.ended || o.body != nil
		})
	}
	v.shut(k)
	db := v.open()
	for _, p := range purchases(v.t, db) {
		if !resting(p) {
			v.t.Errorf("purchase %s is still %s", p.ID, p.State)
		}
	}
	bodies, jars := 0, map[float64]bool{}
	for _, o := range v.orders {
		if o.body == nil {
			continue
		}
		bodies++
		if n, ok := o.body["deliverable"].(map[string]any)["number"].(float64); ok {
			if jars[n] {
				v.t.Errorf("jar %v was sold twice", n)
			}
			jars[n] = true
		}
	}
	delivered := v.solana.audit(db)
	if landed := v.solana.landed(); bodies != delivered || landed != delivered {
		v.t.Errorf("%d deliveries, %d bodies, %d transactions landed", delivered, bodies, landed)
	}
}

func (v *victims) runOnSolana(kills int) {
	v.t.Helper()
	for i := 0; v.count() < kills; i++ {
		step := solanaKillSteps[i%len(solanaKillSteps)]
		buyers := 1 + rand.IntN(4)
		v.killOnSolana(step, 1+rand.IntN(buyers), buyers)
		if rand.IntN(3) == 0 { // twice in a row: while it takes up what the first one left
			v.killed(v.start(childConfig{Step: "any", Nth: 1 + rand.IntN(3)}), "twice", 4*time.Second)
		}
		if v.t.Failed() {
			v.t.FailNow()
		}
	}
	v.t.Logf("kills: %v, orders: %d", v.kills, len(v.orders))
	v.finishOnSolana()
	for _, step := range solanaKillSteps {
		if v.kills[step] == 0 {
			v.t.Errorf("no process was killed after %s", step)
		}
	}
}

// A process that sells on Solana is killed at every step, and each buyer gets what was paid for, or
// keeps the money.
func TestKillsOnSolana(t *testing.T) {
	t.Parallel()
	newSolanaVictims(t, 40).runOnSolana(28)
}

func TestSoakKillsOnSolana(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("200 kills take minutes; set STORE_SOAK=1")
	}
	newSolanaVictims(t, 300).runOnSolana(200)
}
