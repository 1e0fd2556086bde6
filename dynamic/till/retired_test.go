package till_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// retiring is a rail whose account the keeper may take out of the configuration, and put back.
type retiring struct {
	rail.Rail
	out *atomic.Bool
}

func (r retiring) Accounts(ctx context.Context) ([]rail.Account, error) {
	if r.out.Load() {
		return nil, nil
	}
	return r.Rail.Accounts(ctx)
}

func (r retiring) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if r.out.Load() {
		return nil, rail.ErrNoGas
	}
	return r.Rail.Draft(ctx, ps)
}

func (r retiring) Send(ctx context.Context, all ...rail.Signed) error {
	if r.out.Load() {
		return errSilent
	}
	return r.Rail.Send(ctx, all...)
}

func (r retiring) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	if r.out.Load() {
		signed = nil // they are of no account of ours
	}
	return r.Rail.Status(ctx, p, signed, since, now)
}

// An account that was taken out of the configuration while a number of it was open, and is put
// back, has a number that nobody looks after any more: its purchase is final. It is filled, and
// later ones are mined.
func TestAccountThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out atomic.Bool
		m := bubble(t, nil, func(r rail.Rail) rail.Rail { return retiring{r, &out} })
		defer func() { m.stop() }()
		lost := m.begin(m.offered("/api/buy/hello", "payer", "lost", time.Minute))
		synctest.Wait()
		m.chain.mu.Lock()
		m.chain.pool = nil
		m.chain.mu.Unlock()
		out.Store(true)
		m.pass(10 * time.Minute)
		<-lost
		if p := tilltest.Purchases(t, m.db); len(p) != 1 || p[0].State != till.NotSettled || !p[0].Final {
			t.Fatalf("%+v, want one that is not settled for good", p)
		}
		out.Store(false)
		m.pass(time.Minute)
		if n := m.chain.head().mined; n != 1 {
			t.Errorf("%d numbers are used up, want the one that was open", n)
		}
		next := m.begin(m.offered("/api/buy/hello", "payer", "next", 0))
		synctest.Wait()
		m.seal()
		m.pass(time.Minute)
		if r := <-next; r.Status != 200 {
			t.Errorf("the next purchase is answered %d %s", r.Status, r.Code())
		}
	})
}
