package settle_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// blocks is several with blocks that the test seals. Of what it drafts it refuses to put certain
// payers with others.
type blocks struct {
	*several
	together int
	price    rail.Price // of one payment
	drafted  []int      // how many payments each draft was for
	posted   []string   // transactions, each time they came
	pool     []rail.Signed
	dead     string // the nonce of an authorization that can never land
	burnt    bool   // what was signed for several has moved nothing
}

func (n *blocks) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	if p.Nonce == n.dead {
		return rail.Finding{State: rail.Dead, Final: true, Reason: "expired"}, nil
	}
	if n.burnt && len(signed) > 0 {
		return rail.Finding{State: rail.Waiting, Advice: rail.Wait,
			Reverts: []rail.Revert{{Tx: signed[0].ID, Gas: 10, Cost: 7, Of: 5}}}, nil
	}
	return n.several.Status(ctx, p, signed, since, now)
}

// Explain clears all but one.
func (n *blocks) Explain(_ context.Context, p *rail.Payment, _ rail.Revert) (rail.Cause, error) {
	return rail.Cause{Others: p.Payer != "payer-2"}, nil
}

func (n *blocks) Info() rail.Info {
	return rail.Info{Network: "test:several", Together: n.together}
}

func (n *blocks) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	n.mu.Lock()
	n.drafted = append(n.drafted, len(ps))
	n.mu.Unlock()
	apart := &rail.Apart{Err: errors.New("it cannot")}
	for i, p := range ps {
		if len(ps) > 1 && strings.HasPrefix(p.Payer, "odd") {
			apart.Which = append(apart.Which, i)
		}
	}
	if len(apart.Which) > 0 {
		return nil, apart
	}
	d, err := n.several.Draft(ctx, ps)
	return priced{d.(bundled), n.price}, err
}

type priced struct {
	bundled
	price rail.Price
}

func (p priced) Price() rail.Price {
	k := int64(len(p.ps))
	return rail.Price{Gas: uint64(k) * p.price.Gas, Cost: k * p.price.Cost, Most: k * p.price.Most}
}

func (n *blocks) Send(_ context.Context, all ...rail.Signed) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range all {
		n.pool, n.posted = append(n.pool, s), append(n.posted, s.ID)
	}
	return nil
}

func (n *blocks) seal() {
	n.mu.Lock()
	pool := n.pool
	n.pool = nil
	n.mu.Unlock()
	slices.SortFunc(pool, func(a, b rail.Signed) int { return int(a.Sequence) - int(b.Sequence) })
	n.several.Send(context.Background(), pool...)
}

// queue is a driver on blocks, with orders on their way.
type queue struct {
	t     *testing.T
	n     *blocks
	db    *ledger.Mem
	gas   *settle.GasGuard
	d     *settle.Driver
	wg    sync.WaitGroup
	mu    sync.Mutex
	took  map[string]time.Duration
	under map[string]*settle.Settlement
	errs  map[string]error
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	q := &queue{t: t, n: &blocks{several: &several{changed: make(chan struct{})}, together: 50,
		price: rail.Price{Gas: 1, Cost: 1, Most: 1}},
		db: ledger.NewMem(ledger.MemOptions{Calm: true}), took: map[string]time.Duration{},
		under: map[string]*settle.Settlement{}, errs: map[string]error{}}
	q.use(q.n)
	return q
}

// use makes the driver anew, on a network that stands on the queue's.
func (q *queue) use(r rail.Rail) {
	q.t.Helper()
	var err error
	if q.gas, err = settle.NewGasGuard(settle.GasConfig{DB: q.db, Rails: []rail.Rail{r}}); err != nil {
		q.t.Fatal(err)
	}
	if q.d, err = settle.New(settle.Config{DB: q.db, Rails: []rail.Rail{r}, Gas: q.gas}); err != nil {
		q.t.Fatal(err)
	}
}

func order(payer string) settle.Order {
	return settle.Order{Arrow: func(ledger.Tx, *settle.Settlement) error { return nil },
		Members: []settle.Member{{ID: payer, Payment: rail.Payment{
			Network: "test:several", Payer: payer, Nonce: payer, Amount: big.NewInt(1000),
			ValidBefore: time.Now().Add(time.Hour).Unix()}}}}
}

// begin begins orders, all at once.
func (q *queue) begin(ctx context.Context, os ...settle.Order) {
	for _, o := range os {
		q.wg.Go(func() {
			began := time.Now()
			s, err := q.d.Begin(ctx, o)
			q.mu.Lock()
			defer q.mu.Unlock()
			id := o.Members[0].ID
			q.took[id], q.under[id], q.errs[id] = time.Since(began), s, err
		})
	}
	synctest.Wait()
}

// settlement is what an order was settled by, nil while it waits.
func (q *queue) settlement(id string) *settle.Settlement {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.under[id]
}

