package till_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// crowd is a till on a network that settles several payments in one transaction, with enough under
// way that those who come are gathered.
type crowd struct {
	*model
	answers map[string]<-chan tilltest.Reply
	sales   map[string]*modelSale
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
	m.chain.together = 50
	m.calm.Store(true)
	m.start(site)
	c := &crowd{model: m, answers: map[string]<-chan tilltest.Reply{}, sales: map[string]*modelSale{}}
	for i := range 4 {
		c.comes(hello, fmt.Sprint("first-", i))
		synctest.Wait()
	}
	return c
}

// comes presents a payment.
func (c *crowd) comes(path, payer string) {
	c.t.Helper()
	s := c.offered(path, payer, "nonce of "+payer, 0)
	c.sales[payer], c.answers[payer] = s, c.begin(s)
}

// gathered waits until those who came are under way.
func (c *crowd) gathered() {
	time.Sleep(300 * time.Millisecond)
	synctest.Wait()
	time.Sleep(2 * time.Second) // what waits for a number that was never posted
	synctest.Wait()
}

// settledWith is how many payments the newest transaction of a payer's was for.
func (c *crowd) settledWith(payer string) (n int) {
	c.chain.mu.Lock()
	defer c.chain.mu.Unlock()
	for _, x := range c.chain.pool {
		for _, p := range x.Pays {
			if p.Payer == payer {
				n = len(x.Pays)
			}
		}
	}
	return n
}

// delivered demands that each gets its goods and pays once.
func (c *crowd) delivered(payers ...string) {
	c.t.Helper()
	for _, p := range payers {
		r := <-c.answers[p]
		if r.Status != 200 {
			c.t.Errorf("%s is answered %d %s", p, r.Status, r.Raw)
		}
	}
}

// end seals until all is final, and demands that what payTo has is what was delivered.
func (c *crowd) end() {
	c.t.Helper()
	for range 300 { // the worker comes by itself, less and less often
		c.seal()
	}
	var sum int64
	for _, p := range tilltest.Purchases(c.t, c.model.db) {
		if p.State == till.Delivered {
			sum += p.Amount
		}
		if !p.Final && p.State == till.Delivered {
			c.t.Errorf("%s of %s is not final", p.ID, p.Payment.Payer)
		}
	}
	c.chain.mu.Lock()
	defer c.chain.mu.Unlock()
	if got := c.chain.received(); got != sum {
		c.t.Errorf("payTo received %d, delivered was %d", got, sum)
	}
}

func names(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(prefix, "-", i))
	}
	return out
}

// Each purchase orders its own settlement, and five of them are one transaction of a network that
// is not EVM. None pays more transactions of the ledger for it, and their own are fewer.
func TestFiveInOneThroughTheTill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer func() { c.stop() }()
		five := names("payer", 5)
		for _, p := range five {
			c.comes(hello, p)
		}
		c.gathered()
		for _, p := range five {
			if n := c.settledWith(p); n != 5 {
				t.Errorf("%s is settled with %d", p, n)
			}
		}
		c.seal()
		c.delivered(append(five, names("first", 4)...)...)
		ids := map[string]bool{}
		for _, p := range tilltest.Purchases(t, c.model.db) {
			if strings.HasPrefix(p.Payment.Payer, "payer") {
				ids[p.Settlement] = true
			}
		}
		if len(ids) != 1 {
			t.Errorf("five purchases name the settlements %v", ids)
		}
		c.end()
	})
}

