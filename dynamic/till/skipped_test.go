package till_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
)

// Somebody else uses the relayer's key, so that a purchase gets the number behind, and a
// reorganisation drops both for good: no purchase ever had the number that the chain asks for. The
// payment that waits behind it dies, the number is used up all the same, and what is bought
// afterwards settles. With a buyer who comes before that, his payment takes it.
func TestSkippedNumberIsOpenAgain(t *testing.T) {
	t.Parallel()
	for _, diverted := range []int{1, 3} {
		for _, buyers := range []int{0, 1} {
			t.Run(fmt.Sprintf("%d diverted, %d buyers", diverted, buyers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { skippedNumber(t, diverted, buyers) })
			})
		}
	}
}

func skippedNumber(t *testing.T, diverted, buyers int) {
	m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{})}
	m.calm.Store(true)
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	m.start(site)
	defer m.stop()
	with := func(f func(c *fakeChain)) {
		m.chain.mu.Lock()
		defer m.chain.mu.Unlock()
		f(m.chain)
	}
	sold := 0
	buy := func() (status chan int) {
		sold++
		status = make(chan int, 1)
		r, _ := m.do("/api/buy/hello", nil)
		s := m.signed("/api/buy/hello", "payer", fmt.Sprintf("nonce-%d", sold),
			tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED")), 100*time.Second)
		m.sales = append(m.sales, s)
		go func() {
			r, _ := m.do(s.path, map[string]string{"PAYMENT-SIGNATURE": s.header})
			status <- r.Status
		}()
		synctest.Wait()
		return status
	}
	seal := func(n int) {
		for range n {
			time.Sleep(2 * time.Second)
			with(func(c *fakeChain) { c.seal(false) })
			synctest.Wait()
		}
	}
	first := buy()
	seal(1)
	if got := <-first; got != 200 {
		t.Fatalf("the first purchase is answered %d", got)
	}
	for range diverted {
		with((*fakeChain).divert)
	}
	seal(1)
	buy() // with the number behind those
	with(func(c *fakeChain) {
		if len(c.pool) != 1 || c.pool[0].Sequence != uint64(1+diverted) {
			t.Fatalf("the pool holds %v", c.pool)
		}
		c.reorg(1, true)
	})
	for range buyers {
		last := buy()
		seal(2)
		if diverted == 1 {
			if got := <-last; got != 200 {
				t.Errorf("who buys behind the number that is open is answered %d", got)
			}
		}
	}
	seal(900) // half an hour
	last := buy()
	seal(1)
	if got := <-last; got != 200 {
		t.Errorf("who buys at the end is answered %d", got)
	}
	seal(900)
	m.judge()
}