func orders(prefix string, n int) (os []settle.Order) {
	for i := range n {
		os = append(os, order(fmt.Sprint(prefix, "-", i)))
	}
	return os
}

// know makes payers known: they settled before.
func (q *queue) know(prefix string, n int) {
	q.t.Helper()
	err := q.db.Update(q.t.Context(), func(tx ledger.Tx) error {
		for i := range n {
			if err := q.gas.Settled(tx, settle.GasPayer{Network: "test:several", Address: fmt.Sprint(prefix, "-", i),
				Code: ""}, 5, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		q.t.Fatal(err)
	}
}

// drafts demands how many payments the drafts since the last time were for, in any order.
func (q *queue) drafts(what string, want ...int) {
	q.t.Helper()
	q.n.mu.Lock()
	defer q.n.mu.Unlock()
	got := q.n.drafted
	q.n.drafted = nil
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		q.t.Errorf("%s: drafts for %v payments, want %v", what, got, want)
	}
}

// busy puts as many transactions under way as are sent without delay.
func (q *queue) busy() {
	q.t.Helper()
	for _, o := range orders("first", 4) {
		q.begin(q.t.Context(), o)
	}
	q.drafts("while few are under way", 1, 1, 1, 1)
}

func (q *queue) waited(most time.Duration) {
	q.t.Helper()
	q.wg.Wait()
	for id, took := range q.took {
		if took > most || q.errs[id] != nil {
			q.t.Errorf("%s took %s, %v", id, took, q.errs[id])
		}
	}
}

// One by one nothing waits, whatever came before it.
func TestOneByOneNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		for i := range 20 {
			o := order(fmt.Sprint("payer-", i))
			q.begin(t.Context(), o)
			q.waited(0)
			q.drafts("one by one", 1)
			q.n.Send(t.Context(), q.settlement(o.Members[0].ID).Sent[0].Signed)
			q.n.seal()
		}
	})
}

// Where few are under way none waits. Beyond that they are gathered: as many as one transaction
// settles go at once, the rest at the next block or after 300 ms.
func TestManyAtOnceAreSettledTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.know("payer", 200)
		q.busy()
		q.waited(0)
		q.begin(t.Context(), orders("payer", 60)...)
		q.drafts("sixty at once", 50)
		time.Sleep(299 * time.Millisecond)
		synctest.Wait()
		q.drafts("within 300 ms")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		q.drafts("after 300 ms", 10)
		q.waited(300 * time.Millisecond)
		time.Sleep(time.Second) // what was signed is not sent by anybody, and not waited for any longer
		q.begin(t.Context(), orders("payer", 80)[60:]...)
		q.drafts("twenty more")
		q.n.seal() // of which nothing was sent
		synctest.Wait()
		q.drafts("at a block", 20)
		q.waited(300 * time.Millisecond)
	})
}

// Of payers that never settled before ten share a transaction.
func TestStrangersAreFewInOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.know("payer", 5)
		q.busy()
		q.begin(t.Context(), append(orders("stranger", 25), orders("payer", 5)...)...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.n.mu.Lock()
		sum, most := 0, 0
		for _, k := range q.n.drafted {
			sum, most = sum+k, max(most, k)
		}
		n := len(q.n.drafted)
		q.n.mu.Unlock()
		if sum != 30 || n != 3 || most > 15 {
			t.Errorf("25 strangers and 5 others in %v", q.n.drafted)
		}
		q.waited(300 * time.Millisecond)
	})
}

// Who shares no transaction does not wait for others, and one transaction has one payment of a
// payer.
func TestWhoGoesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.busy()
		coded, local, soon, pair := order("coded"), order("local"), order("soon"), order("pair")
		coded.Members[0].Verified.Code = "0x01"
		local.Members[0].Verified.Local = true
		soon.Members[0].Payment.ValidBefore = time.Now().Add(59 * time.Second).Unix()
		pair.Members = append(pair.Members, order("other of a pair").Members...)
		q.begin(t.Context(), coded, local, soon, pair)
		q.drafts("at once", 1, 1, 1, 2)
		q.waited(0)
		again := order("again")
		again.Members[0].Payment.Payer = "payer-0"
		q.begin(t.Context(), append(orders("payer", 3), again)...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.drafts("two of one payer", 3, 1)
		q.n.together = 1
		q.begin(t.Context(), orders("late", 10)...)
		q.drafts("a network without batches", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
		q.waited(300 * time.Millisecond)
	})
}

