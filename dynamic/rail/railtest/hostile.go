package railtest

import (
	"errors"

	"agentstore/dynamic/rail"
)

// hostile shows what a payer with code can burn: one settlement of capped gas, whose revert is seen, has a cost and is
// shown to be the payer's doing. What would take more gas is refused before, as is who is found out: nodes differ in the
// block number that a simulation sees.
func hostile(s *suite) {
	for _, h := range Hostile {
		t := s.terms(price)
		t.Payer = h.Payer
		if s.h.Sign(t) == nil {
			continue
		}
		if h.Payer == Weathercock {
			s.h.Turn(h.Payer)
		}
		x := s.sign(t)
		mark, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(price), s.now())
		if _, ok := errors.AsType[*rail.Refusal](err); ok && h.Payer != Turncoat {
			s.Logf("%s: refused before anything is claimed: %v", h.Name, err)
			continue
		}
		if err != nil {
			s.Fatalf("%s: Verify: %v", h.Name, err)
		}
		if x.mark = mark; mark.Code == "" || !mark.Local {
			s.Errorf("%s: Verify sees no code: %+v", h.Name, mark)
		}
		d, err := s.r.Draft(s.Context(), []*rail.Payment{x.p})
		if err != nil {
			s.Fatalf("%s: Draft: %v", h.Name, err)
		}
		if p := d.Price(); p.Gas > h.Gas || p.Most < p.Cost || p.Cost <= 0 || p.Code != mark.Code {
			s.Errorf("%s: the draft's price is %+v, want at most %d gas", h.Name, p, h.Gas)
		}
		s.fix(x, d)
		if h.Payer == Switch {
			s.h.Turn(h.Payer)
		}
		s.send(x)
		s.h.Seal()
		f := s.until(x, "a revert", func(f rail.Finding) bool { return len(f.Reverts) > 0 })
		r := f.Reverts[0]
		if f.State != rail.Waiting || len(f.Reverts) != 1 || r.Tx != x.signed[0].ID || r.Gas == 0 || r.Gas > h.Gas || r.Cost <= 0 {
			s.Errorf("%s: Look = %+v, want one revert of at most %d gas", h.Name, f, h.Gas)
		}
		c, err := s.r.Explain(s.Context(), x.p, r)
		if err != nil || !c.Payer {
			s.Errorf("%s: Explain = %+v, %v; want the payer's doing", h.Name, c, err)
		}
		s.Logf("%s: a settlement burns %d gas", h.Name, r.Gas)
		s.earned(0)
	}
}

// costs shows what a network says of settling on it.
func costs(s *suite) {
	st, err := s.r.Standing(s.Context())
	if err != nil || st.Out != "" || !st.Priced || st.Cost <= 0 || st.Head.IsZero() {
		s.Fatalf("Standing = %+v, %v", st, err)
	}
	x := s.claim(s.terms(price))
	d, err := s.r.Draft(s.Context(), []*rail.Payment{x.p})
	if err != nil {
		s.Fatal(err)
	}
	if p := d.Price(); p.Gas > MostGas || p.Cost <= 0 || p.Most < p.Cost || p.Code != "" {
		s.Errorf("a plain draft's price is %+v", p)
	}
	// A plain payer whose money is gone is shown to be the cause of a revert.
	poor := s.terms(price)
	poor.Payer = Poor
	p := s.sign(poor)
	if c, err := s.r.Explain(s.Context(), p.p, rail.Revert{Tx: "0x01", Block: s.head()}); err != nil || !c.Payer {
		s.Errorf("Explain of a poor payer = %+v, %v", c, err)
	}
	if c, err := s.r.Explain(s.Context(), x.p, rail.Revert{Tx: "0x01", Block: s.head()}); err != nil || c.Payer || c.Reason == "" {
		s.Errorf("Explain of a payer who did nothing = %+v, %v", c, err)
	}
}

func (s *suite) head() uint64 {
	s.Helper()
	h, err := s.r.Head(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return h.Block
}
