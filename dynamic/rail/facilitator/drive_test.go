package facilitator

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// plainRail pays whatever is sent at once.
type plainRail struct {
	rail.Rail // of which nothing else is asked
	looked    atomic.Int64
}

func (*plainRail) Info() rail.Info             { return rail.Info{Network: "test:plain", Reverted: "reverted"} }
func (*plainRail) Check(context.Context) error { return nil }
func (*plainRail) Standing(context.Context) (rail.Standing, error) {
	return rail.Standing{Head: time.Now(), Priced: true}, nil
}
func (*plainRail) Changed() <-chan struct{} { return make(chan struct{}) }
func (*plainRail) Verify(context.Context, *rail.Payment, rail.Requirement, time.Time) (rail.Verified, error) {
	return rail.Verified{}, nil
}
func (*plainRail) Accounts(context.Context) ([]rail.Account, error) {
	return []rail.Account{{Address: "one"}}, nil
}
func (*plainRail) Draft(context.Context, []*rail.Payment) (rail.Draft, error) {
	return plainDraft{}, nil
}
func (*plainRail) Send(context.Context, ...rail.Signed) error { return nil }
func (n *plainRail) Status(context.Context, *rail.Payment, []rail.Signed, rail.Verified, time.Time) (rail.Finding,
	error) {
	n.looked.Add(1)
	return rail.Finding{State: rail.Paid, Final: true, Proof: &rail.Proof{Tx: "tx"}}, nil
}

type plainDraft struct{}

func (plainDraft) Price() rail.Price { return rail.Price{} }
func (plainDraft) Sign(seq rail.Sequencer) (rail.Signed, error) {
	account, number, err := seq.Next([]rail.Account{{Address: "one"}})
	return rail.Signed{ID: "tx", Raw: []byte("raw"), Account: account, Sequence: number}, err
}

// failing is a ledger that fails as often as it is told.
type failing struct {
	ledger.DB
	left atomic.Int64
}

func (f *failing) Update(ctx context.Context, fn func(ledger.Tx) error) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("the ledger failed")
	}
	return f.DB.Update(ctx, fn)
}

// process is a handler over a ledger, as another process has one too.
func process(t *testing.T, db ledger.DB, n rail.Rail) (h *Handler, stop func()) {
	t.Helper()
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{n}})
	if err != nil {
		t.Fatal(err)
	}
	settles, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{n}, Gas: g})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	return &Handler{cfg: HandlerConfig{Rails: []rail.Rail{n}, Settles: settles, Gas: g,
		Log: slog.New(slog.DiscardHandler)}, ctx: ctx, jobs: make(map[string]*job)}, stop
}

func plainPayment() *rail.Payment {
	return &rail.Payment{Network: "test:plain", Payer: "payer", Nonce: "nonce", Amount: big.NewInt(1000),
		Signature: []byte("signed")}
}

// A payment that another process settles while this one checks it is refused by the chain for that
// alone: who asked here is told of the settlement, and not that there is none.
func TestAnotherProcessSettledItMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, n := ledger.NewMem(ledger.MemOptions{}), &plainRail{}
		here, stopHere := process(t, db, n)
		defer stopHere()
		there, stopThere := process(t, db, n)
		defer stopThere()
		ask := func(h *Handler, check func() error) (*settle.Settlement, error) {
			p := plainPayment()
			j, _ := h.job(&asked{rail: n, p: p, want: rail.Requirement{Network: "test:plain"}, payer: p.Payer,
				check: func(context.Context, time.Time) (rail.Verified, *State, error) {
					return rail.Verified{}, nil, check()
				}})
			return h.begin(j)
		}
		s, err := ask(here, func() error {
			if _, err := ask(there, func() error { return nil }); err != nil {
				return err
			}
			return &rail.Refusal{Reason: "used", Err: rail.ErrUsed}
		})
		if err != nil || s == nil || s.Tx(settlementID(plainPayment())) != "tx" {
			t.Errorf("begun: %+v, %v", s, err)
		}
		used := &rail.Refusal{Reason: "used", Err: rail.ErrUsed}
		other := plainPayment()
		other.Nonce = "another"
		j, _ := here.job(&asked{rail: n, p: other, want: rail.Requirement{Network: "test:plain"},
			check: func(context.Context, time.Time) (rail.Verified, *State, error) {
				return rail.Verified{}, nil, used
			}})
		if s, err := here.begin(j); s != nil || !errors.Is(err, rail.ErrUsed) {
			t.Errorf("what nobody settled: %+v, %v", s, err)
		}
	})
}

// What was signed is pending until the chain was looked at, and a ledger that fails meanwhile
// leaves no number open: the settlement is driven on.
func TestASettlementIsDrivenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, n := &failing{DB: ledger.NewMem(ledger.MemOptions{})}, &plainRail{}
		h, stop := process(t, db, n)
		defer stop()
		p := plainPayment()
		j, _ := h.job(&asked{rail: n, p: p, want: rail.Requirement{Network: "test:plain"}, payer: p.Payer,
			check: func(ctx context.Context, now time.Time) (rail.Verified, *State, error) {
				seen, err := n.Verify(ctx, p, rail.Requirement{}, now)
				return seen, nil, err
			}})
		s, err := h.begin(j)
		if err != nil || j.last != (Settled{Transaction: s.Tx(settlementID(p)), Reason: Pending, Network: "test:plain",
			Payer: "payer"}) || s.Tx(settlementID(p)) == "" {
			t.Fatalf("begun: %+v, %v", j.last, err)
		}
		db.left.Store(2)
		if err := h.drive(j, &driver{over: make(chan struct{}), done: make(chan struct{})}); err != nil ||
			!j.last.Success || n.looked.Load() < 2 {
			t.Errorf("driven: %+v after %d looks, %v", j.last, n.looked.Load(), err)
		}
	})
}
