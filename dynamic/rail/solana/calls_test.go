package solana_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
	"store.example/agentstore/dynamic/settle"
)

// follow runs a rail's watcher until the test ends.
func follow(t *testing.T, r *solana.Rail) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
}

// status is what the rail says of a settlement's one payment, empty where the node cannot be read.
func (h *harness) status(s *settle.Settlement) rail.Finding {
	m := s.Members[0]
	f, _ := h.rail.Status(h.t.Context(), &m.Payment, s.Signed(m.ID), m.Verified, time.Now())
	return f
}

// eventually waits for what the watcher has to see first.
func (h *harness) eventually(what string, is func() bool) {
	h.t.Helper()
	late := time.After(patience)
	for {
		changed := h.rail.Changed()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-late:
			h.t.Fatalf("no %s", what)
		}
	}
}

// count is how often a method was called.
func (c *cluster) count(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[method]
}

// Many sales at once ask a node of each what only it can answer: one simulation, one broadcast, one
// reading of what landed. All else is asked for all of them together, and that their blocks are
// final is asked of the blocks.
func TestWhatSalesAskOfANode(t *testing.T) {
	const sales = 24
	h := open(t)
	h.Fund(sales * price)
	cfg := h.cfg
	cfg.Poll = 20 * time.Millisecond
	h.rail = newRail(t, cfg)
	follow(t, h.rail)
	var sent sync.WaitGroup
	sent.Add(sales)
	d := h.driver(ledger.NewMem(ledger.MemOptions{}), h.rail, func(step string) {
		if step == "sent" {
			sent.Done()
		}
	})
	begun := make([]*settle.Settlement, sales)
	for i := range begun {
		p := h.pay(price)
		p.memo = fmt.Sprint("sale ", i)
		begun[i] = h.begin(d, p)
	}
	if h.count("getSignatureStatuses") != 0 {
		t.Error("statuses are asked for while nobody waits")
	}
	var paid sync.WaitGroup
	for i, s := range begun {
		paid.Go(func() {
			o := &owner{}
			if err := d.Drive(t.Context(), s, o); err != nil || o.last.State != rail.Paid {
				t.Errorf("sale %d: %+v, %v", i, o.last, err)
			}
		})
	}
	sent.Wait()
	h.Seal()
	paid.Wait()
	for _, method := range []string{"simulateTransaction", "sendTransaction", "getTransaction"} {
		if n := h.count(method); n != sales {
			t.Errorf("%d calls of %s for %d sales", n, method, sales)
		}
	}
	h.Finalize()
	h.eventually("final payment", func() bool { return h.status(begun[0]).Final })
	h.mu.Lock()
	before := maps.Clone(h.seen)
	h.mu.Unlock()
	for _, s := range begun {
		h.eventually("final payment", func() bool { return h.status(s).Final })
	}
	for _, method := range []string{"getTransaction", "getBlock"} {
		if n := h.count(method) - before[method]; n != 0 {
			t.Errorf("%d calls of %s for %d sales in a block that is final", n, method, sales)
		}
	}
}

// A block that is final in the place of the one in which a payment was read is another: the payment
// is looked for anew.
func TestFinalBlockOfAnotherFork(t *testing.T) {
	h := open(t)
	cfg := h.cfg
	cfg.Poll = 20 * time.Millisecond
	h.rail = newRail(t, cfg)
	follow(t, h.rail)
	d := h.driver(ledger.NewMem(ledger.MemOptions{}), h.rail, func(step string) {
		if step == "sent" {
			h.Seal()
		}
	})
	s := h.begin(d, h.pay(price))
	if err := d.Drive(t.Context(), s, &owner{}); err != nil {
		t.Fatal(err)
	}
	h.Reorg(1)
	h.Finalize()
	h.eventually("payment that is looked for", func() bool {
		f := h.status(s)
		if f.Final {
			t.Fatalf("final in a block that is gone: %+v", f)
		}
		return f.State == rail.Waiting
	})
}