// Whom the network or the ledger refuses goes alone, and is told then; the others stay together.
func TestWhoIsRefusedSinksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.busy()
		moved := errors.New("the purchase has moved on")
		gone := order("gone")
		gone.Arrow = func(ledger.Tx, *settle.Settlement) error { return moved }
		dear := order("dear")
		dear.Members[0].Payment.Amount = big.NewInt(0) // costs more than it brings
		q.gas.Count(t.Context(), func(tx ledger.Tx) error {
			return tx.Set(ledger.BudgetKey("gas-subsidy", "test:several", time.Now().UTC().Format(time.DateOnly)),
				[]byte("499999"))
		})
		all := append(orders("payer", 5), order("odd"), gone, dear)
		q.begin(t.Context(), all...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.wg.Wait()
		if !errors.Is(q.errs["gone"], moved) || !errors.Is(q.errs["dear"], settle.ErrGasDear) || q.errs["odd"] != nil {
			t.Errorf("told were %v", q.errs)
		}
		for i := range 5 {
			id := fmt.Sprint("payer-", i)
			if s := q.settlement(id); q.errs[id] != nil || len(s.Members) != 5 || s.ID != q.settlement("payer-0").ID {
				t.Errorf("%s is settled with %d, %v", id, len(s.Members), q.errs[id])
			}
		}
		if s := q.settlement("odd"); len(s.Members) != 1 {
			t.Errorf("the odd one is settled with %d", len(s.Members))
		}
		if n := len(q.n.drafted); n > 8 {
			t.Errorf("%d drafts: %v", n, q.n.drafted)
		}
	})
}

// Who gives up leaves the line and nobody waits for it. Where there is no room at all an order that
// does not wait is told so.
func TestWhoGivesUpAndWhoDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.busy()
		ctx, cancel := context.WithCancel(t.Context())
		q.begin(ctx, orders("gone", 3)...)
		q.begin(t.Context(), orders("payer", 3)...)
		cancel()
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.drafts("the rest", 3)
		for i := range 3 {
			if err := q.errs[fmt.Sprint("gone-", i)]; !errors.Is(err, context.Canceled) {
				t.Errorf("who gave up was told %v", err)
			}
		}
		for i := range settle.MaxUnmined - 5 { // one place after another
			o := order(fmt.Sprint("filler-", i))
			o.Members[0].Verified.Code = "0x01"
			q.begin(t.Context(), o)
		}
		now := order("now")
		now.Now = true
		q.begin(t.Context(), now)
		if !errors.Is(q.errs["now"], settle.ErrNoRoom) || q.took["now"] != 0 {
			t.Errorf("without room: %v after %s", q.errs["now"], q.took["now"])
		}
		q.wg.Wait()
	})
}

// Each drives its own member of what settles many. The transaction is posted once, one that is left
// out goes alone, and an order that has an id of its own is found by it.
func TestEachDrivesItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.busy()
		os := orders("payer", 20)
		for i := range os {
			os[i].ID = fmt.Sprint("fac_", i)
		}
		q.begin(t.Context(), os...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.waited(300 * time.Millisecond)
		for _, s := range q.under { // the first four are nobody's to drive here
			if len(s.Members) == 1 {
				q.n.Send(t.Context(), s.Sent[0].Signed)
			}
		}
		q.n.seal()
		q.n.posted = nil
		for id, s := range q.under { // one of the first transaction
			if len(s.Members) > 1 && s.Sent[0].Sequence == 4 {
				q.n.poor = id
			}
		}
		proofs := make([]*heard, len(os))
		var wg sync.WaitGroup
		for i, o := range os {
			proofs[i] = &heard{proofs: map[string]rail.Proof{}}
			wg.Go(func() {
				s, err := q.d.Load(t.Context(), o.ID)
				if err != nil || s.ID == o.ID || s.Member(o.Members[0].ID).Payment.Payer != o.Members[0].Payment.Payer {
					t.Errorf("order %s is found as %+v, %v", o.ID, s, err)
					return
				}
				if err := q.d.Drive(t.Context(), s, proofs[i], o.Members[0].ID); err != nil {
					t.Error(err)
				}
			})
		}
		each := map[string]int{}
		for round := range 4 { // in the end the one that was left out goes alone
			time.Sleep(2 * time.Second)
			synctest.Wait()
			q.n.mu.Lock()
			for _, id := range q.n.posted {
				if round == 0 {
					each[id]++
				}
			}
			q.n.mu.Unlock()
			q.n.seal()
			synctest.Wait()
		}
		wg.Wait()
		for id, n := range each {
			if n != 1 || len(each) != 2 {
				t.Errorf("%s was posted %d times, %v", id, n, each)
			}
		}
		txs := map[string]int{}
		for i, h := range proofs {
			if len(h.proofs) != 1 {
				t.Errorf("the owner of order %d heard of %v", i, h.proofs)
			}
			for _, p := range h.proofs {
				txs[p.Tx]++
			}
		}
		if len(txs) != 3 { // two of ten strangers, and one alone
			t.Errorf("settled by %v", txs)
		}
		if err := func() error { _, err := q.d.Begin(t.Context(), os[3]); return err }(); err == nil {
			t.Error("an order is begun twice")
		}
		left, err := q.d.Unfinished(t.Context(), "payer-")
		if err != nil || len(left) != 0 {
			t.Errorf("left on their way are %v, %v", left, err)
		}
	})
}

