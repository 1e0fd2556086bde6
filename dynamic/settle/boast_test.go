package settle_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// boastful is several with a node that once says of its account that far more is mined than is.
type boastful struct {
	*several
	mu    sync.Mutex
	when  int    // the draft of which it says so
	by    uint64 // by how much
	asked int
}

func (n *boastful) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	d, err := n.several.Draft(ctx, ps)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked++; n.asked == n.when {
		b := d.(bundled)
		b.accounts[0].Mined, b.accounts[0].Pending = b.accounts[0].Mined+n.by, b.accounts[0].Mined+n.by
	}
	return d, err
}

// Status asks for what came before its turn again.
func (n *boastful) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	f, err := n.several.Status(ctx, p, signed, since, now)
	if f.State == rail.Waiting && f.Advice == rail.Wait && len(signed) > 0 {
		f.Advice = rail.Resend
	}
	return f, err
}

// A node that once names a count that never was holds up the one payment that was signed for it,
// and no other: the numbers between are used up in their order, by payments, with as many at once
// as ever.
func TestOneFalseCountHoldsUpOnePayment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		when int
		by   uint64
	}{{"of a new ledger", 1, 1 << 40}, {"later", 20, 1 << 40}, {"a little", 20, 60},
		{"within what may be under way", 20, 30}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { falseCount(t, c.when, c.by) })
		})
	}
}

func falseCount(t *testing.T, when int, by uint64) {
	n := &boastful{several: &several{changed: make(chan struct{})}, when: when, by: by}
	db := ledger.NewMem(ledger.MemOptions{})
	rails := []rail.Rail{n}
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: rails})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: db, Rails: rails, Gas: g, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	const all = 120
	var mu sync.Mutex
	paid := 0
	pay := func(i int) {
		m := settle.Member{ID: fmt.Sprint("purchase-", i), Payment: rail.Payment{
			Network: "test:several", Payer: fmt.Sprint("payer-", i), Nonce: fmt.Sprint("nonce-", i),
			Amount: big.NewInt(1000)}}
		s, err := d.Begin(ctx, settle.Order{Members: []settle.Member{m},
			Arrow: func(ledger.Tx, *settle.Settlement) error { return nil }})
		if err != nil {
			return // in vain for an hour
		}
		if d.Drive(ctx, s, &heard{proofs: map[string]rail.Proof{}}) == nil {
			mu.Lock()
			paid++
			mu.Unlock()
		}
	}
	var under sync.WaitGroup
	for i := range 30 { // one after the other, past the lie
		under.Go(func() { pay(i) })
		time.Sleep(2 * time.Second)
	}
	for i := 30; i < all; i++ { // and many at once
		under.Go(func() { pay(i) })
	}
	under.Wait()
	time.Sleep(3 * time.Second) // the line is empty, and ends
	if paid < all-1 {
		t.Errorf("%d of %d payments were settled", paid, all)
	}
	for i, x := range n.sent {
		if x.Number != uint64(i) {
			t.Errorf("transaction %d has number %d", i, x.Number)
		}
	}
}
