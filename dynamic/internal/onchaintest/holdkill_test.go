package onchaintest_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/till"
)

// A process that sells by holds dies at any step of authorization, capture and void. What the
// keeper answered is paid for, once, what he declined went back, and nothing stays in the escrow.
func TestHoldsKilled(t *testing.T) {
	t.Parallel()
	holdKills(t, 1, 6)
}

// The same with two replicas on one ledger.
func TestLongHoldsKilledInReplicas(t *testing.T) {
	holdKills(t, 2, 8)
}

// STORE_SOAK=1 does it for long.
func TestSoakHoldsKilled(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("it takes minutes; set STORE_SOAK=1")
	}
	holdKills(t, 1, 200)
	holdKills(t, 2, 200)
}

// holdPayer orders one thing after another and, in the keeper's place, decides about each.
type holdPayer struct {
	v       *victims
	key     chaintest.Key
	salt    int64
	header  map[string]string // of the order that is not decided yet
	order   string            // its id, once it was answered
	orders  map[string]bool   // whether those that were decided were answered by the keeper
	sealed  string            // the order for which blocks were sealed last
	waiting int               // tries at the decision
}

// holdKills sells in some processes while one after another dies, so often in all.
func holdKills(t *testing.T, processes, kills int) {
	v := newVictims(t, 3)
	if processes > 1 {
		v.ledger = ledgertest.Postgres(t)
	}
	config := childConfig{Holds: true}
	had := map[string]int64{}
	var payers []*holdPayer
	for i, k := range v.net.Buyers {
		had[k.Address.Hex()] = v.net.Node.Balance(k.Address)
		payers = append(payers, &holdPayer{v: v, key: k, salt: int64(i) << 32, orders: map[string]bool{}})
	}
	var others []*child // that nobody kills
	for range processes - 1 {
		others = append(others, v.start(config))
	}
	for range kills {
		c := config
		c.Step, c.Nth = "any", 1+rand.IntN(40)
		doomed := v.start(c)
		all := append([]*child{doomed}, others...)
		var wg sync.WaitGroup
		for n, p := range payers {
			wg.Go(func() {
				for j := n; !doomed.dead(); j++ {
					p.goesOn(all[j%len(all)])
				}
			})
		}
		wg.Wait()
		v.killed(doomed, "any")
	}
	for _, k := range others {
		v.shut(k)
	}
	k := v.start(config)
	taken, given := int64(0), 0
	for _, p := range payers {
		until(t, "an order left behind to be decided", func() bool {
			if p.header == nil {
				return true
			}
			p.goesOn(k)
			return p.header == nil
		})
		mine := int64(0)
		for _, answered := range p.orders {
			if answered {
				mine += price
			} else {
				given++
			}
		}
		until(t, "what was declined to come back", func() bool {
			return v.net.Node.Balance(p.key.Address) == had[p.key.Address.Hex()]-mine
		})
		taken += mine
	}
	until(t, "what was answered to be captured", func() bool { return v.net.Node.Balance(v.net.PayTo) == taken })
	for _, p := range payers {
		for order := range p.orders {
			until(t, "the end of an order to be written down", func() bool {
				r, err := k.try("POST", "/decide/ended/"+order, nil)
				return err == nil && r.Status == 204
			})
		}
	}
	v.shut(k)
	t.Logf("%d orders answered, %d declined; %d died", taken/price, given, v.kills["any"])
	v.decidedOnce(payers)
}

// decidedOnce compares the ledger with what the keeper decided.
func (v *victims) decidedOnce(payers []*holdPayer) {
	v.t.Helper()
	ended, numbers := map[string]till.State{}, map[int64]string{}
	for _, p := range tilltest.Purchases(v.t, v.open()) {
		if !tilltest.Resting(p) {
			v.t.Errorf("purchase %s is still %s", p.ID, p.State)
		}
		if p.State != till.Delivered && p.State != till.Released {
			continue
		}
		ended[p.Artifact] = p.State
		if p.State != till.Delivered {
			continue
		}
		if other := numbers[p.Number]; other != "" || p.Number == 0 {
			v.t.Errorf("%s and %s have the number %d", p.ID, other, p.Number)
		}
		numbers[p.Number] = p.ID
	}
	for _, p := range payers {
		for order, answered := range p.orders {
			want := till.Released
			if answered {
				want = till.Delivered
			}
			if ended[order] != want {
				v.t.Errorf("order %s is %q, want %s", order, ended[order], want)
			}
			delete(ended, order)
		}
	}
	for order, state := range ended {
		v.t.Errorf("order %s is %s, and nobody decided that", order, state)
	}
}

// goesOn takes the next step that a child lets it take.
func (p *holdPayer) goesOn(k *child) {
	if p.header == nil {
		r, err := k.try("GET", heldJudgment, nil)
		if err != nil || r.Status != 402 {
			return
		}
		p.salt++
		p.header = heldPayment(k.shop, tilltest.DecodeChallenge(p.v.t, r.Header.Get("PAYMENT-REQUIRED")), p.key, p.salt)
	}
	if p.order == "" {
		r, err := k.try("GET", heldJudgment, p.header)
		switch {
		case err != nil: // the child died: the same again
		case r.Status == 202:
			p.order = r.Str("order_id")
		case r.Status == 402: // not sold
			p.header = nil
		case r.Status != 503 && r.Status != 429:
			p.v.t.Errorf("an order is answered %d %s", r.Status, r.Raw)
		}
		return
	}
	what := "answer"
	if (int64(len(p.orders))+p.salt>>32)%2 == 1 {
		what = "decline"
	}
	r, err := k.try("POST", "/decide/"+what+"/"+p.order, nil)
	if err != nil {
		return
	}
	said := r.Str("detail")
	switch {
	case r.Status == 204, strings.Contains(said, "takes no answer"), strings.Contains(said, "declined any more"),
		strings.Contains(said, "not held any more"), strings.Contains(said, "at this moment"):
		p.orders[p.order] = what == "answer"
		p.order, p.header, p.waiting = "", nil, 0
	case strings.Contains(said, "beyond reorganisation"):
		if p.sealed != p.order { // a block is a second of the chain's, and it must not run away
			p.sealed = p.order
			k.finalize()
		}
	default:
		if p.waiting++; p.waiting > 50 {
			p.v.t.Errorf("order %s cannot be decided: %d %s", p.order, r.Status, r.Raw)
			p.order, p.header, p.waiting = "", nil, 0
		}
	}
}
