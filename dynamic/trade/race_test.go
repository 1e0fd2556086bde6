package trade_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
	"store.example/agentstore/dynamic/ledger/postgres"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/dynamic/trade"
)

// TestTheCeilingHolds: orders come to two stores over one ledger at once, more of them than the
// account may owe. As many are delivered as fit, never one more, and each order_ref once.
func TestTheCeilingHolds(t *testing.T) {
	orders := 60
	if os.Getenv("STORE_SOAK") != "" {
		orders = 1000
	}
	const net = 610_000 // what the account owes for one
	fit := orders * 2 / 3
	address := ledgertest.Postgres(t)
	var stores [2]shop
	for i := range stores {
		db, err := postgres.Open(t.Context(), address, postgres.Options{})
		check(t, err)
		defer db.Close()
		stores[i] = open(t, db, options{account: func(a *trade.Account) {
			a.Limits = account.Limits{Credit: int64(fit)*net + net - account.Cent, Daily: 1e12}
		}})
	}
	var delivered, refused atomic.Int64
	places := make(chan struct{}, 16) // at a time, so that none waits for longer than an Update may
	certs := sync.Map{}
	var wg sync.WaitGroup
	for i := range orders {
		for j := range 2 { // each order goes to both, as a marketplace that tries again would send it
			places <- struct{}{}
			wg.Go(func() {
				defer func() { <-places }()
				ref := fmt.Sprint("R-", i)
				for {
					code, v := stores[(i+j)%2].buy("hello", ref)
					switch code {
					case 200:
						if was, again := certs.LoadOrStore(ref, text(v, "cert_id")); again && was != text(v,
							"cert_id") {
							t.Errorf("%s was delivered as %v and as %v", ref, was, text(v, "cert_id"))
						} else if !again {
							delivered.Add(1)
						}
					case 409:
						if text(v, "type") == base+"/problems/idempotency_in_flight" {
							continue
						}
						refused.Add(1)
					default:
						t.Errorf("%s: %d %v", ref, code, v)
					}
					return
				}
			})
		}
	}
	wg.Wait()
	b := stores[1].book("bazaar")
	if delivered.Load() != int64(fit) || b.Owed != int64(fit)*net || b.Orders != fit {
		t.Errorf("%d delivered, want %d; %d refused; the book %+v", delivered.Load(), fit, refused.Load(), b)
	}
	check(t, stores[0].db.View(context.Background(), func(tx ledger.Tx) error {
		sum, lines, err := account.Sum(tx, "bazaar")
		if sum != b.Owed || lines != fit {
			t.Errorf("%d lines of %d together, the book says %d", lines, sum, b.Owed)
		}
		last, err2 := ledger.Last(tx, till.CounterPatron)
		if last != int64(fit) {
			t.Errorf("%d patron numbers were given, %v", last, err2)
		}
		return err
	}))
}

// TestKilledOnTheWay: a process dies after any step of an order. Another finishes it; the order_ref
// then gets that delivery, is billed once, and nothing is lost.
func TestKilledOnTheWay(t *testing.T) {
	for _, item := range []string{"hello", "the_drawer"} {
		for _, step := range []string{"claimed", "settled", "delivered"} {
			t.Run(item+" "+step, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { killedAfter(t, item, step) })
			})
		}
	}
}

func killedAfter(t *testing.T, item, step string) {
	db := mem()
	dies := true
	// A run that ends in the middle is what is left of a process that was killed.
	a := open(t, db, options{till: func(c *till.Config) {
		c.SettleWait, c.RepeatWait = time.Second, time.Second
		c.AfterStep = func(s string) {
			if dies && s == step {
				dies = false
				runtime.Goexit()
			}
		}
	}})
	body := order("bazaar", item, "K-1")
	done := make(chan struct{})
	go func() { // the request dies with its process where the step is its own
		defer close(done)
		a.call(call{path: "/api/trade/bazaar/" + item, body: body})
	}()
	<-done
	b := open(t, db, options{})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = b.till.Run(ctx) // it ends with ctx
	}()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	stop()
	<-stopped
	book := b.book("bazaar")
	code, v := b.call(call{path: "/api/trade/bazaar/" + item, body: body})
	if code != 200 || at(v, "idempotent_replay") != true || at(v, "patron_number") != 1.0 {
		t.Errorf("the order afterwards: %d %v", code, v)
	}
	if now := b.book("bazaar"); now != book || now.Orders != 1 || now.Owed == 0 {
		t.Errorf("the book: %+v, and before it was asked for again %+v", now, book)
	}
	check(t, db.View(t.Context(), func(tx ledger.Tx) error {
		sum, lines, err := account.Sum(tx, "bazaar")
		if lines != 1 || sum != book.Owed {
			t.Errorf("%d lines of %d", lines, sum)
		}
		return err
	}))
}

