package onchaintest_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// stages is a rail that says what is done with transactions for several, so that a process can be
// killed there. From the first on that it drafts the till's own steps count too.
type stages struct {
	rail.Rail
	kill  func(step string)
	armed atomic.Bool
}

// after is the till's hook.
func (s *stages) after(step string) {
	if s.armed.Load() {
		s.kill(step)
	}
}

// Draft implements rail.Rail.
func (s *stages) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	d, err := s.Rail.Draft(ctx, ps)
	if err != nil || len(ps) < 2 {
		return d, err
	}
	s.armed.Store(true)
	s.kill("batch drafted")
	return stagedDraft{d, s, "batch signed"}, nil
}

// Replace implements rail.Rail.
func (s *stages) Replace(ctx context.Context, ps []*rail.Payment, old rail.Signed, fill bool) (rail.Draft, error) {
	d, err := s.Rail.Replace(ctx, ps, old, fill)
	if err != nil || fill || len(ps) < 2 {
		return d, err
	}
	return stagedDraft{d, s, "batch bumped"}, nil
}

type stagedDraft struct {
	rail.Draft
	s    *stages
	step string
}

// Sign runs in the ledger's transaction, which is not yet stored when it returns.
func (d stagedDraft) Sign(q rail.Sequencer) (rail.Signed, error) {
	signed, err := d.Draft.Sign(q)
	d.s.kill(d.step)
	return signed, err
}

// Send implements rail.Rail.
func (s *stages) Send(ctx context.Context, all ...rail.Signed) error {
	several := false
	for _, x := range all {
		several = several || forSeveral(x)
	}
	if several {
		s.kill("batch unsent")
	}
	err := s.Rail.Send(ctx, all...)
	if several {
		s.kill("batch broadcast")
	}
	return err
}

// Status implements rail.Rail.
func (s *stages) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	f, err := s.Rail.Status(ctx, p, signed, since, now)
	if err == nil && f.State == rail.Paid && len(signed) > 0 && forSeveral(signed[0]) {
		s.kill("batch mined")
	}
	return f, err
}

// forSeveral reports whether a transaction is one to Multicall3.
func forSeveral(s rail.Signed) bool {
	var tx types.Transaction
	return tx.UnmarshalBinary(s.Raw) == nil && tx.To() != nil && *tx.To() == chain.Multicall
}

// batchSteps are where a process is killed that settles several in one transaction: around its
// signature and its broadcast, when it is in a block of which nobody has written anything, and
// between the outcomes of its members.
var batchSteps = []string{"batch drafted", "batch signed", "settling", "batch unsent", "batch broadcast", "sent",
	"batch mined", "settled", "delivered"}

// bumpSteps are where one is killed that replaces such a transaction, which takes seconds.
var bumpSteps = []string{"batch bumped", "resigned"}

// crowded sells to ten in a child that is killed after a step, the nth time it is taken, and
// reports whether it was. No block is made before the node has a transaction for several, or one
// for each.
func (v *victims) crowded(step string, nth int, last string) bool {
	v.t.Helper()
	c := childConfig{Step: step, Nth: nth, Stages: true}
	if slices.Contains(bumpSteps, step) {
		c.Stuck = 100 * time.Millisecond
	}
	k := v.start(c)
	v.net.SetAutomine(false)
	var wg sync.WaitGroup
	var all []*order
	for i := range 10 {
		item := []string{"hello", "small_blessing", "daily_fortune"}[i%3]
		if i == 9 {
			item = last
		}
		if o, ok := v.order(k, "/api/buy/"+item); ok {
			all = append(all, o)
		}
	}
	for _, o := range all { // at once
		wg.Go(func() {
			if err := v.present(k, o); err != nil {
				v.t.Error(err)
			}
		})
	}
	until(v.t, "a transaction for several", func() bool {
		txs := v.pool()
		return k.dead() || len(txs) >= len(all) || slices.ContainsFunc(txs, batched)
	})
	stop := v.sealing(50*time.Millisecond, c.Stuck > 0)
	wg.Wait() // if it lives on it settled each by a transaction of its own
	stop()
	return !k.kill()
}

