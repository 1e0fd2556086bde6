package till_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// deaf is a rail that never hears of the payments of some payers.
type deaf struct{ rail.Rail }

func (d deaf) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	if strings.HasPrefix(p.Payer, "stuck") {
		return rail.Finding{State: rail.Waiting, Advice: rail.Wait}, nil
	}
	return d.Rail.Status(ctx, p, signed, since, now)
}

// Three hundred purchases that wait in vain, more than are read from the queue at a time, must not
// keep a later one from being looked at.
func TestWaitingInVainStarvesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		m.calm.Store(true)
		m.wrap = func(r rail.Rail) rail.Rail { return deaf{r} }
		m.start(site)
		defer func() { m.stop() }()
		const path = "/api/buy/hello"
		pay := func(payer string) *modelSale {
			r, _ := m.do(path, nil)
			ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
			s := m.signed(path, payer, "nonce of "+payer, ch, 10*time.Minute)
			go m.do(path, map[string]string{"PAYMENT-SIGNATURE": s.header})
			return s
		}
		for i := range 300 {
			pay(fmt.Sprintf("stuck-%d", i))
		}
		idle := func(d time.Duration) { // the chain goes on without them
			for range d / (20 * time.Second) {
				time.Sleep(20 * time.Second)
				m.chain.mu.Lock()
				m.chain.seal(true)
				m.chain.mu.Unlock()
			}
		}
		for range 1 + 300/settle.MaxUnmined { // all of them are in blocks, of which nobody hears
			time.Sleep(time.Second)
			m.chain.mu.Lock()
			m.chain.seal(false)
			m.chain.mu.Unlock()
		}
		idle(time.Minute)
		last := pay("patient")
		idle(time.Minute) // the buyer has been told that the outcome is not known
		m.chain.mu.Lock()
		m.chain.seal(false)
		m.chain.mu.Unlock()
		time.Sleep(10 * time.Minute)
		r, _ := m.do(path, map[string]string{"PAYMENT-SIGNATURE": last.header})
		var got struct {
			PatronNumber int `json:"patron_number"`
		}
		if json.Unmarshal(r.Raw, &got); r.Status != 200 || got.PatronNumber != 1 {
			t.Errorf("after ten minutes the one that was paid is answered %d %s", r.Status, r.Raw)
		}
		unknown := 0
		for _, p := range tilltest.Purchases(t, m.db) {
			if p.State == till.Unknown {
				unknown++
			}
		}
		if unknown != 300 {
			t.Errorf("%d purchases wait in vain, want 300", unknown)
		}
	})
}
