package settle_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// revertTold is a network on which the first transactions for a payer with code revert.
type revertTold struct {
	*several
	reverts int
	price   rail.Price
}

func (n *revertTold) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	d, err := n.several.Draft(ctx, ps)
	return pricedAt{d.(bundled), n.price}, err
}

type pricedAt struct {
	bundled
	price rail.Price
}

func (p pricedAt) Price() rail.Price { return p.price }

func (n *revertTold) Status(_ context.Context, _ *rail.Payment, signed []rail.Signed, _ rail.Verified,
	_ time.Time) (rail.Finding, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := rail.Finding{State: rail.Waiting, Advice: rail.Wait}
	for i := range n.sent {
		if i == n.reverts {
			f.State, f.Final, f.Proof = rail.Paid, true, &rail.Proof{Tx: fmt.Sprint("tx-", i)}
			continue
		}
		f.Reverts = append(f.Reverts, rail.Revert{Tx: fmt.Sprint("tx-", i), Gas: 90_000, Cost: 900})
	}
	if f.State == rail.Waiting && len(signed) == len(n.sent) {
		f.Advice = rail.Redraft
	}
	return f, nil
}

func (n *revertTold) Explain(context.Context, *rail.Payment, rail.Revert) (rail.Cause, error) {
	return rail.Cause{}, nil
}

// landing is an owner who lets a payment count as landed when it is paid, as a till does.
type landing struct {
	heard
	d *settle.Driver
	g *settle.GasGuard
}

func (l *landing) Heard(ctx context.Context, s *settle.Settlement, m settle.Member, n settle.News) (bool, error) {
	if n.State == rail.Paid {
		return false, l.g.Count(ctx, func(tx ledger.Tx) error { return l.d.Landed(tx, s, m.ID) })
	}
	return n.Over == nil, nil
}

// What is held for a payer's code while its transaction may burn it is given back when it reverted
// or landed: the day's loss is what was burnt.
func TestTheLossIsWhatWasBurnt(t *testing.T) {
	for reverts := range 2 { // of a payer with code one may revert (M15)
		synctest.Test(t, func(t *testing.T) {
			n := &revertTold{several: &several{changed: make(chan struct{})}, reverts: reverts,
				price: rail.Price{Cost: 100, Most: 5000, Code: "code"}}
			db := ledger.NewMem(ledger.MemOptions{})
			g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{n}, Reverts: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			d, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{n}, Gas: g})
			if err != nil {
				t.Fatal(err)
			}
			s, err := d.Begin(t.Context(), settle.Order{Arrow: func(ledger.Tx, *settle.Settlement) error { return nil },
				Members: []settle.Member{
					{ID: "purchase", Payment: rail.Payment{Network: "test:several", Payer: "payer", Nonce: "nonce",
						Amount: big.NewInt(1000)}}}})
			if err != nil {
				t.Fatal(err)
			}
			var lost []int64
			count := func() {
				if err := db.View(t.Context(), func(tx ledger.Tx) error {
					now, _, err := g.Lost(tx, "test:several")
					lost = append(lost, now)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			count()
			if err := d.Drive(t.Context(), s, &landing{d: d, g: g}); err != nil {
				t.Fatal(err)
			}
			count()
			if want := []int64{5000, int64(900 * reverts)}; !slices.Equal(lost, want) {
				t.Errorf("%d reverts: lost %v, want %v", reverts, lost, want)
			}
			kept, err := d.Load(t.Context(), s.ID)
			if err != nil || len(kept.Held) != 0 || len(kept.Reverts) != reverts {
				t.Errorf("the record holds %v back and has %d reverts, want nothing and %d; %v", kept.Held,
					len(kept.Reverts), reverts, err)
			}
		})
	}
}

// emptied is several whose account has gas for one transaction.
type emptied struct{ *several }

func (n *emptied) empty() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.sent) > 0
}

func (n *emptied) Standing(context.Context) (rail.Standing, error) {
	s := rail.Standing{Head: time.Now(), Priced: true}
	if n.empty() {
		s.Out = "its account is empty"
	}
	return s, nil
}

func (n *emptied) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if n.empty() {
		return nil, rail.ErrNoGas
	}
	return n.several.Draft(ctx, ps)
}

// What ends one payment and is not its payer's doing would end others alike: the network is read
// anew at once, and takes no payment while it is out.
func TestWhatWouldEndOthersIsLookedInto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &emptied{&several{changed: make(chan struct{}), poor: "payer"}}
		db := ledger.NewMem(ledger.MemOptions{})
		rails := []rail.Rail{n}
		g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: rails})
		if err != nil {
			t.Fatal(err)
		}
		d, err := settle.New(settle.Config{DB: db, Rails: rails, Gas: g})
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Begin(t.Context(), order("payer"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := g.Take(t.Context(), "test:several", 1000, 0); err != nil {
			t.Errorf("before: %v", err)
		}
		if err := d.Drive(t.Context(), s, &landing{d: d, g: g}); err != nil {
			t.Fatal(err)
		}
		if _, out := errors.AsType[*settle.GasOutage](g.Take(t.Context(), "test:several", 1000, 0)); !out {
			t.Error("the next payment is taken by an account that is known to be empty")
		}
	})
}
