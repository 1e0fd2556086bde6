package settle_test

import (
	"math/big"
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// What a contract has put into a hold or a channel, which it may have back, pays for no reverts.
func TestWhatMayGoBackPaysForNoReverts(t *testing.T) {
	s := newStreet(t, settle.GasConfig{})
	d, err := settle.New(settle.Config{DB: s.db, Rails: []rail.Rail{s.a}, Gas: s.GasGuard})
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]bool{"eip3009": true, rail.MethodHold: false, rail.MethodHoldPermit: false,
		rail.MethodDeposit: false, rail.MethodDepositPermit: false} {
		m := settle.Member{ID: "m", Payment: rail.Payment{Network: one, Method: method, Payer: "wallet of " + method,
			Amount: big.NewInt(5000)}, Verified: rail.Verified{Code: "code"}}
		var proven bool
		err := s.update(func(tx ledger.Tx) (err error) {
			if err = d.Landed(tx, settle.Unsigned(m), "m"); err == nil {
				proven, err = s.Proven(tx, one, m.Payment.Payer, "code")
			}
			return err
		})
		if err != nil || proven != want {
			t.Errorf("by %s it is let pass: %v, %v", method, proven, err)
		}
	}
}
