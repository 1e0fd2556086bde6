package railtest

import (
	"fmt"
	"sync"
	"time"

	"store.example/agentstore/dynamic/rail"
)

func crashBeforeSend(s *suite) {
	x := s.claim(s.terms(price))
	s.prepare(x)
	s.r = s.h.Restart()
	s.follow(s.r)
	if s.has(Own) {
		s.advised(x, waited, rail.Resend)
	}
	s.send(x)
	s.h.Seal()
	s.expect(x, rail.Paid)
	s.earned(price)
}

func crashAfterSend(s *suite) {
	x := s.claim(s.terms(price))
	s.settle(x)
	s.r = s.h.Restart()
	s.follow(s.r)
	s.send(x)
	s.h.Seal()
	s.send(x) // mined by now
	s.expect(x, rail.Paid)
	s.r = s.h.Restart()
	s.expectOnce(x, rail.Paid)
	s.earned(price)
}

// expectOnce demands a state of a rail that does not follow the chain.
func (s *suite) expectOnce(x *sale, want rail.State) {
	s.Helper()
	if f := s.status(x, s.now()); f.State != want {
		s.Fatalf("Status = %s, want %s", f.State, want)
	}
}

func dropped(s *suite) {
	x := s.claim(s.terms(price))
	s.settle(x)
	if s.has(Numbered) { // of others no node says what it has
		s.advised(x, waited, rail.Wait)
	}
	s.h.Drop()
	s.advised(x, 2*waited-time.Second, rail.Resend)
	s.send(x)
	s.h.Seal()
	s.expect(x, rail.Paid)
	s.earned(price)
}

func sequenceLost(s *suite) {
	x := s.claim(s.terms(price))
	s.prepare(x)
	s.h.Divert()
	if err := s.r.Send(s.Context(), x.signed[0]); err == nil { // the pool has the other already
		s.Error("Send says nothing of another transaction at its number")
	}
	s.h.Seal()
	s.until(x, "redraft", func(f rail.Finding) bool { return f.State == rail.Waiting && f.Advice == rail.Redraft })
	s.settle(x)
	if a, b := x.signed[0], x.signed[1]; b.Sequence <= a.Sequence {
		s.Fatalf("signed anew at %d after %d", b.Sequence, a.Sequence)
	}
	s.h.Seal()
	if f := s.expect(x, rail.Paid); f.Proof.Tx != x.signed[1].ID || f.Unfilled != nil {
		s.Errorf("paid by %s, unfilled %v; want %s, nil", f.Proof.Tx, f.Unfilled, x.signed[1].ID)
	}
	s.earned(price)
}

func stuck(s *suite) {
	x := s.claim(s.terms(price))
	s.settle(x)
	s.h.SealEmpty()
	s.advised(x, time.Minute, rail.Bump)
	d, err := s.r.Replace(s.Context(), []*rail.Payment{x.p}, x.signed[0], false)
	if err != nil {
		s.Fatalf("Replace: %v", err)
	}
	s.fix(x, d)
	if a, b := x.signed[0], x.signed[1]; a.Sequence != b.Sequence || a.ID == b.ID {
		s.Fatalf("%v replaced by %v, want another transaction at the same number", a, b)
	}
	s.send(x)
	s.h.Seal()
	if f := s.expect(x, rail.Paid); f.Proof.Tx != x.signed[1].ID || f.Proof.ByOther {
		s.Errorf("paid by %s (by another: %v), want the replacement %s", f.Proof.Tx, f.Proof.ByOther, x.signed[1].ID)
	}
	s.earned(price)
}

func filled(s *suite) {
	x := s.claim(s.terms(price))
	s.prepare(x) // takes the number and is never sent
	y := s.claim(s.terms(price + 1))
	s.settle(y) // waits behind it
	s.h.Cancel(x.payload)
	s.h.Seal()
	f := s.expect(x, rail.Dead)
	if f.Unfilled == nil || f.Unfilled.Sequence != x.signed[0].Sequence {
		s.Fatalf("Unfilled = %v, want number %d", f.Unfilled, x.signed[0].Sequence)
	}
	s.expectOnce(y, rail.Waiting)
	d, err := s.r.Replace(s.Context(), []*rail.Payment{x.p}, *f.Unfilled, true)
	if err != nil {
		s.Fatalf("Replace to fill: %v", err)
	}
	if fill := s.fix(x, d); !fill.Fill || fill.Sequence != f.Unfilled.Sequence {
		s.Fatalf("filled by %+v, want number %d", fill, f.Unfilled.Sequence)
	}
	s.send(x)
	s.h.Seal()
	s.until(x, "filled", func(f rail.Finding) bool { return f.State == rail.Dead && f.Unfilled == nil })
	s.expect(y, rail.Paid)
	s.earned(price + 1)
}

func fortyAtOnce(s *suite) {
	n := 40
	if s.h.Remote() {
		n = 2 * 8 // a facilitator has no more of a payer under way (M15)
	}
	xs := make([]*sale, n)
	for i := range xs {
		t := s.terms(price + int64(i))
		t.Buyer = i % 2
		xs[i] = s.sign(t)
	}
	var wg sync.WaitGroup
	for _, x := range xs {
		wg.Go(func() {
			seen, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(x.p.Amount.Int64()), s.now())
			if err != nil {
				s.Errorf("Verify: %v", err)
				return
			}
			x.seen = seen
			d, err := s.r.Draft(s.Context(), []*rail.Payment{x.p})
			if err != nil {
				s.Errorf("Draft: %v", err)
				return
			}
			signed, err := d.Sign(s.seq)
			if err != nil {
				s.Errorf("Sign: %v", err)
				return
			}
			x.signed = []rail.Signed{signed}
			if err := s.r.Send(s.Context(), signed); err != nil {
				s.Errorf("Send: %v", err)
			}
		})
	}
	wg.Wait()
	if s.Failed() {
		return
	}
	s.h.Seal()
	places := map[string]bool{}
	total := int64(0)
	for _, x := range xs {
		f := s.expect(x, rail.Paid)
		places[fmt.Sprint(f.Proof.Tx, f.Proof.LogIndex)] = true
		total += x.p.Amount.Int64()
	}
	if len(places) != n {
		s.Errorf("%d proofs for %d payments", len(places), n)
	}
	s.earned(total)
}
