package railtest

import (
	"cmp"
	"errors"
	"slices"

	"store.example/agentstore/dynamic/rail"
)

func contractWallet(s *suite) { s.special(Contract) }

// special buys once as a payer of a kind that the network may not have.
func (s *suite) special(kind Payer) {
	t := s.terms(price)
	t.Payer = kind
	if s.h.Sign(t) == nil {
		return
	}
	x := s.claim(t)
	s.settle(x)
	s.h.Seal()
	s.expect(x, rail.Paid)
	s.earned(price)
}

func delegated(s *suite) {
	s.special(Delegated)
	t := s.terms(price)
	t.Payer = Refusing
	if s.h.Sign(t) != nil {
		s.refused(s.sign(t), reason(s, "signature"))
	}
}

func proved(s *suite) {
	message := []byte("a text to sign")
	for _, kind := range []Payer{Plain, Contract, Delegated, Refusing} {
		address, signature := s.h.Prove(kind, message)
		if signature == nil {
			continue
		}
		err := s.r.ProveSigner(s.Context(), address, message, signature)
		if kind == Refusing {
			if _, ok := errors.AsType[*rail.Refusal](err); !ok {
				s.Errorf("ProveSigner of a refusing account = %v, want a refusal", err)
			}
			continue
		}
		if err != nil {
			s.Errorf("ProveSigner of payer kind %d: %v", kind, err)
		}
		bad := map[string][]byte{"message": append([]byte("x"), message...), "empty": nil}
		for name, m := range bad {
			if err := s.r.ProveSigner(s.Context(), address, m, signature); err == nil {
				s.Errorf("ProveSigner of payer kind %d accepts another message (%s)", kind, name)
			}
		}
		for i := range signature {
			changed := append([]byte{}, signature...)
			changed[i] ^= 4
			if err := s.r.ProveSigner(s.Context(), address, message, changed); err == nil {
				s.Errorf("ProveSigner of payer kind %d accepts a signature changed at byte %d", kind, i)
			}
		}
	}
}

func incoming(s *suite) {
	var xs []*sale
	for i := range 3 {
		x := s.claim(s.terms(price + int64(i)))
		s.settle(x)
		s.h.Seal()
		s.expect(x, rail.Paid)
		xs = append(xs, x)
	}
	var got []rail.Transfer
	for t, err := range rail.Transfers(s.r.Incoming(s.Context(), rail.Span{})) {
		if err != nil {
			s.Fatalf("Incoming: %v", err)
		}
		got = append(got, t)
	}
	slices.SortStableFunc(got, func(a, b rail.Transfer) int { return cmp.Compare(a.Block, b.Block) })
	if len(got) != len(xs) {
		s.Fatalf("Incoming lists %d transfers, want %d", len(got), len(xs))
	}
	for i, x := range xs {
		f := s.status(x, s.now())
		t := got[i]
		if t.Tx != f.Proof.Tx || t.LogIndex != f.Proof.LogIndex || t.Block != f.Proof.Block || t.Payer != x.p.Payer ||
			t.Amount.Cmp(x.p.Amount) != 0 || t.Nonce != x.p.Nonce || !t.Time.Equal(f.Proof.BlockTime) {
			s.Errorf("Incoming[%d] = %+v, want %+v of %s", i, t, f.Proof, x.p.ClaimKey())
		}
	}
	for range rail.Transfers(s.r.Incoming(s.Context(), rail.Span{From: got[2].Block + 1})) {
		s.Error("Incoming lists transfers before the block asked for")
	}
	n := 0
	for t, err := range rail.Transfers(s.r.Incoming(s.Context(), rail.Span{From: got[1].Block, To: got[1].Block})) {
		if n++; err != nil || t.Tx != got[1].Tx {
			s.Errorf("Incoming of one block lists %+v, %v, want %+v", t, err, got[1])
		}
	}
	if n != 1 {
		s.Errorf("Incoming of one block lists %d transfers, want 1", n)
	}
	s.h.Finalize()
	n = 0
	for span := (rail.Span{To: got[2].Block}); !span.Read(); { // each piece by another process
		before := span
		for p, err := range s.h.Restart().Incoming(s.Context(), span) {
			if err != nil {
				s.Fatalf("Incoming of %+v: %v", span, err)
			}
			n, span = n+len(p.Transfers), p.Rest
			break
		}
		if span == before {
			s.Fatalf("Incoming of %+v does not advance", span)
		}
	}
	if n != len(xs) {
		s.Errorf("Incoming piece by piece lists %d transfers, want %d", n, len(xs))
	}
	var short error
	for _, err := range rail.Transfers(s.r.Incoming(s.Context(), rail.Span{To: got[2].Block + 1_000_000})) {
		short = err
	}
	if short == nil {
		s.Error("Incoming of blocks that there are not is no error")
	}
}
