package evm_test

import "testing"

// Where another settles, settling costs what it takes, whatever gas costs.
func TestAnothersCostIsWhatItTakes(t *testing.T) {
	h := openRemote(t).(*remoteHarness)
	h.cfg.SettleCost = 7_777
	s, err := newRail(t, h.cfg).Standing(t.Context())
	if err != nil || s.Cost != 7_777 || !s.Priced || s.Out != "" || s.Balance != nil {
		t.Errorf("Standing = %+v, %v", s, err)
	}
}
