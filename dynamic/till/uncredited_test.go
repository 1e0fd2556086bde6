package till_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
)

func (m *model) rails() []rail.Rail { return []rail.Rail{fakeRail{m.chain}} }

// pass lets time pass on a chain that seals.
func (m *model) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		m.seal()
	}
}

func (m *model) backup() *bytes.Buffer {
	m.t.Helper()
	b := new(bytes.Buffer)
	if err := ledger.Backup(context.Background(), m.db, b); err != nil {
		m.t.Fatal(err)
	}
	return b
}

// restore ends the process, and begins another on a ledger restored from a backup.
func (m *model) restore(site *content.Site, b *bytes.Buffer) {
	m.t.Helper()
	m.stop()
	m.db = ledger.NewMem(ledger.MemOptions{Calm: true})
	if err := ledger.Restore(context.Background(), m.db, b, ledger.Shut); err != nil {
		m.t.Fatal(err)
	}
	m.start(site)
}

func (m *model) reopen(dry bool) ([]restore.Reopened, error) {
	return restore.Reopen(context.Background(), m.db, m.rails(), restore.Options{Dry: dry})
}

func (m *model) owed() []till.Owed {
	m.t.Helper()
	out, err := till.ListOwed(context.Background(), m.db)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// Broadcast, crash, restore of an older backup, reopen at once: then the transaction lands. The
// store does not open while that can happen, so the money is found when it does.
func TestReopenWaitsForWhatWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := bubble(t, site, nil)
		defer func() { m.stop() }()
		m.pass(time.Minute)
		older := m.backup()
		sale := m.offered("/api/buy/hello", "unlucky", "what was sent", 10*time.Minute)
		m.begin(sale)
		synctest.Wait()
		if got := m.states(); got[till.Settling] != 1 {
			t.Fatalf("%v, want one that was sent", got)
		}
		m.restore(site, older)
		restored := time.Now()
		if _, err := restore.Reconcile(context.Background(), m.till, nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			got, err := m.reopen(dry)
			if !errors.Is(err, restore.ErrNotYet) || len(got) != 1 || got[0].Open {
				t.Fatalf("Reopen(dry %v) at once = %+v, %v; want it to wait", dry, got, err)
			}
			until, err := time.Parse(time.RFC3339, got[0].WaitUntil)
			if err != nil || until.Before(time.Unix(sale.payload.Before, 0)) ||
				until.After(restored.Add(15*time.Minute)) {
				t.Errorf("it waits until %s, the authorization is valid until %s", got[0].WaitUntil,
					time.Unix(sale.payload.Before, 0).UTC())
			}
		}
		m.pass(9 * time.Minute) // the pool has it still, and it lands
		if m.chain.received() != sale.payload.value() {
			t.Fatalf("payTo received %d", m.chain.received())
		}
		if _, err := m.reopen(false); !errors.Is(err, restore.ErrNotYet) {
			t.Errorf("Reopen after nine minutes = %v", err)
		}
		m.pass(4 * time.Minute)
		got, err := m.reopen(false)
		if err != nil || len(got) != 1 || !got[0].Open || got[0].FromChain != 1 {
			t.Fatalf("Reopen = %+v, %v; want it open with one purchase known from the chain", got, err)
		}
		m.pass(2 * time.Minute)
		if o := m.owed(); len(o) != 1 || o[0].Payer != "unlucky" || o[0].State != till.FromChain {
			t.Errorf("owed: %+v", o)
		}
		r := <-m.begin(sale)
		if r.Status != 409 || r.Code() != "payment_already_used" {
			t.Errorf("the repeat is answered %d %s", r.Status, r.Raw)
		}
		ok := m.begin(m.offered("/api/buy/hello", "next", "of the next", 0))
		synctest.Wait()
		m.seal()
		if r := <-ok; r.Status != 200 {
			t.Errorf("the next buyer is answered %d %s", r.Status, r.Raw)
		}
	})
}

