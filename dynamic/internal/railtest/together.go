package railtest

import (
	"errors"
	"slices"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// several is payments by three payers, the last of whom has no more money than for its own; nil
// where a network settles each in a transaction of its own.
func (s *suite) several() (xs []*sale) {
	s.Helper()
	if err := s.r.Check(s.Context()); err != nil {
		s.Fatal(err)
	}
	if s.r.Info().Together < 3 {
		return nil
	}
	s.h.Fund(price)
	for _, t := range []Terms{{Buyer: 0}, {Buyer: 1}, {Payer: Poor}} {
		u := s.terms(price)
		u.Buyer, u.Payer = t.Buyer, t.Payer
		xs = append(xs, s.claim(u))
	}
	return xs
}

func paymentsOf(xs []*sale) (ps []*rail.Payment) {
	for _, x := range xs {
		ps = append(ps, x.p)
	}
	return ps
}

// together drafts and signs one settlement of several payments.
func (s *suite) together(xs []*sale) rail.Signed {
	s.Helper()
	d, err := s.r.Draft(s.Context(), paymentsOf(xs))
	if err != nil {
		s.Fatalf("Draft of %d: %v", len(xs), err)
	}
	if p := d.Price(); p.Cost <= 0 || p.Most < p.Cost || p.Code != "" || p.Gas > uint64(len(xs))*MostGas {
		s.Errorf("the price of %d is %+v", len(xs), p)
	}
	return s.fixAll(xs, d)
}

func (s *suite) fixAll(xs []*sale, d rail.Draft) rail.Signed {
	s.Helper()
	signed, err := d.Sign(s.seq)
	if err != nil {
		s.Fatalf("Sign: %v", err)
	}
	for _, x := range xs {
		x.signed = append(x.signed, signed)
	}
	return signed
}

// paidBy demands that payments are paid by one transaction, each at a place of its own.
func (s *suite) paidBy(xs []*sale, tx string) {
	s.Helper()
	places := map[uint64]bool{}
	for i, x := range xs {
		f := s.expect(x, rail.Paid)
		if f.Proof.Tx != tx || f.Proof.ByOther || places[f.Proof.LogIndex] || f.Unfilled != nil {
			s.Errorf("payment %d of several: %+v, %+v; want a place of its own in %s", i, f, f.Proof, tx)
		}
		places[f.Proof.LogIndex] = true
	}
}

func togetherPaid(s *suite) {
	xs := s.several()
	if xs == nil {
		return
	}
	signed := s.together(xs)
	s.send(xs[0])
	s.h.Seal()
	s.paidBy(xs, signed.ID)
	s.earned(3 * price)
	if _, err := s.r.Draft(s.Context(), paymentsOf(xs)); !errors.Is(err, rail.ErrTogether) {
		s.Errorf("Draft of what is paid = %v, want ErrTogether", err)
	}
	s.h.Finalize()
	for _, x := range xs {
		s.until(x, "final", func(f rail.Finding) bool { return f.Final })
	}
}

// What one of several does between draft and block is no other's business.
func togetherBut(s *suite) {
	xs := s.several()
	if xs == nil {
		return
	}
	s.together(xs)
	s.h.Cancel(xs[0].payload)
	s.h.Submit(xs[1].payload)
	s.h.Fund(0) // seals
	s.send(xs[0])
	s.h.Seal()
	if f := s.expect(xs[0], rail.Dead); f.Reason != "cancelled" || f.Unfilled != nil {
		s.Errorf("cancelled: %+v", f)
	}
	if f := s.expect(xs[1], rail.Paid); !f.Proof.ByOther {
		s.Errorf("paid by a stranger: %+v", f.Proof)
	}
	f := s.until(xs[2], "redraft", func(f rail.Finding) bool {
		return f.State == rail.Waiting &&
			f.Advice == rail.Redraft
	})
	if len(f.Reverts) != 1 || f.Reverts[0].Of != 3 || f.Reverts[0].Moved != 0 || f.Reverts[0].Cost <= 0 {
		s.Fatalf("the poor one's reverts: %+v", f.Reverts)
	}
	if c, err := s.r.Explain(s.Context(), xs[2].p, f.Reverts[0]); err != nil || !c.Payer || c.Others {
		s.Errorf("Explain = %+v, %v; want that it is the payer's doing", c, err)
	}
	s.h.Fund(price) // now it has the money, and goes alone
	s.settle(xs[2])
	s.h.Seal()
	if f := s.expect(xs[2], rail.Paid); f.Proof.Tx != xs[2].signed[1].ID {
		s.Errorf("paid by %s, want %s", f.Proof.Tx, xs[2].signed[1].ID)
	}
	s.earned(2 * price)
}

// One of several that has no money in the block has a part of the cost; the others are paid.
func togetherWithPoor(s *suite) {
	xs := s.several()
	if xs == nil {
		return
	}
	signed := s.together(xs)
	s.h.Fund(0)
	s.send(xs[0])
	s.h.Seal()
	s.paidBy(xs[:2], signed.ID)
	f := s.until(xs[2], "redraft", func(f rail.Finding) bool { return f.Advice == rail.Redraft })
	if len(f.Reverts) != 1 || f.Reverts[0].Of != 3 || f.Reverts[0].Moved != 2 || f.Reverts[0].Gas == 0 ||
		f.Reverts[0].Gas > MostGas {
		s.Errorf("the poor one's reverts: %+v", f.Reverts)
	}
	for _, x := range xs[:2] {
		if f := s.status(x, s.now()); len(f.Reverts) != 0 {
			s.Errorf("who was paid has reverts: %+v", f.Reverts)
		}
	}
	s.earned(2 * price)
}

// What cannot go with others is named.
func apart(s *suite) {
	xs := s.several()
	if xs == nil {
		return
	}
	named := func(what string, xs []*sale, want ...int) {
		s.Helper()
		_, err := s.r.Draft(s.Context(), paymentsOf(xs))
		if a, ok := errors.AsType[*rail.Apart](err); !ok || !slices.Equal(a.Which, want) ||
			!errors.Is(err, rail.ErrTogether) {
			s.Errorf("%s: Draft = %v, want that %v go alone", what, err, want)
		}
	}
	second := s.claim(s.terms(price))
	named("two of one payer", append(slices.Clone(xs), second), 3)
	soon := s.terms(price)
	soon.Before = s.now().Add(50 * time.Second)
	soon.Buyer = 1
	named("about to expire", []*sale{xs[0], s.claim(soon), xs[2]}, 1)
	for _, kind := range []Payer{Contract, Delegated} {
		t := s.terms(price)
		if t.Payer = kind; s.h.Sign(t) != nil {
			named("with code", []*sale{s.claim(t), xs[0]}, 0)
		}
	}
	s.h.Fund(0)
	named("without money", xs, 2)
	s.together(xs[:2])
	s.h.Seal()
	s.earned(0)
}

// A replacement is for exactly the same payments, whatever has become of some of them.
func togetherReplaced(s *suite) {
	xs := s.several()
	if xs == nil {
		return
	}
	old := s.together(xs)
	s.send(xs[0])
	s.h.Drop()
	s.h.Submit(xs[1].payload)
	s.h.Seal()
	if _, err := s.r.Replace(s.Context(), paymentsOf(xs[:2]), old, false); err == nil {
		s.Error("a transaction for three is replaced by one for two")
	}
	d, err := s.r.Replace(s.Context(), paymentsOf(xs), old, false)
	if err != nil {
		s.Fatalf("Replace: %v", err)
	}
	signed := s.fixAll(xs, d)
	if signed.Sequence != old.Sequence || signed.ID == old.ID {
		s.Errorf("%v is replaced by %v", old, signed)
	}
	s.send(xs[0])
	s.h.Seal()
	s.paidBy([]*sale{xs[0], xs[2]}, signed.ID)
	s.expect(xs[1], rail.Paid)
	s.earned(3 * price)
}

// A reorganisation takes all away; some of it comes back otherwise.
func togetherReorganised(s *suite) {
	xs := s.several()
	if xs == nil {
		return
	}
	s.h.SealEmpty()
	signed := s.together(xs)
	s.send(xs[0])
	s.h.Seal()
	s.paidBy(xs, signed.ID)
	s.h.Reorg(1)
	s.earned(0)
	for _, x := range xs {
		s.expect(x, rail.Waiting)
	}
	s.h.Submit(xs[1].payload)
	s.h.Seal()
	if f := s.expect(xs[1], rail.Paid); !f.Proof.ByOther || f.Unfilled == nil {
		s.Errorf("paid by a stranger in the new chain: %+v, %+v", f, f.Proof)
	}
	s.advised(xs[0], waited, rail.Resend)
	s.send(xs[0])
	s.h.Seal()
	s.paidBy([]*sale{xs[0], xs[2]}, signed.ID)
	if f := s.expect(xs[1], rail.Paid); f.Unfilled != nil {
		s.Errorf("nothing is open, and %+v is to be filled", f.Unfilled)
	}
	s.earned(3 * price)
}
