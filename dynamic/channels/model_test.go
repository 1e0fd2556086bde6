package channels_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/rail"
)

func bigInt(n int64) *big.Int { return big.NewInt(n) }

// escrow is the contract, as far as it says what becomes of money.
type escrow struct {
	block  uint64
	of     map[string]*rail.ChannelState
	endsAt map[string]time.Time // of the withdrawal
}

// see is a channel as the newest block has it.
func (e *escrow) see(id string) rail.ChannelState {
	s := *e.of[id]
	s.Block, s.Time = e.block, time.Now()
	return s
}

// world is a store, its chain, and payers of every kind: each channel's payer keeps a counter of
// its own, and is honest, behind, or wants its money back at the worst moment.
type world struct {
	t      *testing.T
	db     ledger.DB
	chain  escrow
	spent  map[string]int64 // what the payer of a channel knows it spent
	signed map[string]int64 // the most that it signed for
	under  map[string]string
	sold   map[string]int64 // voucher → how much was delivered for it
}

const (
	payers  = 4
	balance = 400
	delay   = 80 * time.Second
)

func (w *world) id(r *rand.Rand) string { return fmt.Sprint("c", r.IntN(payers)) }

// step does one thing at random.
func (w *world) step(r *rand.Rand) error {
	id := w.id(r)
	c := w.chain.of[id]
	ctx := context.Background()
	w.chain.block++
	switch r.IntN(12) {
	case 0, 1, 2, 3: // a purchase begins
		amount := 1 + r.Int64N(30)
		b := bid(id, w.spent[id]+amount, amount, w.chain.see(id))
		if r.IntN(5) == 0 {
			b.Voucher.Max += r.Int64N(40) - 20 // out of step
		}
		w.signed[id] = max(w.signed[id], b.Voucher.Max)
		return w.db.Update(ctx, func(tx ledger.Tx) error {
			_, err := limits.Reserve(tx, b)
			if err == nil {
				w.under[id] = b.Purchase
			}
			return err
		})
	case 4, 5, 6: // it is delivered, and perhaps the answer is lost
		return w.deliver(ctx, id, r.IntN(4) == 0)
	case 7: // or it fails
		return w.db.Update(ctx, func(tx ledger.Tx) error { return channels.Release(tx, network, id, w.under[id], 0) })
	case 8: // a claim
		return w.claim(ctx, id)
	case 9: // the payer begins to withdraw, or ends it
		if c.Withdrawing == 0 && c.Balance > c.Claimed && r.IntN(3) == 0 {
			c.Withdrawing, w.chain.endsAt[id] = c.Balance-c.Claimed, time.Now().Add(delay)
		} else if c.Withdrawing > 0 && !time.Now().Before(w.chain.endsAt[id]) {
			c.Balance -= min(c.Withdrawing, c.Balance-c.Claimed)
			c.Withdrawing = 0
		}
	case 10: // a deposit
		c.Balance += balance
	case 11:
		return w.refund(ctx, id)
	}
	return nil
}

func (w *world) deliver(ctx context.Context, id string, lost bool) error {
	return w.db.Update(ctx, func(tx ledger.Tx) error {
		row, err := channels.Take(tx, network, id, w.under[id], 0)
		if err != nil {
			return err
		}
		w.sold[w.under[id]] = row.Last.Amount
		if !lost {
			w.spent[id] = row.Charged
		}
		return nil
	})
}

// claim claims what is open of a channel, as the contract does.
func (w *world) claim(ctx context.Context, id string) error {
	return w.db.Update(ctx, func(tx ledger.Tx) error {
		row, err := channels.Read(tx, network, id)
		if errors.Is(err, ledger.ErrNotFound) || err == nil && row.Unclaimed() == 0 {
			return nil
		} else if err != nil {
			return err
		}
		c, v := w.chain.of[id], row.Claim()
		if v.Total > v.Voucher.Max || v.Total > c.Balance {
			return fmt.Errorf("a claim of %d by a voucher for %d of a balance of %d would revert", v.Total,
				v.Voucher.Max, c.Balance)
		}
		c.Claimed = max(c.Claimed, v.Total)
		return errors.Join(channels.Show(tx, network, id, v.Voucher.Max),
			channels.Observe(tx, network, w.chain.see(id), false))
	})
}

func (w *world) refund(ctx context.Context, id string) error {
	return w.db.Update(ctx, func(tx ledger.Tx) error {
		row, err := channels.BeginRefund(tx, network, &rail.ChannelPayment{Channel: rail.Channel{ID: id},
			Voucher: rail.Voucher{Max: w.spent[id]}}, 5)
		if err != nil {
			return err
		}
		c := w.chain.of[id]
		c.Claimed = max(c.Claimed, row.Charged)
		c.Balance -= min(row.Refund.Amount, c.Balance-c.Claimed)
		c.Withdrawing = max(0, c.Withdrawing-row.Refund.Amount)
		return channels.EndRefund(tx, network, w.chain.see(id), "0x1")
	})
}

