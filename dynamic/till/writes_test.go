package till_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// counted counts what a ledger stores, and how often it is read.
type counted struct {
	ledger.DB
	updates, views atomic.Int64
	refused        atomic.Int64 // updates that stored nothing
}

func (c *counted) View(ctx context.Context, f func(ledger.Tx) error) error {
	c.views.Add(1)
	return c.DB.View(ctx, f)
}

func (c *counted) Update(ctx context.Context, f func(ledger.Tx) error) error {
	err := c.DB.Update(ctx, f)
	if err == nil {
		c.updates.Add(1)
	} else {
		c.refused.Add(1)
	}
	return err
}

// A purchase is four transactions of the ledger until it is answered: claimed, signed with its
// goods, settled, delivered. Three times it is read beside them: for its authorization, for room,
// and what is sent is read back.
func TestLedgerWritesOfAPurchase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain()}
		m.calm.Store(true)
		db := &counted{DB: ledger.NewMem(ledger.MemOptions{Calm: true})}
		var mu sync.Mutex // guards steps: two purchases take theirs at once
		var steps []string
		tl, err := till.New(till.Config{ // nothing of it runs beside the purchase
			BaseURL: childBase, Site: site, DB: db, Rails: []rail.Rail{fakeRail{m.chain}},
			Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(),
			Secret: []byte(strings.Repeat("s", 32)), Log: slog.New(slog.DiscardHandler),
			AfterStep: func(step string) {
				mu.Lock()
				defer mu.Unlock()
				steps = append(steps, step)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		m.serve = tilltest.Handler(tl, childBase, nil)
		sale := m.offered("/api/buy/hello", "payer", "nonce", 0)
		db.updates.Store(0) // a ledger's first terms may write
		db.views.Store(0)
		out := m.begin(sale)
		synctest.Wait()
		m.seal()
		if r := <-out; r.Status != 200 {
			t.Fatalf("a purchase is answered %d %s", r.Status, r.Raw)
		}
		if n := db.updates.Load(); n != 4 {
			t.Errorf("%d transactions of the ledger, want 4: %v", n, steps)
		}
		if n := db.views.Load(); n != 3 {
			t.Errorf("the ledger is read %d times beside them, want 3", n)
		}

		// Who buys beside a purchase that is under way is not found out by a claim that fails.
		first := m.begin(m.offered("/api/buy/hello", "payer", "nonce-2", 0))
		synctest.Wait()
		db.updates.Store(0)
		second := m.begin(m.offered("/api/buy/hello", "payer", "nonce-3", 0))
		synctest.Wait()
		if n, refused := db.updates.Load(), db.refused.Load(); n != 2 || refused != 0 {
			t.Errorf("a second purchase is claimed and signed in %d transactions and %d in vain, want 2 and 0", n,
				refused)
		}
		m.seal()
		for _, out := range []<-chan tilltest.Reply{first, second} {
			if r := <-out; r.Status != 200 {
				t.Errorf("one of two purchases is answered %d %s", r.Status, r.Raw)
			}
		}
		if err := tl.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Purchases that are settled together are fewer: one transaction signs for all.
func TestLedgerWritesOfPurchasesTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain()}
		m.chain.together = 50
		m.calm.Store(true)
		db := &counted{DB: ledger.NewMem(ledger.MemOptions{Calm: true})}
		tl, err := till.New(till.Config{ // nothing of it runs beside the purchases
			BaseURL: childBase, Site: site, DB: db, Rails: []rail.Rail{fakeRail{m.chain}},
			Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(),
			Secret: []byte(strings.Repeat("s", 32)), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		m.serve = tilltest.Handler(tl, childBase, nil)
		const alone, together = 4, 8
		m.offered(hello, "nobody", "nonce", 0)
		db.updates.Store(0) // a ledger's first terms may write
		var out []<-chan tilltest.Reply
		for i := range alone {
			out = append(out, m.begin(m.offered(hello, fmt.Sprint("first-", i), fmt.Sprint(i), 0)))
			synctest.Wait()
		}
		for i := range together {
			out = append(out, m.begin(m.offered(hello, fmt.Sprint("payer-", i), fmt.Sprint(i), 0)))
		}
		time.Sleep(4 * time.Second)
		m.seal()
		for _, o := range out {
			if r := <-o; r.Status != 200 {
				t.Fatalf("a purchase is answered %d %s", r.Status, r.Raw)
			}
		}
		if n := db.updates.Load(); n != 4*alone+3*together+1 {
			t.Errorf("%d transactions of the ledger for %d purchases alone and %d together, want 4 each and 3 each "+
				"and one", n, alone, together)
		}
		if err := tl.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