// Each has its part of what all cost, in the budgets too. What is held for one is given back when
// that one lands, and what another drew is not.
func TestEachHasItsPartOfTheCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.busy()
		q.n.price = rail.Price{Gas: 10, Cost: 700, Most: 900} // of 1000 that each brings: 400 short of twice
		q.begin(t.Context(), orders("payer", 5)...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.waited(300 * time.Millisecond)
		s := q.settlement("payer-0")
		if len(s.Members) != 5 || len(s.Held) != 5 {
			t.Fatalf("%d members, held is %+v", len(s.Members), s.Held)
		}
		for i, h := range s.Held {
			if h.Member != i || h.Subsidy != 400 || h.Amount != 0 {
				t.Errorf("held for member %d is %+v", i, h)
			}
		}
		if err := q.db.Update(t.Context(),
			func(tx ledger.Tx) error { return q.d.Landed(tx, s, "payer-3") }); err != nil {
			t.Fatal(err)
		}
		now, err := q.d.Load(t.Context(), s.ID)
		if err != nil || len(now.Held) != 4 || len(now.Sent) != 1 ||
			slices.ContainsFunc(now.Members, func(m settle.Member) bool { return m.Verified.Code != "" }) {
			t.Errorf("after one landed: %+v, %v", now.Held, err)
		}
		q.n.dead = "payer-1"
		if err := q.d.Watch(t.Context(), now, &heard{proofs: map[string]rail.Proof{}}, "payer-1"); err != nil {
			t.Fatal(err)
		}
		day := ledger.BudgetKey("gas-subsidy", "test:several", time.Now().UTC().Format(time.DateOnly))
		err = q.db.View(t.Context(), func(tx ledger.Tx) error {
			used, err := tx.Get(day)
			if string(used) != fmt.Sprint(4*400) {
				t.Errorf("%s of the subsidy is used, want four parts", used)
			}
			return err
		})
		if now, err2 := q.d.Load(t.Context(), s.ID); errors.Join(err, err2) != nil || len(now.Held) != 3 {
			t.Errorf("after one is dead: %+v, %v, %v", now.Held, err, err2)
		}
		proven := 0
		err = q.db.View(t.Context(), func(tx ledger.Tx) error {
			proven = 0
			for i := range 5 {
				is, err := q.gas.Proven(tx, "test:several", fmt.Sprint("payer-", i), "")
				if err != nil {
					return err
				}
				if is {
					proven++
				}
			}
			return nil
		})
		if err != nil || proven != 1 {
			t.Errorf("%d are known to settle, %v; want the one that landed", proven, err)
		}
	})
}

// reverting notes of which members it is told that they reverted.
type reverting struct {
	heard
	of []string
}

func (r *reverting) Reverted(_ ledger.Tx, m settle.Member) error {
	r.of = append(r.of, m.ID)
	return nil
}

// Of a transaction that moved nothing each member has a revert of its own, counted once however
// often they look, and only who is not cleared is said to have reverted, and has to settle again to
// be one who has.
func TestEachRevertIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.know("payer", 5)
		q.busy()
		q.begin(t.Context(), orders("payer", 5)...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.waited(300 * time.Millisecond)
		q.n.burnt = true
		id, told := q.settlement("payer-0").ID, new(reverting)
		for range 2 {
			for i := range 5 {
				s, err := q.d.Load(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if err := q.d.Watch(t.Context(), s, told, fmt.Sprint("payer-", i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := q.d.Load(t.Context(), id)
		if err != nil || len(s.Reverts) != 5 {
			t.Fatalf("reverts are %+v, %v", s.Reverts, err)
		}
		seen := map[string]bool{}
		for _, v := range s.Reverts {
			who := s.Members[v.Member].ID
			if seen[who] || v.Others != (who != "payer-2") {
				t.Errorf("a revert of %s is %+v", who, v)
			}
			seen[who] = true
		}
		if !slices.Equal(told.of, []string{"payer-2"}) {
			t.Errorf("told to have reverted are %v", told.of)
		}
		err = q.db.View(t.Context(), func(tx ledger.Tx) error {
			lost, _, err := q.gas.Lost(tx, "test:several")
			if lost != 5*7 || err != nil {
				t.Errorf("%d are lost, %v; want five parts", lost, err)
			}
			for i := range 5 {
				if is, err := q.gas.Proven(tx, "test:several", fmt.Sprint("payer-", i), ""); err != nil ||
					is != (i != 2) {
					t.Errorf("payer-%d is one who settled: %v, %v", i, is, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