// watch is the worker: it looks at every channel, and claims before half of a delay is over.
func (w *world) watch() error {
	ctx := context.Background()
	for id, c := range w.chain.of {
		if err := w.db.Update(ctx, func(tx ledger.Tx) error {
			return errors.Join(channels.Observe(tx, network, w.chain.see(id), false),
				channels.Looked(tx, network, w.chain.block, time.Now()))
		}); err != nil {
			return err
		}
		if c.Withdrawing > 0 {
			if err := w.claim(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// check is what holds after every step.
func (w *world) check() error {
	return w.db.View(context.Background(), func(tx ledger.Tx) error {
		var charged, delivered int64
		for id := range w.chain.of {
			row, err := channels.Read(tx, network, id)
			if errors.Is(err, ledger.ErrNotFound) {
				continue
			} else if err != nil {
				return err
			}
			switch {
			case row.AtRisk() > limits.Channel:
				return fmt.Errorf("%s: %d are at risk", id, row.AtRisk())
			case row.Charged > w.signed[id]:
				return fmt.Errorf("%s: charged %d of the %d that were signed for", id, row.Charged, w.signed[id])
			case row.Lost() > 0:
				return fmt.Errorf("%s: %d of %d were withdrawn", id, row.Lost(), row.Charged)
			}
			charged += row.Brought()
		}
		for _, n := range w.sold {
			delivered += n
		}
		if charged != delivered {
			return fmt.Errorf("charged %d, and delivered %d", charged, delivered)
		}
		return nil
	})
}

// expected reports an answer that a payer gets, as against a fault.
func expected(err error) bool {
	for _, want := range []error{nil, &channels.Repeat{}, &channels.Mismatch{}, &channels.Busy{}, &channels.Blind{},
		channels.ErrExceeds, channels.ErrWithdrawing, channels.ErrNothing, channels.ErrNotHeld, channels.ErrUnknown} {
		if _, repeat := errors.AsType[*channels.Repeat](err); repeat || alike(err, want) {
			return true
		}
	}
	_, over := errors.AsType[*channels.Over](err)
	return over
}

// Whatever payers do and in whatever order, what was delivered is what was charged, no more than
// was signed for, and can be claimed.
func TestModel(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, db: ledger.NewMem(ledger.MemOptions{}), spent: map[string]int64{},
				signed: map[string]int64{}, under: map[string]string{}, sold: map[string]int64{},
				chain: escrow{of: map[string]*rail.ChannelState{}, endsAt: map[string]time.Time{}}}
			for i := range payers {
				id := fmt.Sprint("c", i)
				w.chain.of[id] = &rail.ChannelState{ID: id, Balance: balance}
			}
			r := rand.New(rand.NewPCG(seed, 42))
			sold := 0
			for i := range 400 {
				if r.IntN(6) == 0 {
					if err := w.watch(); err != nil {
						t.Fatalf("seed %d, step %d: the watcher: %v", seed, i, err)
					}
				}
				if err := w.step(r); !expected(err) {
					t.Fatalf("seed %d, step %d: %v", seed, i, err)
				}
				if r.IntN(3) == 0 { // the client heard of the state that corrects it
					w.correct(w.id(r))
				}
				if err := w.check(); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, i, err)
				}
				time.Sleep(time.Second)
				sold = len(w.sold)
			}
			if sold < 10 {
				t.Errorf("seed %d: only %d sales: the model tries nothing", seed, sold)
			}
		})
	}
}

// correct is a client that takes over the counter of a corrective answer.
func (w *world) correct(id string) {
	err := w.db.View(context.Background(), func(tx ledger.Tx) error {
		row, err := channels.Read(tx, network, id)
		if err == nil {
			w.spent[id] = row.Charged
		}
		return err
	})
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		w.t.Error(err)
	}
}

// Of many requests with one voucher, in any engine, one holds the channel.
func TestOneVoucherIsOneSale(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (ledger.DB, error){
		"mem": func(*testing.T) (ledger.DB, error) { return ledger.NewMem(ledger.MemOptions{}), nil },
		"bolt": func(t *testing.T) (ledger.DB, error) {
			return bolt.Open(t.Context(), t.TempDir()+"/ledger")
		},
		"postgres": func(t *testing.T) (ledger.DB, error) {
			return postgres.Open(t.Context(), ledgertest.Postgres(t), postgres.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			update(t, db, func(tx ledger.Tx) error { return channels.Looked(tx, network, 1, tx.Now()) })
			var wg sync.WaitGroup
			results := make([]error, 32)
			for i := range results {
				wg.Go(func() {
					b := bid("a", 100, 100, state("a", 1, 1000, 0))
					b.Purchase = fmt.Sprint(i)
					results[i] = db.Update(t.Context(), func(tx ledger.Tx) error {
						_, err := limits.Reserve(tx, b)
						return err
					})
				})
			}
			wg.Wait()
			held := 0
			for _, err := range results {
				if _, repeat := errors.AsType[*channels.Repeat](err); err == nil {
					held++
				} else if !repeat {
					t.Error(err)
				}
			}
			if held != 1 {
				t.Errorf("%d of the requests hold the channel", held)
			}
		})
	}
}
