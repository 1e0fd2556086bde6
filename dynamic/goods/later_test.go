package goods

import (
	"errors"
	"slices"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
)

// A store that visits nothing sells no visits: a buyer is told so before terms are made, and where
// an order for one is claimed all the same.
func TestVisitsAreAwayWhereNothingIsVisited(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	good := content.Good{ID: "phantom_check", Kind: content.KindPhantom}
	inputs := map[string]string{"url": door}
	for name, ask := range map[string]func(ledger.Tx) error{
		"listed":    func(tx ledger.Tx) error { return phantom.Available(s.m, tx, good, nil) },
		"asked for": func(tx ledger.Tx) error { return phantom.Available(s.m, tx, good, inputs) },
		"claimed": func(tx ledger.Tx) error {
			return phantom.Reserve(s.m, tx, &Order{ID: "a", Good: good, Inputs: inputs})
		},
	} {
		err := s.in(ask)
		if away, is := errors.AsType[*Away](err); !is || away.Item != good.ID {
			t.Errorf("%s: %v, want that it is away", name, err)
		}
	}
}

// watched is who watches: which terms were dropped.
type watched struct{ dropped []string }

func (*watched) Want(ledger.Tx, Watch) error { return nil }
func (w *watched) Drop(_ ledger.Tx, order string) error {
	w.dropped = append(w.dropped, order)
	return nil
}

// A term that comes to nothing is dropped where it was promised, and only there. Its place at the
// host is free again in any case, by a store that watches nothing any more too.
func TestATermThatComesToNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		promised string // the order's public id
		watches  bool   // still, when it is given up
		dropped  []string
	}{
		"before it was promised":                 {"", true, nil},
		"after it was promised":                  {"order_1", true, []string{"order_1"}},
		"promised, where nothing is watched now": {"order_1", false, nil},
		"neither":                                {"", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := newStand(t), new(watched)
			s.m.Watches = w
			order := func(id string) *Order {
				return &Order{ID: id, Good: content.Good{ID: "conformance_watch", Kind: content.KindDays},
					Inputs: map[string]string{"url": door}}
			}
			claim := func(o *Order) error {
				return s.in(func(tx ledger.Tx) error { return dailyWatch.Reserve(s.m, tx, o) })
			}
			first := order("0")
			if err := claim(first); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"1", "2", "3"} { // as many as a host may be under
				if err := claim(order(id)); err != nil {
					t.Fatal(err)
				}
			}
			refusedAs(t, claim(order("4")), CodeTargetHeld)
			if first.Artifact = c.promised; !c.watches {
				s.m.Watches = nil
			}
			if err := s.in(func(tx ledger.Tx) error {
				w.dropped = nil // a transaction may run more than once
				return dailyWatch.Release(s.m, tx, first)
			}); err != nil || !slices.Equal(w.dropped, c.dropped) {
				t.Errorf("dropped %q, %v; want %q", w.dropped, err, c.dropped)
			}
			s.m.Watches = w
			if err := claim(order("4")); err != nil {
				t.Errorf("its place is not free: %v", err)
			}
		})
	}
}
