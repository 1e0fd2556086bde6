package till_test

import (
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/till"
)

// keyed presents a payment under a key of the buyer's own, and seals it.
func (m *model) keyed(s *modelSale, key string) tilltest.Reply {
	out := make(chan tilltest.Reply, 1)
	go func() {
		r, _ := m.do(s.path, map[string]string{"PAYMENT-SIGNATURE": s.header, "Idempotency-Key": key})
		out <- r
	}()
	synctest.Wait()
	m.seal()
	return <-out
}

// A payment that the chain took back for good was no sale: the buyer's own key orders again, once,
// and is charged once. Until that is final it goes on answering with what was delivered.
func TestOwnKeyOrdersAgainAfterAReversal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, nil)
		defer func() { m.stop() }()
		const path, key = "/api/buy/hello", "the-key-of-an-order"
		first := m.offered(path, "payer", "taken back", 0)
		sold := m.keyed(first, key)
		if sold.Status != 200 {
			t.Fatalf("the order is answered %d %s", sold.Status, sold.Code())
		}
		m.chain.mu.Lock()
		m.chain.reorg(1, true)
		m.chain.pool = []*fakeTx{{Cancels: &first.payload}}
		m.chain.mu.Unlock()
		m.seal()
		if r := m.keyed(m.offered(path, "payer", "too early", 0), key); r.Status != 200 ||
			r.Purchase() != sold.Purchase() {
			t.Errorf("before the reversal is final the key answers %d %s", r.Status, r.Code())
		}
		m.pass(10 * time.Minute)
		if n := m.states(); n[till.Reversed] != 1 {
			t.Fatalf("%v, want one reversed", n)
		}
		if r := m.keyed(first, key); r.Status != 409 || r.Code() != "payment_reversed" {
			t.Errorf("the payment that was taken back is answered %d %s", r.Status, r.Code())
		}
		again := m.keyed(m.offered(path, "payer", "of the second order", 0), key)
		if again.Status != 200 || again.Purchase() == sold.Purchase() || again.Body["idempotent_replay"] != false {
			t.Fatalf("the key orders again and is answered %d %s", again.Status, again.Code())
		}
		if r := m.keyed(m.offered(path, "payer", "of the repeat", 0), key); r.Status != 200 ||
			r.Purchase() != again.Purchase() {
			t.Errorf("the repeat of the second order is answered %d %s", r.Status, r.Code())
		}
		if got := m.chain.received(); got != first.payload.value() {
			t.Errorf("payTo received %d for two orders of %d, one of them taken back", got, first.payload.value())
		}
	})
}