// A store that was restored from a backup of before an order takes nothing for ten minutes, never
// delivers the order a second time, and knows what is owed for it.
func TestRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		high := &marks{}
		old := open(t, mem(), options{till: func(c *till.Config) { c.HighWater = high }})
		body := order("bazaar", "hello", "B-1")
		overheard := call{path: "/api/trade/bazaar/hello", body: body, nonce: nonce(),
			at: time.Now().Add(5 * time.Minute)} // a clock that goes ahead
		if code, v := old.call(overheard); code != 200 {
			t.Fatalf("%d %v", code, v)
		}
		s := open(t, mem(), options{}) // an empty backup
		check(t, s.db.Update(t.Context(), ledger.Shut))
		if code, v := s.buy("hello", "B-2"); code != 503 || text(v, "type") != base+"/problems/counter_closed" ||
			at(v, "billed") != false {
			t.Errorf("while it is closed: %d %v", code, v)
		}
		if _, err := restore.Reconcile(t.Context(), s.till, high.kept, nil); err != nil {
			t.Logf("of the chain: %v", err) // the network of these tests has none
		}
		check(t, s.db.Update(t.Context(),
			func(tx ledger.Tx) error { return tx.Delete(ledger.ClosedKey()) })) // as Reopen does
		if code, _ := s.call(overheard); code != 503 {
			t.Errorf("a nonce of before the restore, at once: %d", code)
		}
		time.Sleep(9*time.Minute + 59*time.Second)
		overheard.at = overheard.at.Add(0)
		if code, _ := s.call(overheard); code != 503 {
			t.Errorf("a nonce of before the restore, a second too early: %d", code)
		}
		time.Sleep(2 * time.Second)
		if code, v := s.call(overheard); code != 401 {
			t.Errorf("a nonce of before the restore, at last: %d %v", code, v)
		}
		code, v := s.call(call{path: "/api/trade/bazaar/hello", body: body})
		if code != 409 || text(v, "type") != base+"/problems/order_lost" {
			t.Errorf("the order of before the restore: %d %v", code, v)
		}
		if b := s.book("bazaar"); b.Owed != 610_000 {
			t.Errorf("the book: %+v", b)
		}
		if code, v := s.buy("hello", "B-3"); code != 200 || at(v, "patron_number") != 2.0 {
			t.Errorf("a new order: %d %v", code, v)
		}
	})
}

type marks struct {
	mu   sync.Mutex
	kept []till.HighMark
}

func (m *marks) Keep(h till.HighMark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, h)
	return nil
}

// The day's cap and the ceiling hold to the cent, and what is received makes room again.
func TestLimitsAtTheirEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, mem(), options{account: func(a *trade.Account) {
			a.Limits = account.Limits{Credit: 3 * 610_000, Daily: 2 * 610_000}
		}})
		want := func(ref string, status int, problem string) {
			t.Helper()
			if code, v := s.buy("hello", ref); code != status || problem != "" && text(v,
				"type") != base+"/problems/"+problem {
				t.Errorf("%s: %d %v", ref, code, v)
			}
		}
		want("L-1", 200, "")
		want("L-2", 200, "")
		want("L-3", 429, "daily_cap")
		want("L-2", 200, "") // what was delivered is answered all the same
		time.Sleep(24 * time.Hour)
		want("L-3", 200, "")
		want("L-4", 409, "credit_ceiling")
		check(t, s.db.Update(t.Context(), func(tx ledger.Tx) error {
			_, err := account.Receive(tx, "bazaar", "wire", 600_000)
			return err
		}))
		want("L-4", 409, "credit_ceiling") // a cent too little
		check(t, s.db.Update(t.Context(), func(tx ledger.Tx) error {
			_, err := account.Receive(tx, "bazaar", "wire 2", 10_000)
			return err
		}))
		want("L-4", 200, "")
	})
}

// The share follows the orders of the month before, and stays as it is within a month.
func TestShareFollowsTheMonthBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in January 2000
		db := mem()
		hold := func() account.Terms {
			var terms account.Terms
			check(t, db.Update(t.Context(), func(tx ledger.Tx) (err error) {
				terms, err = account.Hold(tx, "bazaar", 500_000, account.Limits{Credit: 1e15, Daily: 1e15})
				return err
			}))
			return terms
		}
		for range 1000 {
			if got := hold(); got.BPS != 500 {
				t.Fatalf("in the first month: %+v", got)
			}
		}
		time.Sleep(31 * 24 * time.Hour)
		if got := hold(); got.BPS != 800 || got.Price != 660_000 || got.Net != 610_000 {
			t.Errorf("in the second: %+v", got)
		}
		time.Sleep(29 * 24 * time.Hour) // the year 2000 has a 29th of February
		if got := hold(); got.BPS != 500 {
			t.Errorf("in the third: %+v", got)
		}
		time.Sleep(62 * 24 * time.Hour)
		if got := hold(); got.BPS != 500 {
			t.Errorf("after a month without orders: %+v", got)
		}
	})
}