// calldata is what a transaction of ours says.
func calldata(t testing.TB, s settle.Sent) []byte {
	t.Helper()
	var tx types.Transaction
	if err := tx.UnmarshalBinary(s.Raw); err != nil {
		t.Fatal(err)
	}
	return tx.Data()
}

// settlements are those that the ledger has.
func settlements(t testing.TB, db ledger.DB) (all []settle.Settlement) {
	t.Helper()
	err := db.View(t.Context(), func(tx ledger.Tx) error {
		all = nil
		for s, err := range ledger.Values[settle.Settlement](tx.Scan(ledger.Prefix(ledger.Key("settlement")))) {
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// pool are the relayer's transactions that wait at the node and are next, by their numbers.
func (v *victims) pool() (txs []*types.Transaction) {
	v.t.Helper()
	var all struct {
		Pending map[common.Address]map[string]*types.Transaction
	}
	if err := v.net.RPC.Client().Call(&all, "txpool_content"); err != nil {
		v.t.Error(err)
	}
	txs = slices.Collect(maps.Values(all.Pending[v.net.Relayer.Address]))
	slices.SortFunc(txs, func(a, b *types.Transaction) int { return cmp.Compare(a.Nonce(), b.Nonce()) })
	return txs
}

func batched(tx *types.Transaction) bool { return *tx.To() == chain.Multicall }

// sealing looks now and then whether something waits for a block, and seals one, until the function
// that it returns is called. Those for several are left out of it if they are to be stuck.
func (v *victims) sealing(every time.Duration, stuck bool) (stop func()) {
	v.net.SetAutomine(false)
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			txs := v.pool()
			i := slices.IndexFunc(txs, batched)
			switch {
			case len(txs) > 0 && (!stuck || i < 0):
				v.net.Seal()
			case len(txs) > 0 && i > 0:
				v.net.SealTxs(txs[:i]...)
			}
		}
	})
	return func() { close(ended); wg.Wait(); v.net.SetAutomine(true) }
}

// A process that settles several in one transaction is killed at each step of that.
func TestBatchKills(t *testing.T) {
	t.Parallel()
	crowdedKills(t, 1)
}

// TestSoakBatchKills kills two thousand.
func TestSoakBatchKills(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("2,000 kills take minutes; set STORE_SOAK=1")
	}
	for i := range 40 {
		t.Run(fmt.Sprint("world ", i), func(t *testing.T) { crowdedKills(t, 5) })
	}
}

// crowdedKills kills a process at each step of a transaction for several, so many times over.
func crowdedKills(t *testing.T, rounds int) {
	v := newVictims(t, 60)
	spared, steps := 0, slices.Concat(batchSteps, bumpSteps)
	for i := range rounds * len(steps) {
		step, nth, last := steps[i%len(steps)], 1, "hello"
		if slices.Contains([]string{"settling", "sent", "settled", "delivered"}, step) {
			nth += (2 + i/len(steps)) % 5 // after some of its members, and before the others
		}
		if i%3 == 0 { // of which there are few
			last = "jar_of_tuesday"
		}
		for !v.crowded(step, nth, last) {
			if spared++; spared > 3*rounds { // it is a slow machine on which ten do not come at once
				t.Fatalf("%d processes lived on, killed were %v", spared, v.kills)
			}
		}
		v.kills[step]++
		if t.Failed() {
			t.FailNow()
		}
	}
	db := v.finish()
	several, bumped := 0, 0
	for _, s := range settlements(t, db) {
		if len(s.Members) < 2 {
			continue
		}
		several++
		for i, x := range s.Sent {
			if x.Fill || !forSeveral(x.Signed) {
				continue
			}
			if i > 0 {
				bumped++
			}
			if !slices.Equal(x.Of, s.Sent[0].Of) || !bytes.Equal(calldata(t, x), calldata(t, s.Sent[0])) {
				t.Errorf("transaction %s of %s is for others than %s", x.ID, s.ID, s.Sent[0].ID)
			}
		}
	}
	t.Logf("kills: %v, %d lived on, orders: %d", v.kills, spared, len(v.orders))
	t.Logf("transactions for several: %d signed, %d replaced, %d in blocks", several, bumped, v.multicalls())
	if several == 0 || bumped == 0 {
		t.Error("none was signed, or none was replaced")
	}
}
