package settle_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// torn is a network that says something else of each payment, and on which nothing can be replaced.
type torn struct {
	*several
	says  map[string]rail.State // by payer
	fills int
}

func (n *torn) Status(_ context.Context, p *rail.Payment, signed []rail.Signed, _ rail.Verified,
	_ time.Time) (rail.Finding,
	error) {
	f := rail.Finding{State: n.says[p.Payer], Advice: rail.Wait}
	if f.State == rail.Dead {
		f.Unfilled = &signed[len(signed)-1]
	}
	if f.State == rail.Paid {
		f.Proof = &rail.Proof{Tx: "tx-0"}
	}
	return f, nil
}

func (n *torn) Replace(_ context.Context, _ []*rail.Payment, _ rail.Signed, fill bool) (rail.Draft, error) {
	if fill {
		n.fills++
	}
	return nil, errors.New("not now")
}

// A number is filled when nothing can land under it any more: while one member waits for its
// transaction or is seen in a block, another's death does not take it from under it.
func TestANumberIsNotFilledUnderWhoWaits(t *testing.T) {
	states := []rail.State{rail.Waiting, rail.Seen, rail.Paid, rail.Dead}
	for _, first := range states {
		for _, second := range states {
			n := &torn{several: &several{changed: make(chan struct{})}, says: map[string]rail.State{"payer-0": first,
				"payer-1": second}}
			db := ledger.NewMem(ledger.MemOptions{})
			g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{n}})
			if err != nil {
				t.Fatal(err)
			}
			d, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{n}, Gas: g})
			if err != nil {
				t.Fatal(err)
			}
			o := settle.Order{Arrow: func(ledger.Tx, *settle.Settlement) error { return nil }}
			for i := range 2 {
				o.Members = append(o.Members, settle.Member{ID: fmt.Sprint("purchase-", i), Payment: rail.Payment{
					Network: "test:several", Payer: fmt.Sprint("payer-", i), Nonce: fmt.Sprint("nonce-", i),
					Amount: big.NewInt(1000)}})
			}
			s, err := d.Begin(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Watch(t.Context(), s, &heard{proofs: map[string]rail.Proof{}}); err != nil {
				t.Fatal(err)
			}
			both := []rail.State{first, second}
			want := slices.Contains(both, rail.Dead) && !slices.Contains(both, rail.Waiting) &&
				!slices.Contains(both, rail.Seen)
			if (n.fills > 0) != want {
				t.Errorf("%s and %s: filled %d times, want that it is: %v", first, second, n.fills, want)
			}
		}
	}
}

// waiter is an owner who notes what it is told of waiting.
type waiter struct {
	heard
	told []bool
}

func (w *waiter) Waits(waits bool) { w.told = append(w.told, waits) }

// advised says one thing of every payment.
type advised struct {
	*several
	finding rail.Finding
}

func (n *advised) Status(context.Context, *rail.Payment, []rail.Signed, rail.Verified, time.Time) (rail.Finding,
	error) {
	return n.finding, nil
}

// Who merely waits for the chain takes no place of those under way; who is to be helped does.
func TestWhoMerelyWaitsIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		finding rail.Finding
		waits   bool
	}{
		"waiting":      {rail.Finding{State: rail.Waiting, Advice: rail.Wait}, true},
		"seen":         {rail.Finding{State: rail.Seen}, true},
		"to be resent": {rail.Finding{State: rail.Waiting, Advice: rail.Resend}, false},
		"paid":         {rail.Finding{State: rail.Paid, Proof: &rail.Proof{Tx: "tx-0"}}, false},
		"dead":         {rail.Finding{State: rail.Dead, Advice: rail.Wait}, false},
	} {
		n := &advised{several: &several{changed: make(chan struct{})}, finding: c.finding}
		db := ledger.NewMem(ledger.MemOptions{})
		g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{n}})
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
		w := &waiter{proofs: map[string]rail.Proof{}}
		if err := d.Watch(t.Context(), s, w); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.told, []bool{true, c.waits}) {
			t.Errorf("%s: told %v, want that a look waits and then %v", name, w.told, c.waits)
		}
	}
}
