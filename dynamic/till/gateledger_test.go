package till_test

import (
	"testing"
	"testing/synctest"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
)

// A ledger that fails at the gates fails before the claim: a payment that came along was not used,
// and where none came there is nothing to say of one.
func TestLedgerFailsAtTheGates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		after := 0 // how many times the ledger is asked until it fails once; 0 is never
		m := &model{t: t, chain: newFakeChain(),
			db: ledger.NewMem(ledger.MemOptions{Calm: true, Fault: func(string) (bool, error) {
				if after > 0 {
					if after--; after == 0 {
						return false, errDisk
					}
				}
				return true, nil
			}})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		s := m.offered(secret, "payer", "nonce", 0)
		synctest.Wait()
		after = 1
		if r, _ := m.do(secret, nil); r.Code() != "ledger_unavailable" || r.Body["billed"] != nil ||
			r.Body["retry"] != nil {
			t.Errorf("without a payment: %d %s", r.Status, r.Raw)
		}
		after = 2 // after the claims were searched
		r, _ := m.do(s.path, map[string]string{"PAYMENT-SIGNATURE": s.header})
		if r.Code() != "ledger_unavailable" || r.Str("billed") != "no" || r.Str("retry") != "same_payment" ||
			r.Header.Get("Retry-After") == "" {
			t.Errorf("with a payment: %d %s", r.Status, r.Raw)
		}
	})
}
