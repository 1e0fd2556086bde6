package onchaintest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// moody is a rail that refuses to draft while it is told to.
type moody struct {
	rail.Rail
	refuses *atomic.Bool
	refusal *rail.Refusal
}

func (m moody) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if m.refuses.Load() {
		return nil, m.refusal
	}
	return m.Rail.Draft(ctx, ps)
}

// newMoodyShop is a shop that gives up on payments while refuses is set.
func newMoodyShop(t *testing.T, o shopOptions) (*shop, *atomic.Bool) {
	t.Helper()
	refuses := new(atomic.Bool)
	refusal := &rail.Refusal{Reason: "invalid_exact_evm_insufficient_balance", Message: "it would revert", Payer: true}
	o.rail = func(r rail.Rail) rail.Rail { return moody{r, refuses, refusal} }
	return newShop(t, o), refuses
}

// giveUp makes the shop give up on a payment that is good.
func (s *shop) giveUp(path string, p payment, refuses *atomic.Bool) tilltest.Reply {
	s.t.Helper()
	refuses.Store(true)
	defer refuses.Store(false)
	r := s.present(path, p)
	s.want("a payment that would revert", r, 402, "payment_invalid")
	if r.Str("billed") != "no" || r.Body["delivered"] != false || r.Header.Get("PAYMENT-REQUIRED") != "" ||
		r.Response()["success"] != false {
		s.t.Errorf("a payment that did not go through is answered %s, %v", r.Raw, r.Response())
	}
	return r
}

// land lets a stranger submit a payment.
func (s *shop) land(p payment) {
	s.t.Helper()
	s.net.Await(s.net.Send(s.net.Minter, s.net.Asset, p.Call()).Hash())
}

func TestLateLandingIsDelivered(t *testing.T) {
	t.Parallel()
	s, refuses := newMoodyShop(t, shopOptions{})
	const path = "/api/buy/the_drawer"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	r := s.giveUp(path, p, refuses)
	s.land(p)
	s.state(r.Purchase(), till.Delivered)
	again := s.present(path, p)
	s.want("the payment that landed late", again, 200, "")
	if got := again.Str("certificate", "settled_via"); got != "x402 sent by another" {
		t.Errorf("settled_via = %q", got)
	}
	if n := s.audit(); n != 1 {
		t.Errorf("%d delivered, want 1", n)
	}
}

func TestLateLandingOfWhatIsGoneIsOwed(t *testing.T) {
	t.Parallel()
	s, refuses := newMoodyShop(t, shopOptions{site: tilltest.Scarce(t, map[string]int{"drawer": 1})})
	const path = "/api/buy/the_drawer"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	r := s.giveUp(path, p, refuses)
	sold, _ := s.buy(path, s.net.Buyers[1], nil)
	s.want("the sale of what was given back", sold, 200, "")
	s.land(p)
	owed := s.state(r.Purchase(), till.RefundOwed)
	if owed.Proof == nil || owed.Number != 0 {
		t.Errorf("the purchase whose good is gone has proof %v, number %d", owed.Proof, owed.Number)
	}
	again := s.present(path, p)
	s.want("the payment that landed late", again, 409, "refund_owed")
	if again.Str("billed") != "yes" || again.Str("owed_usdc") != "9" || again.Str("retry") != "never" {
		t.Errorf("what is owed is told as %s", again.Raw)
	}
	if n := s.audit(); n != 1 {
		t.Errorf("%d patron numbers, want 1", n)
	}
}

func TestThreeUnsettledPaymentsInADay(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	k := judgmentKind
	k.Later = false
	k.Make = func(ctx context.Context, m goods.Maker, o *goods.Order) (*goods.Made, error) {
		made.Add(1)
		return judgmentKind.Make(ctx, m, o)
	}
	s, refuses := newMoodyShop(t,
		shopOptions{config: func(c *till.Config) { c.Shelves = []till.Shelf{till.Goods(c.Kinds), shelved(k)} }})
	const path = judgment
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)
	for range 3 {
		s.giveUp(path, s.sign(ch, 0, buyer, nil), refuses)
	}
	p := s.sign(ch, 0, buyer, nil)
	r := s.present(path, p)
	s.want("the fourth payment", r, 429, "payment_refused_for_now")
	wait, err := time.ParseDuration(r.Header.Get("Retry-After") + "s")
	if err != nil || wait < 23*time.Hour || wait > 24*time.Hour {
		t.Errorf("Retry-After = %s (%v), want about a day", r.Header.Get("Retry-After"), err)
	}
	if n := made.Load(); n != 3 {
		t.Errorf("goods were made %d times, want 3: not for a payer who is refused", n)
	}
	r, _ = s.buy(path, s.net.Buyers[1], nil)
	s.want("another wallet", r, 200, "")
	s.audit()
}
