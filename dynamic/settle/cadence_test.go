package settle_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// cadence is a network with a block a second and several accounts, whose node takes its time to
// answer and tells of a block late, of one sooner than of another. Everything that was sent before
// a block is in it.
type cadence struct {
	rail.Rail // of which nothing else is asked
	together  int
	of        int // accounts

	mu      sync.Mutex
	dice    *rand.Rand
	changed chan struct{}
	mined   []uint64        // by account
	pool    map[string]bool // transactions that wait for a block
	waits   []int           // how many of each account
	in      map[string]bool // transactions in blocks
	sent    int
	blocks  int // that were sealed
}

const (
	drafts = 30 * time.Millisecond  // what a draft and its signature take
	told   = 100 * time.Millisecond // how late a block is seen at most
)

func (n *cadence) Info() rail.Info           { return rail.Info{Network: "test:several", Together: n.together} }
func (*cadence) Check(context.Context) error { return nil }
func (*cadence) Standing(context.Context) (rail.Standing, error) {
	return rail.Standing{Head: time.Now(), Priced: true}, nil
}

func (n *cadence) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

func (n *cadence) Accounts(context.Context) (all []rail.Account, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.of {
		all = append(all, rail.Account{Address: fmt.Sprint("account-", i), Mined: n.mined[i], Pending: n.mined[i]})
	}
	return all, nil
}

func (n *cadence) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	time.Sleep(drafts)
	accounts, err := n.Accounts(ctx)
	return named{bundled{accounts, ps}}, err
}

// named is bundled with ids that no two accounts share.
type named struct{ bundled }

func (n named) Sign(seq rail.Sequencer) (rail.Signed, error) {
	s, err := n.bundled.Sign(seq)
	s.ID += " of " + s.Account
	return s, err
}

// Send takes each to wait for the next block.
func (n *cadence) Send(_ context.Context, all ...rail.Signed) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range all {
		if n.pool[s.ID] || n.in[s.ID] {
			continue
		}
		var i int
		if _, err := fmt.Sscanf(s.Account, "account-%d", &i); err != nil {
			return err
		}
		n.pool[s.ID] = true
		n.waits[i]++
		n.sent++
	}
	return nil
}

func (n *cadence) Status(_ context.Context, _ *rail.Payment, signed []rail.Signed, _ rail.Verified,
	_ time.Time) (rail.Finding, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := signed[len(signed)-1]; n.in[s.ID] {
		return rail.Finding{State: rail.Paid, Proof: &rail.Proof{Tx: s.ID}}, nil
	}
	return rail.Finding{State: rail.Waiting, Advice: rail.Wait}, nil
}

// seal seals a block, of which everybody hears later. It takes as long as that may be.
func (n *cadence) seal() {
	n.mu.Lock()
	n.blocks++
	sealed := n.pool
	n.pool = map[string]bool{}
	waited := n.waits
	n.waits = make([]int, n.of)
	late := time.Duration(n.dice.Int64N(int64(told)))
	n.mu.Unlock()
	time.Sleep(late)
	defer time.Sleep(told - late)
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, k := range waited {
		n.mined[i] += uint64(k)
	}
	maps.Copy(n.in, sealed)
	close(n.changed)
	n.changed = make(chan struct{})
}

// pace has 256 buy for a while, again and again, who come within a time after they are answered. It
// returns how many bought a second, how many a transaction, and for how many blocks each waited
// from the fourth on, when the network's pace is known.
func pace(t *testing.T, n *cadence, within time.Duration) (rate, each, waited float64) {
	const buyers, seconds = 256, 15
	synctest.Test(t, func(t *testing.T) {
		n.changed, n.in, n.pool = make(chan struct{}), map[string]bool{}, map[string]bool{}
		n.dice = rand.New(rand.NewPCG(2, 1))
		n.mined, n.waits = make([]uint64, n.of), make([]int, n.of)
		db := ledger.NewMem(ledger.MemOptions{Calm: true})
		g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{n}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{n}, Gas: g})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx ledger.Tx) error {
			for i := range buyers {
				if err := g.Settled(tx, settle.GasPayer{Network: "test:several", Address: fmt.Sprint("payer-", i),
					Code: ""}, 5, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var mu sync.Mutex
		var bought, late, blocks int
		for i := range buyers {
			dice := rand.New(rand.NewPCG(1, uint64(i)))
			wg.Go(func() {
				for k := 0; ; k++ {
					time.Sleep(time.Duration(dice.Int64N(int64(within))))
					if ctx.Err() != nil {
						return
					}
					came := n.sealed()
					o := order(fmt.Sprint("payer-", i))
					o.Members[0].ID = fmt.Sprint("purchase-", i, "-", k)
					s, err := d.Begin(ctx, o)
					if err != nil {
						if ctx.Err() == nil {
							t.Error(err)
						}
						return
					}
					h := &heard{proofs: map[string]rail.Proof{}}
					if err := d.Drive(t.Context(), s, h, o.Members[0].ID); err != nil {
						t.Error(err)
					}
					mu.Lock()
					bought++
					if came >= 3 {
						late++
						blocks += n.sealed() - came
					}
					mu.Unlock()
				}
			})
		}
		for range seconds {
			time.Sleep(time.Second - told)
			n.seal()
		}
		n.mu.Lock()
		sent := n.sent
		n.mu.Unlock()
		mu.Lock()
		rate, each = float64(bought)/seconds, float64(bought)/float64(sent)
		waited = float64(blocks) / float64(late)
		mu.Unlock()
		cancel()
		for range 3 { // what is under way
			time.Sleep(time.Second)
			n.seal()
		}
		wg.Wait()
	})
	return rate, each, waited
}

// sealed is how many blocks there are.
func (n *cadence) sealed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blocks
}

// Who is gathered is in the same block as if it had gone at once by itself, where there is room for
// all among six accounts; one in a hundred is an exception, who comes while the last drafts for a
// block are made. It was one in 27 where all went at once 150 ms before a block seemed due: that is
// no better known than by how late the node told of the last ones.
func TestGatheringCostsNoBlock(t *testing.T) {
	for _, within := range []time.Duration{500, 1300, 2000} {
		within *= time.Millisecond
		rate, _, alone := pace(t, &cadence{together: 1, of: 6}, within)
		with, each, waited := pace(t, &cadence{together: 50, of: 6}, within)
		t.Logf("within %s: %.1f/s alone, %.2f times as many together, %.1f a transaction, %.3f and %.3f blocks", within,
			rate, with/rate, each, alone, waited)
		if waited > alone+0.018 || with < 0.97*rate || each < 10 {
			t.Errorf("within %s: want no more than 0.018 blocks more, 0.97 times as many and 10 a transaction at least",
				within)
		}
	}
}
