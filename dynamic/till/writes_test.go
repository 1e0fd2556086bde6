package till_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"agentstore/content"
	"agentstore/corpus/attest"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/till"
)

// counted counts what a ledger stores.
type counted struct {
	ledger.DB
	updates atomic.Int64
}

func (c *counted) Update(ctx context.Context, f func(ledger.Tx) error) error {
	err := c.DB.Update(ctx, f)
	if err == nil {
		c.updates.Add(1)
	}
	return err
}

// A purchase is four transactions of the ledger until it is answered: claimed, signed with its goods, settled, delivered.
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
		var steps []string
		tl, err := till.New(till.Config{ // nothing of it runs beside the purchase
			BaseURL: childBase, Site: site, DB: db, Rails: []rail.Rail{fakeRail{m.chain}}, Keys: []*attest.Key{attest.SpecimenKey()},
			Ring: attest.SpecimenRing(), Secret: []byte(strings.Repeat("s", 32)), Log: slog.New(slog.DiscardHandler),
			AfterStep: func(step string) { steps = append(steps, step) },
		})
		if err != nil {
			t.Fatal(err)
		}
		m.serve = handler(tl, childBase, nil)
		out := m.begin(m.offered("/api/buy/hello", "payer", "nonce", 0))
		synctest.Wait()
		m.seal()
		if r := <-out; r.status != 200 {
			t.Fatalf("a purchase is answered %d %s", r.status, r.raw)
		}
		if n := db.updates.Load(); n != 4 {
			t.Errorf("%d transactions of the ledger, want 4: %v", n, steps)
		}
		if err := tl.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
