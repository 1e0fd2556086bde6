package till_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
)

// Whoever bought once leaves forty authorizations of an empty wallet in the ledger at most, and
// these are forgotten a day after they have ended; none of them ever pays for anything (M19).
func TestAnsweredAuthorizationsHaveABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		const key = "a-key-of-the-buyers-own"
		present := func(nonce string) (*modelSale, tilltest.Reply) {
			r, _ := m.do(hello, nil)
			ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
			s := m.signed(hello, "buyer", nonce, ch, 10*time.Minute)
			done := make(chan tilltest.Reply, 1)
			go func() {
				r, _ := m.do(hello, map[string]string{"PAYMENT-SIGNATURE": s.header, "Idempotency-Key": key})
				done <- r
			}()
			synctest.Wait()
			m.sealed()
			return s, <-done
		}
		_, bought := present(rand.Text())
		if bought.Status != 200 {
			t.Fatalf("the purchase = %d %s", bought.Status, bought.Raw)
		}
		auths := func() (n int) {
			m.db.View(t.Context(), func(tx ledger.Tx) error {
				for range tx.Scan(ledger.Prefix(ledger.AuthKey())) {
					n++
				}
				return nil
			})
			return n
		}
		m.chain.mu.Lock()
		m.chain.poor["buyer"] = true
		m.chain.mu.Unlock()
		first, _ := present("nonce-0")
		for i := range 60 {
			_, r := present(fmt.Sprint("nonce-", i+1))
			want := map[bool]int{true: 200, false: 429}[i < 39]
			if r.Status != want || want == 200 && r.Str("cert_id") != bought.Str("cert_id") ||
				want == 429 && (r.Str("billed") != "no" || r.Str("retry") != "never") {
				t.Fatalf("fresh authorization %d = %d %s, want %d", i, r.Status, r.Raw, want)
			}
			time.Sleep(3 * time.Second) // not to be kept waiting for refusals
		}
		if n := auths(); n != 41 {
			t.Errorf("%d authorizations are kept, want 41", n)
		}
		m.stop()
		time.Sleep(24*time.Hour + 15*time.Minute) // the slot is free too: what is bought now is another purchase
		m.sealed()
		m.start(site)
		m.chain.mu.Lock()
		delete(m.chain.poor, "buyer")
		m.chain.mu.Unlock()
		for i := range 7 {
			if _, r := present(rand.Text()); r.Status != 200 {
				t.Fatalf("purchase or repeat %d on the next day = %d %s", i, r.Status, r.Raw)
			}
		}
		// Each repeat forgets eight.
		if n := auths(); n != 1+1+6 {
			t.Errorf("%d authorizations are kept a day later, want 8", n)
		}
		r, _ := m.do(hello, map[string]string{"PAYMENT-SIGNATURE": first.header})
		if r.Status != 402 {
			t.Errorf("one that was forgotten = %d %s, want that it has ended", r.Status, r.Raw)
		}
	})
}
