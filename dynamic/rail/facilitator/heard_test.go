package facilitator

import (
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// hearing is an owner who has heard nothing, of one payment.
func hearing(t *testing.T) *owner {
	t.Helper()
	g, err := settle.NewGasGuard(settle.GasConfig{DB: ledger.NewMem(ledger.MemOptions{}),
		Rails: []rail.Rail{&plainRail{}}})
	if err != nil {
		t.Fatal(err)
	}
	return &owner{h: &Handler{cfg: HandlerConfig{Gas: g}}, j: &job{asked: &asked{rail: &plainRail{},
		p: &rail.Payment{Payer: "payer"}, payer: "payer", want: rail.Requirement{Network: "eip155:8453"}}},
		d: &driver{over: make(chan struct{})}}
}

func over(d *driver) bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}

var member = settle.Member{Payment: rail.Payment{Network: "eip155:8453", Payer: "payer", Amount: big.NewInt(1)}}

// A transaction that reverted is answered in the words of stock facilitators: this store's own
// stand in the message.
func TestRevertsAreSaidInStockWords(t *testing.T) {
	for reason, want := range map[string]Settled{
		"settlement_too_dear": {Reason: "reverted", Message: "settlement_too_dear"},
		"insufficient_funds":  {Reason: "insufficient_funds", Message: "its transaction reverted"},
	} {
		o := hearing(t)
		s := &settle.Settlement{Sent: []settle.Sent{{ID: "0x01"}}}
		more, err := o.Heard(t.Context(), s, member, settle.News{Over: &settle.Ending{Reason: reason}})
		want.Transaction, want.Network, want.Payer = "0x01", "eip155:8453", "payer"
		if err != nil || more || o.j.last != want || !over(o.d) {
			t.Errorf("%s: more %v, %v, over %v, %+v; want %+v", reason, more, err, over(o.d), o.j.last, want)
		}
	}
}

// What is dead is watched while its number is open: a filling of a minute or more is stuck only if
// the chain says so.
func TestADeadPaymentIsWatchedUntilItsNumberIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for name, c := range map[string]struct {
			newest   rail.Signed
			unfilled bool
			more     bool
		}{
			"nothing open":         {rail.Signed{ID: "0x01", At: now}, false, false},
			"its number open":      {rail.Signed{ID: "0x01", At: now.Add(-time.Hour)}, true, true},
			"a filling, young":     {rail.Signed{ID: "0x01", Fill: true, At: now.Add(-time.Minute + 1)}, false, true},
			"a filling, old":       {rail.Signed{ID: "0x01", Fill: true, At: now.Add(-time.Minute)}, false, false},
			"a filling, stuck":     {rail.Signed{ID: "0x01", Fill: true, At: now.Add(-time.Hour)}, true, true},
			"young and no filling": {rail.Signed{ID: "0x01", At: now.Add(-time.Second)}, false, false},
		} {
			o := hearing(t)
			n := settle.News{State: rail.Dead, Reason: "expired"}
			if c.unfilled {
				n.Unfilled = &c.newest
			}
			more, err := o.Heard(t.Context(), &settle.Settlement{Sent: []settle.Sent{{Signed: c.newest}}}, member, n)
			if err != nil || more != c.more || !over(o.d) || o.j.last.Success || o.j.last.Message != "expired" {
				t.Errorf("%s: more %v, %v, over %v, %+v; want %v", name, more, err, over(o.d), o.j.last, c.more)
			}
		}
	})
}

// A client waits so long and no longer, where nobody said how long.
func TestAClientHasATimeout(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: Timeout, -1: Timeout, time.Second: time.Second} {
		c, err := New(Config{URL: "https://facilitator.example", Timeout: given})
		if err != nil || c.http.Timeout != want {
			t.Errorf("timeout %v: %v, %v; want %v", given, c.http.Timeout, err, want)
		}
	}
}
