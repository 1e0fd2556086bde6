package evm_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/railtest"
)

// patience turns a hang into a failure.
const patience = 5 * time.Minute

// watched is a rail whose watcher follows the chain through a counter of estimates. What the next
// draft is spared was not read before since.
func watched(t *testing.T, h *harness) (p *rail.Payment, want rail.Requirement, asked *atomic.Int64, r rail.Rail,
	since time.Time) {
	var c counter
	var estimates atomic.Int64
	count := func(body string, _ http.ResponseWriter) bool {
		estimates.Add(int64(strings.Count(body, "eth_estimateGas")))
		return false
	}
	c.meddle.Store(&count)
	h.cfg.RPC = []string{c.front(t, h.URL)}
	r = newRail(t, h.cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	seen := r.Changed()
	wg.Go(func() { r.Run(ctx) })
	<-seen
	first := parsed(t, h, r)
	since = time.Now()
	sold(t, r, first, r.Requirement(500_000)) // reads what the next draft is spared
	seen = r.Changed()
	h.Seal()
	<-seen
	return parsed(t, h, r), r.Requirement(500_000), &estimates, r, since
}

func parsed(t *testing.T, h *harness, r rail.Rail) *rail.Payment {
	t.Helper()
	p, err := r.Parse(h.Sign(terms(500_000)), r.Requirement(500_000))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The draft after a simulation asks nothing again; the one after it, whose settlement may have
// failed, asks everything.
func TestOnlyTheFirstDraftIsSpared(t *testing.T) {
	// What is read is believed for seconds. A machine that takes longer from reading to draft tries
	// again.
	for began := time.Now(); ; {
		p, want, estimates, r, since := watched(t, openOn(t, 8453))
		before := estimates.Load()
		if before != 1 {
			t.Fatalf("%d estimates for the first settlement, want 1", before)
		}
		if _, err := r.Verify(t.Context(), p, want, time.Now()); err != nil {
			t.Fatal(err)
		}
		var asked [3]int64
		var took time.Duration
		for i := range asked {
			if _, err := r.Draft(t.Context(), []*rail.Payment{p}); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				took = time.Since(since)
			}
			asked[i] = estimates.Load() - before
		}
		switch {
		case asked == [3]int64{0, 1, 2}:
			return
		case took < time.Second || time.Since(began) > patience:
			t.Fatalf("%v estimates after each draft, want 0, 1, 2; the first was made %v after its reading", asked,
				took)
		}
	}
}

// The draft after one for several, which may have failed by what its payer did, is spared nothing.
func TestTheDraftAfterOneForSeveralIsNotSpared(t *testing.T) {
	h := openOn(t, 8453)
	p, want, estimates, r, _ := watched(t, h)
	if err := r.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	u := terms(500_000)
	u.Buyer = 1
	other, err := r.Parse(h.Sign(u), want)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*rail.Payment{p, other} {
		if _, err := r.Verify(t.Context(), p, want, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	before := estimates.Load()
	for i, ps := range [][]*rail.Payment{{p, other}, {p}} {
		if _, err := r.Draft(t.Context(), ps); err != nil {
			t.Fatal(err)
		}
		if got := estimates.Load() - before; got != int64(i+1) {
			t.Errorf("%d estimates after %d drafts", got, i+1)
		}
	}
}

// What is seen cancelled between simulation and draft is refused, not sent.
func TestWhatWasCancelledIsNotSpared(t *testing.T) {
	h := openOn(t, 8453)
	data := h.Sign(terms(500_000))
	_, want, _, r, _ := watched(t, h)
	p, err := r.Parse(data, want)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Verify(t.Context(), p, want, time.Now()); err != nil {
		t.Fatal(err)
	}
	seen := r.Changed()
	h.Cancel(data)
	h.Seal()
	<-seen
	if _, err := r.Draft(t.Context(), []*rail.Payment{p}); err == nil {
		t.Error("a cancelled payment is drafted")
	}
}

// Money that another payment of the payer is seen to have taken between simulation and draft is not
// drawn upon.
func TestWhatAnotherPaymentTookIsNotSpared(t *testing.T) {
	h := openOn(t, 8453)
	h.Fund(500_000)
	_, want, _, r, _ := watched(t, h)
	poor := terms(500_000)
	poor.Payer = railtest.Poor
	first := h.Sign(poor)
	p, err := r.Parse(h.Sign(poor), want)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Verify(t.Context(), p, want, time.Now()); err != nil {
		t.Fatal(err)
	}
	seen := r.Changed()
	h.Submit(first)
	h.Seal()
	<-seen
	if _, err := r.Draft(t.Context(), []*rail.Payment{p}); err == nil {
		t.Error("a payment is drafted whose money another took")
	}
}

// Sends that keep coming hurry the poll and never put it off.
func TestSettlementsThatKeepComingAreFollowed(t *testing.T) {
	h := openOn(t, 8453)
	h.cfg.Poll = 2 * time.Second // after a Send an eighth of a second
	p, want, _, r, _ := watched(t, h)
	_, signed, _ := sold(t, r, p, want)
	seen := r.Changed()
	h.Seal()
	stop := time.After(patience)
	for {
		select {
		case <-seen:
			return
		case <-stop:
			t.Fatal("the watcher does not poll while settlements keep being sent")
		default:
			if err := r.Send(t.Context(), signed[0]); err != nil { // the node knows it, which is no error
				t.Fatal(err)
			}
		}
	}
}
