package till_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// What is not known of a voucher is told as unknown, with the way back: a ledger that stops
// answering while the voucher waits for its channel has charged something, or not.
func TestLedgerThatFailsUnderAVoucher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		var failing atomic.Bool
		m := &model{t: t, both: true, chain: newFakeChain(),
			db: ledger.NewMem(ledger.MemOptions{Calm: true, Fault: func(string) (bool, error) {
				if failing.Load() {
					return false, errDisk
				}
				return true, nil
			}})}
		m.calm.Store(true)
		m.chain.delay = modelDelay
		m.start(site)
		defer func() { m.stop() }()
		time.Sleep(5 * time.Second) // withdrawals are seen
		s := newSpender("spender", modelDelay)
		buy := func() <-chan tilltest.Reply {
			r, _ := m.do(hello, nil)
			ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
			sale := m.spend(s, hello, ch, entry(ch, rail.SchemeVouchers), 0)
			s.spent = sale.most
			return m.begin(sale)
		}
		first := buy()
		synctest.Wait()
		second := buy()
		time.Sleep(time.Second)
		failing.Store(true)
		r := <-second
		failing.Store(false)
		if r.Status != 503 || r.Str("billed") != "unknown" || r.Str("retry") != "same_payment" {
			t.Errorf("a voucher whose ledger fails is answered %d %s", r.Status, r.Raw)
		}
		m.seal()
		<-first
	})
}

// A claim that reverts until it is given up leaves no number open for later payments to wait
// behind, though a reorganisation takes its last transaction away.
func TestClaimThatIsGivenUpHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{t: t, both: true, age: time.Minute, chain: newFakeChain(),
			db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m.calm.Store(true)
		m.chain.delay = modelDelay
		m.start(site)
		defer func() { m.stop() }()
		time.Sleep(5 * time.Second)
		s := newSpender("code:spender", modelDelay) // its contract accepts a voucher, and denies it in a block
		r, _ := m.do(hello, nil)
		ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
		sale := m.begin(m.spend(s, hello, ch, entry(ch, rail.SchemeVouchers), 0))
		synctest.Wait()
		m.seal()
		if r := <-sale; r.Status != 200 {
			t.Fatalf("a voucher is answered %d %s", r.Status, r.Raw)
		}
		with := fakeHarness{t, m.chain}.with
		with(func(c *fakeChain) { c.traps["code:spender"] = true })
		for seen := 0; seen < 2; {
			m.seal()
			var n int
			if with(func(c *fakeChain) { n = len(c.reverted) }); n > seen {
				seen = n
				time.Sleep(25 * time.Second) // it is heard of
				with(func(c *fakeChain) { c.reorg(1, true) })
			}
		}
		next := m.begin(m.offered(hello, "somebody", "a nonce", 0))
		for range 20 {
			m.seal()
		}
		if r := <-next; r.Status != 200 {
			t.Errorf("a payment behind it is answered %d %s", r.Status, r.Raw)
		}
	})
}