// Whatever lands by an authorization that no purchase credits is owed to who paid it, once, however
// often the process dies; what is too little for any good is a total of the day.
func TestMoneyThatNoPurchaseCreditsIsOwed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := bubble(t, site, nil)
		defer func() { m.stop() }()
		m.pass(time.Minute)
		const path = "/api/buy/hello"
		key := map[string]string{"Idempotency-Key": "the-key-of-an-order"}
		present := func(s *modelSale) <-chan tilltest.Reply {
			out := make(chan tilltest.Reply, 1)
			go func() {
				h := map[string]string{"PAYMENT-SIGNATURE": s.header}
				maps.Copy(h, key)
				r, _ := m.do(path, h)
				out <- r
			}()
			return out
		}
		first := present(m.offered(path, "twice", "the first", 0))
		synctest.Wait()
		m.seal()
		if r := <-first; r.Status != 200 {
			t.Fatalf("the first is answered %d %s", r.Status, r.Raw)
		}
		again := m.offered(path, "twice", "of the repeat", 0)
		if r := <-present(again); r.Status != 200 || r.Body["idempotent_replay"] != true {
			t.Fatalf("the repeat is answered %d %s", r.Status, r.Raw)
		}
		unseen := m.offered(path, "eager", "never presented", 0)
		crumb := func(nonce string) fakePayload {
			p := fakePayload{Payer: "crumbs", Nonce: nonce, To: fakePayTo, Amount: "7",
				Before: time.Now().Add(time.Hour).Unix()}
			p.Sig = p.signature()
			return p
		}
		under := m.begin(m.offered(path, "ordinary", "on its way", 0))
		synctest.Wait()
		m.chain.mu.Lock()
		m.chain.pool = append(m.chain.pool,
			&fakeTx{Pays: []fakePayload{again.payload, unseen.payload, crumb("a"), crumb("b")}, Salt: "strangers"})
		m.chain.mu.Unlock()
		m.seal()
		if r := <-under; r.Status != 200 {
			t.Errorf("a purchase among them is answered %d %s", r.Status, r.Raw)
		}
		if o := m.owed(); len(o) != 0 {
			t.Errorf("owed before anything is final: %+v", o)
		}
		for range 3 {
			m.pass(2 * time.Minute)
			m.stop()
			m.start(site)
		}
		m.pass(2 * time.Minute)
		var said []string
		for _, o := range m.owed() {
			said = append(said, fmt.Sprint(o.Payer, o.State, o.Transfers, o.USDC))
		}
		slices.Sort(said)
		price := content.FormatUSDC(unseen.payload.value())
		want := []string{"20.000014", "eageruncredited0" + price, "twiceuncredited0" + price}
		if !slices.Equal(said, want) {
			t.Errorf("owed: %q, want %q", said, want)
		}
		if r := <-m.begin(unseen); r.Status != 409 || r.Code() != "payment_already_used" {
			t.Errorf("an authorization that is owed for is answered %d %s", r.Status, r.Raw)
		}
		got := m.states()
		if got[till.Uncredited] != 2 || got[till.Delivered] != 2 {
			t.Errorf("%v, want two delivered and two owed", got)
		}
	})
}

// longChain is a rail on a chain that has grown by many blocks since, of which a node reads so many
// a second.
type longChain struct {
	rail.Rail
	grown *atomic.Uint64
}

const readASecond = 10_000

func (r longChain) Final(ctx context.Context) (rail.Head, error) {
	m, err := r.Rail.Final(ctx)
	m.Block += r.grown.Load()
	return m, err
}

func (r longChain) Incoming(ctx context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return rail.Ascending(s, func(from, to uint64) iter.Seq2[rail.Transfer, error] { return r.listed(ctx, from, to) })
}

func (r longChain) listed(ctx context.Context, from, to uint64) iter.Seq2[rail.Transfer, error] {
	return func(yield func(rail.Transfer, error) bool) {
		grown := r.grown.Load()
		head, err := r.Rail.Head(ctx)
		if err != nil {
			yield(rail.Transfer{}, err)
			return
		}
		last := head.Block + grown
		if to > 0 {
			last = min(last, to)
		}
		select {
		case <-time.After(time.Duration(last-from) * time.Second / readASecond):
		case <-ctx.Done():
			yield(rail.Transfer{}, ctx.Err())
			return
		}
		for tr, err := range rail.Transfers(r.Rail.Incoming(ctx, rail.Span{})) {
			tr.Block += grown
			if tr.Block >= from && tr.Block <= last && !yield(tr, err) {
				return
			}
		}
	}
}

// A store that was away for long reads what arrived meanwhile in parts, however far behind it is
// and however little came.
func TestWhatArrivedIsReadInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		var grown atomic.Uint64
		m := bubble(t, site, func(r rail.Rail) rail.Rail { return longChain{r, &grown} })
		defer func() { m.stop() }()
		m.pass(time.Minute)
		unseen := m.offered("/api/buy/hello", "eager", "never presented", 0)
		m.stop()
		grown.Store(300_000)
		m.chain.mu.Lock()
		m.chain.pool = append(m.chain.pool, &fakeTx{Pays: []fakePayload{unseen.payload}, Salt: "strangers"})
		m.chain.mu.Unlock()
		m.start(site)
		m.pass(5 * time.Minute)
		if o := m.owed(); len(o) != 1 || o[0].Payer != "eager" {
			t.Errorf("owed after %d blocks without one: %+v, want what arrived then", grown.Load(), o)
		}
	})
}
