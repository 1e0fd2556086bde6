package evm_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// patience turns a hang into a failure.
const patience = 5 * time.Minute

// watched is a rail whose watcher follows the chain.
func watched(t *testing.T, h *harness) (p *rail.Payment, want rail.Requirement, r rail.Rail) {
	r = newRail(t, h.cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	seen := r.Changed()
	wg.Go(func() { r.Run(ctx) })
	<-seen
	return parsed(t, h, r), r.Requirement(500_000), r
}

func parsed(t *testing.T, h *harness, r rail.Rail) *rail.Payment {
	t.Helper()
	p, err := r.Parse(h.Sign(terms(500_000)), r.Requirement(500_000))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is seen cancelled between simulation and draft is refused, not sent.
func TestWhatWasCancelledIsNotDrafted(t *testing.T) {
	h := openOn(t, 8453)
	data := h.Sign(terms(500_000))
	_, want, r := watched(t, h)
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
func TestWhatAnotherPaymentTookIsNotDrawnUpon(t *testing.T) {
	h := openOn(t, 8453)
	h.Fund(500_000)
	_, want, r := watched(t, h)
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
	p, want, r := watched(t, h)
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
