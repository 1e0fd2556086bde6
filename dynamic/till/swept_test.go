package till_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/restore"
)

// unsteady is a rail whose node says what the test wants of the final block, and whose money goes
// where the test wants.
type unsteady struct {
	rail.Rail
	chain *fakeChain
	mood  *unsteadiness
}

type unsteadiness struct {
	away  atomic.Bool   // no final block is to be had
	ahead atomic.Uint64 // how much too high the final block is that the node names
	payTo atomic.Value  // string; nothing is the usual address
}

func (r unsteady) payTo() string {
	if s, ok := r.mood.payTo.Load().(string); ok {
		return s
	}
	return fakePayTo
}

func (r unsteady) Info() rail.Info {
	info := r.Rail.Info()
	info.PayTo = r.payTo()
	return info
}

func (r unsteady) Requirement(amount int64) rail.Requirement {
	req := r.Rail.Requirement(amount)
	req.PayTo = r.payTo()
	return req
}

func (r unsteady) Final(ctx context.Context) (rail.Head, error) {
	if r.mood.away.Load() {
		return rail.Head{}, errSilent
	}
	m, err := r.Rail.Final(ctx)
	m.Block += r.mood.ahead.Load()
	return m, err
}

// Incoming knows nothing of blocks that it made up.
func (r unsteady) Incoming(_ context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return rail.Ascending(s, func(from, to uint64) iter.Seq2[rail.Transfer, error] {
		return r.chain.incoming(r.payTo(), from, to)
	})
}

// unsteadyModel is a till on such a rail that did not start yet.
func unsteadyModel(t *testing.T) (*model, *unsteadiness, *content.Site) {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true}), stop: func() {}}
	m.calm.Store(true)
	mood := new(unsteadiness)
	m.wrap = func(r rail.Rail) rail.Rail { return unsteady{r, m.chain, mood} }
	return m, mood, site
}

// strangersLand puts payments on the chain that nobody showed the store.
func (m *model) strangersLand(ps ...fakePayload) {
	m.chain.mu.Lock()
	m.chain.pool = append(m.chain.pool, &fakeTx{Pays: ps, Salt: fmt.Sprint("strangers ", len(m.chain.blocks))})
	m.chain.mu.Unlock()
	m.seal()
}

func paysTo(to, payer, nonce string) fakePayload { return pays(to, payer, nonce, "500000") }

func crumb(nonce string) fakePayload { return pays(fakePayTo, "crumbs", nonce, "7") }

func pays(to, payer, nonce, amount string) fakePayload {
	p := fakePayload{Payer: payer, Nonce: nonce, To: to, Amount: amount, Before: time.Now().Add(time.Hour).Unix()}
	p.Sig = p.signature()
	return p
}

// wantOwed demands who is owed for payments that nobody showed.
func (m *model) wantOwed(what string, payers ...string) {
	m.t.Helper()
	var got []string
	for _, o := range m.owed() {
		got = append(got, o.Payer)
	}
	if strings.Join(got, " ") != strings.Join(payers, " ") {
		m.t.Errorf("%s: owed to %q, want %q", what, got, payers)
	}
}

// No terms go out before it is noted from where on arrivals are read: what lands by an
// authorization that was signed for them is owed, however late the node answers, and what arrived
// earlier is not.
func TestReadingBeginsBeforeTheTerms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, mood, site := unsteadyModel(t)
		defer func() { m.stop() }()
		m.strangersLand(paysTo(fakePayTo, "of-old", "buried"))
		m.pass(time.Minute)
		m.strangersLand(paysTo(fakePayTo, "of-old", "not yet final"))
		mood.away.Store(true)
		m.start(site)
		m.pass(time.Minute)
		r, _ := m.do("/api/buy/hello", nil)
		if r.Status != 503 || !strings.Contains(string(r.Raw), "cannot be read yet") {
			t.Errorf("while the node names no final block, terms are answered %d %s", r.Status, r.Code())
		}
		if r.Status == 503 {
			mood.away.Store(false)
			time.Sleep(2 * time.Second)
		}
		unseen := m.offered("/api/buy/hello", "eager", "never presented", 0)
		mood.away.Store(true)
		m.strangersLand(unseen.payload)
		m.pass(2 * time.Minute) // it is buried before anything was read
		m.stop()
		m.start(site)
		mood.away.Store(false)
		m.pass(2 * time.Minute)
		m.wantOwed("a node that was away", "eager")
	})
}

// A chain whose clock is ahead of ours hides nothing of what was there before: not the block that
// is its head.
func TestReadingBeginsWhereTheClockIsAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _, site := unsteadyModel(t)
		defer func() { m.stop() }()
		m.strangersLand(paysTo(fakePayTo, "of-old", "in the head"))
		m.chain.mu.Lock()
		for _, b := range m.chain.blocks {
			b.time = b.time.Add(10 * time.Second)
		}
		m.chain.mu.Unlock()
		m.start(site)
		m.strangersLand(m.offered("/api/buy/hello", "eager", "never presented", 0).payload)
		m.pass(2 * time.Minute)
		m.wantOwed("a clock ahead of ours", "eager")
	})
}