// One of several takes the gas of all. It is told that nothing was billed; the others get what they
// bought, those too whose counted goods are held no longer than to the first revert of their own,
// and all that was burnt is counted.
func TestOneOfSeveralSinksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer func() { c.stop() }()
		honest := append(names("payer", 5), "holder")
		for _, p := range honest[:5] {
			c.comes(hello, p)
		}
		c.comes(secret, "holder")
		c.comes(hello, "trap")
		c.gathered()
		if n := c.settledWith("trap"); n != 7 {
			t.Fatalf("the trap is settled with %d, want 7", n)
		}
		c.chain.mu.Lock()
		c.chain.traps["trap"] = true
		c.chain.mu.Unlock()
		for range 3 {
			c.seal()
		}
		c.delivered(honest...)
		if r := <-c.answers["trap"]; r.Status == 200 || r.Str("billed") != "no" {
			t.Errorf("the trap is answered %d %s", r.Status, r.Raw)
		}
		reverts := 0
		for _, p := range tilltest.Purchases(t, c.model.db) {
			if p.Payment.Payer == "holder" && p.Reverted {
				t.Error("the holder is said to have reverted")
			}
			reverts = max(reverts, len(tilltest.SettlementOf(t, c.model.db, p).Reverts))
		}
		// Each has its part of the one, and the trap two of its own.
		parts := map[int]int{}
		for _, p := range tilltest.Purchases(t, c.model.db) {
			if p.Payment.Payer == "trap" {
				for _, v := range tilltest.SettlementOf(t, c.model.db, p).Reverts {
					parts[v.Member]++
				}
			}
		}
		if len(parts) != 7 || reverts < 8 || reverts > 9 {
			t.Errorf("%d reverts, by member %v", reverts, parts)
		}
		if lost, sum, held := c.lost(); lost != sum || sum != int64(reverts)*fakeLimit || held != 0 {
			t.Errorf("%d counted as lost, %d burnt in %d reverts, %d held", lost, sum, reverts, held)
		}
		c.end()
	})
}

// What some do between draft and block is no other's business: one cancels, one's payment a
// stranger submits, one has no money and gets it later.
func TestEachOfSeveralDoesSomething(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer func() { c.stop() }()
		honest := names("payer", 5)
		for _, p := range append(honest, "cancels", "submitted", "poor") {
			c.comes(hello, p)
		}
		c.gathered()
		if n := c.settledWith("poor"); n != 8 {
			t.Fatalf("settled with %d, want 8", n)
		}
		c.chain.mu.Lock()
		cancels := c.sales["cancels"].payload
		c.chain.pool = append([]*fakeTx{{Cancels: &cancels}, {Pays: []fakePayload{c.sales["submitted"].payload},
			Salt: "stranger"}}, c.chain.pool...)
		c.chain.poor["poor"] = true
		c.chain.mu.Unlock()
		c.seal()
		c.delivered(append(honest, "submitted")...)
		if r := <-c.answers["cancels"]; r.Status == 200 || r.Str("billed") != "no" {
			t.Errorf("who cancelled is answered %d %s", r.Status, r.Raw)
		}
		if r := <-c.answers["poor"]; r.Status == 200 || r.Str("billed") != "no" {
			t.Errorf("who has no money is answered %d %s", r.Status, r.Raw)
		}
		c.end()
	})
}

