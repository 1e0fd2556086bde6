package solana_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// storm is a cluster on which everything happens that may, and a node whose every answer may be
// lost or late.
type storm struct {
	*harness
	rnd   *rand.Rand
	luck  *rand.Rand // of the node's answers; guarded by the cluster's mu
	sales []*sale
	over  map[int]rail.State // what was called final
}

// now is the time that the chain thinks it is.
func (s *storm) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.shift)
}

// bad makes answers get lost, fail, or come from a node that is some blocks behind.
func (s *storm) bad(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lie = nil; !on {
		return
	}
	s.lie = func(method string, params []json.RawMessage, honest any) (any, *fault) {
		switch s.luck.IntN(8) {
		case 0:
			return nil, &fault{} // after the node has done it
		case 1:
			return nil, &fault{-32603, "Internal error"}
		case 2:
			if method == "sendTransaction" {
				break
			}
			all := s.blocks
			s.blocks = all[:len(all)-1-s.luck.IntN(3)]
			defer func() { s.blocks = all }()
			late, f := s.answer(method, params)
			return late, f
		}
		f, _ := honest.(*fault)
		return honest, f
	}
}

// step lets one thing happen.
func (s *storm) step() {
	switch s.rnd.IntN(16) {
	case 0, 1:
		s.sell()
	case 2, 3:
		s.Seal()
	case 4:
		s.SealEmpty()
	case 5:
		s.Drop()
	case 6:
		s.reorg(1 + s.rnd.IntN(5))
	case 7:
		s.pass(time.Duration(s.rnd.IntN(20)) * time.Second)
	case 8:
		s.rail = newRail(s.t, s.cfg) // the process dies
	case 9, 10:
		s.edge()
	default:
		if len(s.sales) > 0 {
			s.attend(s.rnd.IntN(len(s.sales)))
		}
	}
}

// edge goes to the last blocks in which a sale can land, looks at it there, and perhaps leaves them
// again.
func (s *storm) edge() {
	if len(s.sales) == 0 {
		return
	}
	i := s.rnd.IntN(len(s.sales))
	x := s.sales[i]
	s.mu.Lock()
	left := int(x.signed[0].Sequence) - len(s.blocks) - s.rnd.IntN(4)
	s.mu.Unlock()
	if left <= 0 {
		return
	}
	s.Drop()
	s.Pass(time.Duration(left) * slotTime)
	for range 8 {
		switch s.rnd.IntN(4) {
		case 0:
			s.SealEmpty()
		case 1:
			_ = s.rail.Send(s.t.Context(), x.signed...)
			s.Seal()
		case 2:
			s.attend(i)
		case 3:
			s.reorg(1 + s.rnd.IntN(3))
		}
	}
}

// sell signs for another payment, if the node lets it.
func (s *storm) sell() {
	if len(s.sales) == 12 {
		return
	}
	want := s.rail.Requirement(price)
	p := s.pay(price)
	if s.rnd.IntN(4) == 0 {
		p.buyer = person("poor") // whose money comes and goes
		s.Fund(int64(s.rnd.IntN(2)) * price)
	}
	x := &sale{harness: s.harness}
	var err error
	if x.p, err = s.rail.Parse(payload(p.wire(s.t)), want); err != nil {
		s.t.Fatal(err)
	}
	if x.seen, err = s.rail.Verify(s.t.Context(), x.p, want, s.now()); err != nil {
		return
	}
	d, err := s.rail.Draft(s.t.Context(), []*rail.Payment{x.p})
	if err != nil {
		return
	}
	signed, err := d.Sign(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	x.signed = []rail.Signed{signed}
	x.signed[0].At = s.now()
	s.sales = append(s.sales, x)
	_ = s.rail.Send(s.t.Context(), signed)
}

// attend looks at a sale and does what is advised, as a driver does.
func (s *storm) attend(i int) {
	x := s.sales[i]
	f, err := s.rail.Status(s.t.Context(), x.p, x.signed, x.seen, s.now())
	if err != nil {
		return
	}
	// A node that is behind may call it waiting again, of which nobody takes notice.
	if was, over := s.over[i]; over && f.State != was && (f.Final || f.State != rail.Waiting) {
		s.t.Errorf("sale %d is %s after it was %s for good", i, f.State, was)
	}
	if f.Final {
		s.over[i] = f.State
	}
	if f.Advice == rail.Resend {
		_ = s.rail.Send(s.t.Context(), x.signed...)
	}
}

// Whatever a node loses or says late, and however often the chain or the process is torn down: what
// is called paid for good is on the chain, what is called dead for good never gets there, and both
// come to an end.
func TestStorm(t *testing.T) {
	var paid, dead int // over all seeds, so that neither is for want of the other
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &storm{harness: open(t), rnd: rand.New(rand.NewPCG(seed, 1)), luck: rand.New(rand.NewPCG(seed, 2)),
				over: map[int]rail.State{}}
			for range 150 {
				s.bad(s.rnd.IntN(2) == 0)
				s.step()
			}
			s.bad(false)
			for range 4 { // a calm, in which what can land does
				for i := range s.sales {
					s.attend(i)
				}
				s.Seal()
			}
			s.Pass(3 * time.Minute)
			here := 0
			for i, x := range s.sales {
				s.attend(i)
				_, r := s.place(x.signed[0].ID)
				landed := r != nil && r.err == nil
				if want := map[bool]rail.State{true: rail.Paid, false: rail.Dead}[landed]; s.over[i] != want {
					t.Errorf("sale %d is %q for good, and on the chain: %v", i, s.over[i], landed)
				}
				if landed {
					here++
				}
			}
			if got := s.Balance(); got != int64(here)*price {
				t.Errorf("payTo has %d of %d payments", got, here)
			}
			paid, dead = paid+here, dead+len(s.sales)-here
		})
	}
	if t.Logf("%d paid, %d dead", paid, dead); min(paid, dead) < 40 {
		t.Errorf("%d paid, %d dead: too few of one to show anything", paid, dead)
	}
}