// The first process that makes terms says where the reading begins, for all of them, and a later
// start changes nothing.
func TestReadingBeginsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, mood, site := unsteadyModel(t)
		m.start(site)
		unseen := m.offered("/api/buy/hello", "eager", "never presented", 0)
		mood.away.Store(true)
		m.strangersLand(unseen.payload)
		m.pass(2 * time.Minute)
		first := m.stop
		mood.away.Store(false)
		m.start(site) // a second process beside the first
		defer func() { m.stop(); first() }()
		m.offered("/api/buy/hello", "other", "of the second", 0)
		m.pass(2 * time.Minute)
		m.wantOwed("two processes", "eager")
	})
}

// A node that names final blocks that do not exist hides nothing for ever, neither when the
// beginning is noted nor later.
func TestFinalBlockThatDoesNotExist(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lies func(start func(), mood *unsteadiness, m *model)
	}{
		{"at the beginning", func(start func(), mood *unsteadiness, m *model) {
			mood.ahead.Store(1 << 40)
			start()
		}},
		{"later", func(start func(), mood *unsteadiness, m *model) {
			start()
			m.pass(time.Minute)
			mood.ahead.Store(1 << 14) // which two readings pass
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, mood, site := unsteadyModel(t)
				defer func() { m.stop() }()
				m.strangersLand(paysTo(fakePayTo, "of-old", "buried"))
				m.pass(time.Minute)
				c.lies(func() { m.start(site); m.offered("/api/buy/hello", "nobody", "unused", 0) }, mood, m)
				m.strangersLand(paysTo(fakePayTo, "eager", "never presented"), crumb("a"))
				m.pass(5 * time.Minute)
				mood.ahead.Store(0)
				m.pass(12 * time.Minute)
				m.strangersLand(crumb("b"))
				m.pass(5 * time.Minute)
				m.wantOwed("after the lie", "eager", "")
				if o := m.owed(); len(o) == 2 && o[1].Transfers != 2 {
					t.Errorf("%d small transfers are counted, want 2", o[1].Transfers)
				}
			})
		})
	}
}

// A node that merely lags does not make anything be read again.
func TestLaggingNodeIsNoLiar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, mood, site := unsteadyModel(t)
		defer func() { m.stop() }()
		m.start(site)
		m.pass(5 * time.Minute)
		time.Sleep(7 * time.Second) // no reading is due now
		before := m.swept()
		mood.ahead.Store(^uint64(0) - 99) // a hundred blocks less
		m.pass(time.Minute)
		if after := m.swept(); after != before {
			t.Errorf("read %s, and before the node lagged %s", after, before)
		}
	})
}

// swept is what the ledger has of how far was read.
func (m *model) swept() string {
	m.t.Helper()
	var all []string
	for k, v := range tilltest.Noted(m.t, m.db) {
		all = append(all, k+" "+v)
	}
	return strings.Join(all, " ")
}

// An address that the keeper configures anew may be an old wallet, and one that comes back goes on
// where it was.
func TestPayToChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, mood, site := unsteadyModel(t)
		defer func() { m.stop() }()
		const other = "0x00000000000000000000000000000000000000F9"
		m.start(site)
		m.offered("/api/buy/hello", "nobody", "unused", 0)
		m.pass(time.Minute)
		m.strangersLand(paysTo(other, "of-old", "to a wallet that was not the store's"))
		m.stop()
		m.strangersLand(paysTo(fakePayTo, "late", "to the first address"),
			paysTo(other, "of-old", "while it stood still"))
		m.pass(time.Minute)
		mood.payTo.Store(other)
		m.start(site)
		unseen := m.offered("/api/buy/hello", "eager", "never presented", 0)
		if to := unseen.payload.To; to != other {
			t.Fatalf("the terms ask for money to %s", to)
		}
		m.strangersLand(unseen.payload)
		m.pass(2 * time.Minute)
		m.wantOwed("at the new address", "eager")
		m.stop()
		mood.payTo.Store(fakePayTo)
		m.start(site)
		m.pass(2 * time.Minute)
		m.wantOwed("back at the first", "late", "eager")
	})
}

// A backup from before an address was configured: what arrived there before the backup is none of
// the store's, what was paid for terms of afterwards is.
func TestRestoreOfAnotherPayTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, mood, site := unsteadyModel(t)
		defer func() { m.stop() }()
		const other = "0x00000000000000000000000000000000000000F9"
		m.start(site)
		m.offered("/api/buy/hello", "nobody", "unused", 0)
		m.strangersLand(paysTo(other, "of-old", "to a wallet that was not the store's"))
		m.pass(2 * time.Minute)
		older := m.backup()
		m.stop()
		mood.payTo.Store(other)
		m.start(site)
		m.strangersLand(paysTo(other, "eager", "for terms that the backup knows nothing of"))
		m.pass(2 * time.Minute)
		m.restore(site, older)
		m.pass(time.Minute)
		if got, err := restore.Reconcile(context.Background(), m.till, nil, nil); err != nil || got[0].FromChain != 1 {
			t.Errorf("Reconcile = %+v, %v", got, err)
		}
		m.pass(20 * time.Minute)
		r := unsteady{fakeRail{m.chain}, m.chain, mood}
		if got, err := restore.Reopen(context.Background(), m.db, []rail.Rail{r}, restore.Options{}); err != nil ||
			!got[0].Open {
			t.Errorf("Reopen = %+v, %v", got, err)
		}
		m.pass(2 * time.Minute)
		m.wantOwed("after the restore", "eager")
	})
}
