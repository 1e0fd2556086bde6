package till_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// heldWeek is a store whose keeper's work is ordered by holds, one end of them after the other.
type heldWeek struct {
	*world
	orders map[string]heldOrder // by how they end
}

// heldOrder is an order that is held, and what its payer signed.
type heldOrder struct {
	id   string
	sale *modelSale
	due  time.Time
	ends time.Time // its hold's deadline
}

// order has an order held for somebody who is named for how it is to end.
func (w *heldWeek) order(end, item string) {
	w.t.Helper()
	path := "/api/hold/" + item + "?detail=Tea"
	r, ok := w.some(end).ask(path, nil)
	if !ok || r.Status != 402 {
		w.t.Fatalf("terms of %s: %d %s", item, r.Status, r.Raw)
	}
	s := authorized(path, end, "salt", tilltest.DecodeChallenge(w.t, r.Header.Get("PAYMENT-REQUIRED")))
	r, ok = w.some(end).ask(path, map[string]string{"PAYMENT-SIGNATURE": s.header})
	if !ok || r.Status != 202 {
		w.t.Fatalf("the order of %s: %d %s", end, r.Status, r.Raw)
	}
	time.Sleep(time.Hour)
	o, _, err := w.some(end).till.HumanOrder(context.Background(), r.Str("order_id"))
	if err != nil || o.Status() != till.OrderQueued || !o.Purchase.Final {
		w.t.Fatalf("the order of %s is %s, %v", end, o.Status(), err)
	}
	w.orders[end] = heldOrder{o.ID, s, o.Work.DueAt, time.Unix(s.hold.Info.AuthorizationExpiry, 0)}
}

// stands holds an order against where it and its money have to be: with its payer, or with payTo.
func (w *heldWeek) stands(end, status, held string) {
	w.t.Helper()
	o := w.orders[end]
	r, _ := w.some(end).ask("/api/order/"+o.id, nil)
	w.chain.mu.Lock()
	defer w.chain.mu.Unlock()
	back := w.chain.paidOut(end)
	if want := o.sale.payload.value(); status == till.OrderReleased && back != want || status != till.OrderReleased &&
		back != 0 {
		w.t.Errorf("%d of the %d of the order that is %s went back", back, want, end)
	}
	if r.Str("status") != status || r.Str("held", "state") != held ||
		(r.Str("deliverable", "text") != "") != (status == till.OrderCompleted) {
		w.t.Errorf("the order that is %s: %s", end, r.Raw)
	}
}

// reclaim has a payer take back what is held for it.
func (w *heldWeek) reclaim(end string) {
	time.Sleep(time.Until(w.orders[end].ends) + time.Second)
	(&model{t: w.t, chain: w.chain}).reclaims([]*modelSale{w.orders[end].sale})
	time.Sleep(5 * time.Minute)
}

func (w *heldWeek) answer(end string) error {
	_, err := w.some(end).till.AnswerOrder(context.Background(), w.orders[end].id, till.Answer{Text: "Keep it."}, false)
	if err == nil {
		w.keep(w.orders[end].id, answered)
	}
	return err
}

// Every end that an order by a hold can come to, once each: completed, declined, past its window,
// left by a keeper who is away, reclaimed by its payer while the store is away, and completed while
// no node is there until its deadline. Each atomic unit is where it belongs, and nothing is owed.
func TestAWeekOfHeldOrders(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		w := &heldWeek{world: newWorld(t, 1, 2, 10*time.Minute), orders: map[string]heldOrder{}}
		w.during(w.happens)
	})
}

func (w *heldWeek) happens() {
	const day = 24 * time.Hour
	w.order("done", humanGoods[0])
	w.order("declined", humanGoods[1])
	w.order("late", humanGoods[2])
	time.Sleep(day)
	w.order("left", humanGoods[3])
	time.Sleep(day)
	w.order("reclaimed", humanGoods[4])
	time.Sleep(day)
	w.order("unsent", humanGoods[0])

	if err := w.answer("done"); err != nil {
		w.t.Error(err)
	}
	if _, err := w.some("keeper").till.DeclineOrder(context.Background(), w.orders["declined"].id, false); err != nil {
		w.t.Error(err)
	}
	w.keep(w.orders["declined"].id, declined)
	time.Sleep(time.Hour)
	w.stands("done", till.OrderCompleted, rail.EndCaptured)
	w.stands("declined", till.OrderReleased, rail.EndVoided)

	time.Sleep(time.Until(w.orders["late"].due) + time.Second)
	if err := w.answer("late"); err == nil || !strings.Contains(err.Error(), "nothing would be paid") {
		w.t.Errorf("an answer past its window: %v", err)
	}
	time.Sleep(time.Until(w.orders["left"].due) + time.Hour) // nobody keeps the store
	w.stands("late", till.OrderReleased, rail.EndVoided)
	w.stands("left", till.OrderReleased, rail.EndVoided)

	time.Sleep(time.Until(w.orders["reclaimed"].due) - time.Hour)
	for i := range w.processes {
		w.end(i)
	}
	w.reclaim("reclaimed")
	for i := range w.processes {
		w.dice.wait("start", time.Second)
		w.start(i)
	}
	time.Sleep(time.Hour)
	w.stands("reclaimed", till.OrderReleased, rail.EndReclaimed)

	time.Sleep(time.Until(w.orders["unsent"].due) - time.Hour)
	w.silence(true)
	if err := w.answer("unsent"); err != nil {
		w.t.Error(err)
	}
	w.reclaim("unsent")
	w.silence(false)
	time.Sleep(2 * time.Hour)
	w.stands("unsent", till.OrderReleased, rail.EndReclaimed)
	n := w.judge()
	if w.t.Log(tally(n)); n["hold delivered  captured"] != 1 || n["released"] != 5 ||
		w.chain.received() != w.orders["done"].sale.payload.value() || w.chain.head().escrow.held() != 0 {
		w.t.Errorf("in the end payTo has %d, and %d are held", w.chain.received(), w.chain.head().escrow.held())
	}
}
