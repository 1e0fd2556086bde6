package till_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// ordered has a payer's order held, and is the payment with its answer.
func (m *model) ordered(payer string) (*modelSale, tilltest.Reply) {
	m.t.Helper()
	r, _ := m.do(heldJudgment, nil)
	if r.Status != 402 {
		m.t.Fatalf("%d %s", r.Status, r.Raw)
	}
	s := authorized(heldJudgment, payer, payer, tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED")))
	answer := m.begin(s)
	synctest.Wait()
	m.seal()
	got := <-answer
	if got.Str("order_id") == "" {
		m.t.Fatalf("an order is answered %d %s", got.Status, got.Raw)
	}
	return s, got
}

// A store that was restored from before an order does not say that it was paid: the money is in the
// escrow, no order has it, and its payer is told how it comes back.
func TestForgottenHoldIsReclaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := vouching(t)
		defer func() { m.stop() }()
		s, _ := m.ordered("patron")
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		restored := &model{t: t, both: true, chain: m.chain, db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		restored.calm.Store(true)
		restored.start(site)
		defer func() { restored.stop() }()
		time.Sleep(5 * time.Second)
		r := <-restored.begin(s)
		if r.Status != 409 || r.Str("billed") != "unknown" || !strings.Contains(r.Str("next_step"), "reclaim") {
			t.Errorf("a payment of which only the escrow knows is answered %d %s", r.Status, r.Raw)
		}
	})
}

// What went back to its payer is not told as paid to somebody who cannot prove whose it was.
func TestReleasedHoldIsNotBilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := vouching(t)
		defer func() { m.stop() }()
		s, order := m.ordered("patron")
		again := func() tilltest.Reply {
			r, _ := m.do(heldJudgment, nil)
			ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
			p := s.payload
			p.Wire = ""
			return <-m.begin(&modelSale{path: heldJudgment,
				header: header(ch, entry(ch, rail.SchemeCapture), fakeHeld{p, "patron"})})
		}
		if r := again(); r.Status != 409 || r.Str("billed") != "yes" {
			t.Errorf("while it is held: %d %s", r.Status, r.Raw)
		}
		for range 40 {
			time.Sleep(10 * time.Second)
			m.seal()
		}
		if _, err := m.till.DeclineOrder(t.Context(), order.Str("order_id"), false); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			m.seal()
		}
		if r := again(); r.Status != 409 || r.Str("billed") != "no" {
			t.Errorf("once it went back: %d %s", r.Status, r.Raw)
		}
	})
}