// The number of a transaction for several is lost to another. Each goes alone then; and where one
// of them can land no more, the filling of its number is nobody else's.
func TestNumberOfSeveralIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer func() { c.stop() }()
		c.seal()
		c.delivered(names("first", 4)...)
		for _, p := range names("second", 4) {
			c.comes(hello, p)
			synctest.Wait()
		}
		six := names("payer", 6)
		for _, p := range six {
			c.comes(hello, p)
		}
		c.gathered()
		c.chain.mu.Lock()
		c.chain.pool = slices.DeleteFunc(c.chain.pool, func(x *fakeTx) bool { return len(x.Pays) > 1 })
		c.chain.divert() // has the number behind those of the four
		c.chain.seal(false)
		c.chain.mu.Unlock()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		// The first of them in line cancels, and its transaction is lost.
		c.chain.mu.Lock()
		slices.SortFunc(c.chain.pool, func(a, b *fakeTx) int { return int(a.Sequence) - int(b.Sequence) })
		if len(c.chain.pool) != 6 || len(c.chain.pool[0].Pays) != 1 {
			t.Fatalf("%d transactions are in the pool, want one each", len(c.chain.pool))
		}
		gone := c.chain.pool[0].Pays[0]
		c.chain.pool[0] = &fakeTx{Cancels: &gone}
		c.chain.seal(false)
		c.chain.mu.Unlock()
		time.Sleep(25 * time.Second) // until the worker comes to it
		synctest.Wait()
		c.chain.mu.Lock() // the next block has the filling alone, and the node forgets the rest
		filling := c.chain.head().mined
		if !slices.ContainsFunc(c.chain.pool, func(x *fakeTx) bool {
			return x.Sequence == filling &&
				len(x.Pays) == 0
		}) {
			t.Fatal("the number is not filled")
		}
		c.chain.pool = slices.DeleteFunc(c.chain.pool, func(x *fakeTx) bool { return x.Sequence != filling })
		c.chain.seal(false)
		c.chain.mu.Unlock()
		for range 3 {
			c.seal()
		}
		c.delivered(slices.DeleteFunc(six, func(p string) bool { return p == gone.Payer })...)
		if r := <-c.answers[gone.Payer]; r.Status == 200 || r.Str("billed") != "no" {
			t.Errorf("who cancelled is answered %d %s", r.Status, r.Raw)
		}
		for _, p := range tilltest.Purchases(t, c.model.db) {
			numbers := map[int]uint64{}
			for _, x := range tilltest.SettlementOf(t, c.model.db, p).Sent {
				if len(x.Of) != 1 {
					continue
				}
				if n, twice := numbers[x.Of[0]]; twice && n != x.Sequence {
					t.Errorf("member %d has the numbers %d and %d alone", x.Of[0], n, x.Sequence)
				}
				numbers[x.Of[0]] = x.Sequence
			}
		}
		c.end()
	})
}

// A reorganisation takes away a block whose transaction settled several. In the new chain strangers
// have submitted half of them before it comes again.
func TestReorganisationDropsHalf(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t)
			defer func() { c.stop() }()
			c.seal()
			c.delivered(names("first", 4)...)
			more := names("second", 4)
			for _, p := range more {
				c.comes(hello, p)
				synctest.Wait()
			}
			six := names("payer", 6)
			for _, p := range six {
				c.comes(hello, p)
			}
			c.gathered()
			c.seal()
			c.delivered(append(six, more...)...)
			c.chain.mu.Lock()
			c.chain.reorg(1, lost)
			for _, p := range six[:3] {
				c.chain.pool = append([]*fakeTx{{Pays: []fakePayload{c.sales[p].payload}, Salt: p}}, c.chain.pool...)
			}
			c.chain.mu.Unlock()
			c.end()
			for _, p := range tilltest.Purchases(t, c.model.db) {
				if p.State != till.Delivered || p.Proof.ByOther != (strings.HasPrefix(p.Payment.Payer, "payer") &&
					p.Payment.Payer < "payer-3") {
					t.Errorf("%s is %s, proof %+v", p.Payment.Payer, p.State, p.Proof)
				}
				if s := tilltest.SettlementOf(t, c.model.db, p); len(s.Sent) > 2 {
					t.Errorf("%d transactions for %d members", len(s.Sent), len(s.Members))
				}
			}
		})
	}
}

// Storms over a network that settles several in one, with payers who come in crowds.
func TestModelTogether(t *testing.T) {
	shared, seeds := 0, uint64(12)
	if os.Getenv("STORE_SOAK") != "" {
		seeds = 300
	}
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				played(t, seed, func(m *model) {
					m.payers, m.rush, m.shared = 24, 12+int(seed%4)*4, 3+int(seed%3)*20
					m.run()
					shared += m.together()
				})
			})
		}
	})
	if shared < int(seeds) {
		t.Errorf("%d transactions for several in all storms: they show nothing", shared)
	}
}

// together is how many transactions for several were signed.
func (m *model) together() (n int) {
	m.db.View(m.t.Context(), func(tx ledger.Tx) error {
		n = 0
		for e, err := range tx.Scan(ledger.Prefix(ledger.Key("settlement"))) {
			if err != nil {
				return err
			}
			var s settle.Settlement
			if err := json.Unmarshal(e.Value, &s); err != nil {
				return err
			}
			if len(s.Members) > 1 {
				n++
			}
		}
		return nil
	})
	return n
}
