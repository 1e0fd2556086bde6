package till_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
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
	if err := ledger.Restore(context.Background(), m.db, b, till.Shut); err != nil {
		m.t.Fatal(err)
	}
	m.start(site)
}

func (m *model) reopen(dry bool) ([]till.Reopened, error) {
	return till.Reopen(context.Background(), m.db, m.rails(), till.ReopenOptions{Dry: dry})
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
		if _, err := m.till.Reconcile(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			got, err := m.reopen(dry)
			if !errors.Is(err, till.ErrNotYet) || len(got) != 1 || got[0].Open {
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
		if _, err := m.reopen(false); !errors.Is(err, till.ErrNotYet) {
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
		if r.status != 409 || r.code() != "payment_already_used" {
			t.Errorf("the repeat is answered %d %s", r.status, r.raw)
		}
		ok := m.begin(m.offered("/api/buy/hello", "next", "of the next", 0))
		synctest.Wait()
		m.seal()
		if r := <-ok; r.status != 200 {
			t.Errorf("the next buyer is answered %d %s", r.status, r.raw)
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
		present := func(s *modelSale) <-chan reply {
			out := make(chan reply, 1)
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
		if r := <-first; r.status != 200 {
			t.Fatalf("the first is answered %d %s", r.status, r.raw)
		}
		again := m.offered(path, "twice", "of the repeat", 0)
		if r := <-present(again); r.status != 200 || r.body["idempotent_replay"] != true {
			t.Fatalf("the repeat is answered %d %s", r.status, r.raw)
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
		if r := <-under; r.status != 200 {
			t.Errorf("a purchase among them is answered %d %s", r.status, r.raw)
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
		if r := <-m.begin(unseen); r.status != 409 || r.code() != "payment_already_used" {
			t.Errorf("an authorization that is owed for is answered %d %s", r.status, r.raw)
		}
		got := m.states()
		if got[till.Uncredited] != 2 || got[till.Delivered] != 2 {
			t.Errorf("%v, want two delivered and two owed", got)
		}
	})
}

// Networks are opened one by one: what is closed is left out of the terms and refused, what is open
// sells.
func TestReopenByNetwork(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
	const path = "/api/buy/the_drawer"
	ctx := t.Context()
	ch := s.challenge(path)
	if err := s.db.Update(ctx, till.Shut); err != nil {
		t.Fatal(err)
	}
	until(t, "the store to notice that it is closed", func() bool { return s.do("GET", path, nil).status == 503 })
	if _, err := s.till.Reconcile(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	restoredEarlier(t, s.db, 15*time.Minute)
	if _, err := till.Reopen(ctx, s.db, s.rails, till.ReopenOptions{Network: "eip155:1"}); err == nil ||
		!strings.Contains(err.Error(), "not configured") {
		t.Errorf("a network that is not configured: %v", err)
	}
	got, err := till.Reopen(ctx, s.db, s.rails, till.ReopenOptions{Network: "eip155:137"})
	if err != nil || len(got) != 1 || !got[0].Open {
		t.Fatalf("Reopen = %+v, %v", got, err)
	}
	until(t, "the store to sell", func() bool { return s.do("GET", path, nil).status == 402 })
	r := s.do("GET", path, nil)
	for _, a := range r.body["accepts"].([]any) {
		if n := a.(map[string]any)["network"]; n != "eip155:137" {
			t.Errorf("a closed network %v is offered", n)
		}
	}
	if !strings.Contains(string(r.raw), `"left_out":[{"network":"eip155:8453"`) {
		t.Errorf("what is closed is not named: %s", r.raw)
	}
	closed := s.present(path, s.sign(ch, 0, s.net.Buyers[0], nil))
	s.want("a payment on the closed network", closed, 503, "store_closed")
	bought, _ := s.buy(path, s.net.Buyers[0], nil)
	s.want("a payment on the open network", bought, 200, "")
	s.reopens()
	until(t, "both networks", func() bool {
		return strings.Contains(string(s.do("GET", path, nil).raw), `"left_out":[]`)
	})
	bought, _ = s.buy(path, s.net.Buyers[1], nil)
	s.want("a payment on the first network", bought, 200, "")
	err = s.db.View(ctx, func(tx ledger.Tx) error {
		for e, err := range tx.Scan(ledger.Prefix(ledger.Key("meta"))) {
			if err != nil {
				return err
			}
			if k := ledger.KeyText(e.Key); strings.Contains(k, "open:") || strings.Contains(k, "closed") ||
				strings.Contains(k, "reconciled") {
				t.Errorf("%s is left behind", k)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// On a chain: a payment that was signed for the store, and that its payer sent without showing it,
// is found and owed.
func TestUncreditedOnAChain(t *testing.T) {
	t.Parallel()
	var late sync.Map
	s := newShop(t, shopOptions{config: func(c *till.Config) {
		c.Sweep, c.Late = time.Millisecond, func(d schedule.Task, by time.Duration) { late.Store(d.Job, by) }
	}})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	s.buy(path, s.net.Buyers[1], nil)
	until(t, "the first reading", func() bool {
		err := s.db.View(t.Context(), func(tx ledger.Tx) error {
			_, err := tx.Get(ledger.BudgetKey("uncredited", "swept", "eip155:8453", s.net.PayTo.Hex()))
			return err
		})
		return err == nil
	})
	s.land(p)
	for range 5 { // until it is final
		s.net.MustSeal()
	}
	until(t, "the debt", func() bool {
		o, err := till.ListOwed(t.Context(), s.db)
		return err == nil && len(o) == 1 && o[0].Payer == s.net.Buyers[0].Address.Hex() && o[0].USDC == "0.5"
	})
	c := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	s.want("claims of the payer", c, 200, "")
	list := c.body["purchases"].([]any)
	if len(list) != 1 {
		t.Fatalf("claims list %v", list)
	}
	if m := list[0].(map[string]any); m["state"] != "uncredited" || m["billed"] != "yes" || m["owed_usdc"] != "0.5" {
		t.Errorf("claims list %v", m)
	}
	s.want("the payment, shown at last", s.present(path, p), 409, "payment_already_used")
	s.audit()
	for _, job := range []string{"purchase", "arrivals"} {
		if by, told := late.Load(job); !told || by.(time.Duration) < 0 {
			t.Errorf("%s was begun %v after its time, told: %v", job, by, told)
		}
	}
}

// longChain is a rail on a chain that has grown by many blocks since, of which a node reads so many
// a second.
type longChain struct {
	rail.Rail
	grown *atomic.Uint64
}

const readASecond = 10_000

func (r longChain) Final(ctx context.Context) (rail.Mark, error) {
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
