package goods_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// orderOf is an order of a good on the shelf, by payer.
func (w *world) orderOf(item, id, payer string, inputs map[string]string) (goods.Kind, *goods.Order) {
	w.t.Helper()
	g, ok := w.makers[0].Pools.(*content.Site).Good(item)
	kind, err := goods.Of(goods.Kinds(goods.Reader{}, nil), g)
	if !ok || err != nil {
		w.t.Fatalf("no %s on the shelf: %v", item, err)
	}
	return kind, &goods.Order{ID: id, Good: g, Payer: payer, Paid: g.Price, Inputs: inputs,
		At: w.now, Until: w.now.Add(time.Minute)}
}

// What is given is told apart by what it is, and what is merely held is not given.
func TestGivenNamesWhatWasGiven(t *testing.T) {
	w := newWorld(t, 1, map[string]int{"secrets": 3})
	secret, told := w.orderOf("a_secret", "told", "p", nil)
	_, held := w.orderOf("a_secret", "held", "p", nil)
	word, retired := w.orderOf("retired_word", "retired", "p",
		map[string]string{"detail": "Synergy", "folded": "synergy"})
	var got []goods.Gift
	err := w.update(func(tx ledger.Tx) (err error) {
		for _, take := range []func() error{
			func() error { return secret.Take(w.makers[0], tx, told) },
			func() error { return secret.Take(w.makers[0], tx, held) },
			func() error { return word.Take(w.makers[0], tx, retired) },
			func() error { return secret.Settle(w.makers[0], tx, told, nil) },
			func() error { return word.Settle(w.makers[0], tx, retired, nil) },
		} {
			if err := take(); err != nil {
				return err
			}
		}
		got, err = goods.Given(tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]goods.Gift{{Pool: told.Good.Pool, Entry: told.Entry}, {Word: "synergy"}}, got); diff != "" {
		t.Errorf("given (-want +got):\n%s", diff)
	}
	// A mark of a restore leaves a hold as it is, and marks what has none.
	err = w.update(func(tx ledger.Tx) error {
		digests := w.makers[0].Pools.Pool(told.Good.Pool).Digests()
		for _, d := range digests {
			if err := goods.MarkTaken(tx, told.Good.Pool, d); err != nil {
				return err
			}
		}
		if left, err := w.makers[0].Left(tx, told.Good); err != nil || left != 0 {
			t.Errorf("%d are left, %v", left, err)
		}
		if err := secret.Release(w.makers[0], tx, held); err != nil {
			return err
		}
		left, err := w.makers[0].Left(tx, told.Good)
		if left != 1 {
			t.Errorf("%d are left after a hold ended, want the one that was marked while it was held", left)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A payer with the whole pool under way is given any but the last, and nothing at all of a pool of
// one.
func TestNeverTheLastAgain(t *testing.T) {
	for n := 1; n <= 3; n++ {
		w := newWorld(t, uint64(n), map[string]int{"grudges": n})
		for i := range 12 {
			kind, o := w.orderOf("grudge", fmt.Sprint("order-", i), "payer", nil)
			last := ""
			if i > 0 {
				last = w.last["grudge"]
			}
			err := w.update(func(tx ledger.Tx) error { return kind.Take(w.makers[0], tx, o) })
			if n == 1 && i > 0 {
				if err == nil {
					t.Fatal("the same again, of a pool of one")
				}
				continue
			}
			if err != nil {
				t.Fatalf("order %d of a pool of %d: %v", i, n, err)
			}
			if o.Entry == last {
				t.Errorf("order %d of a pool of %d is the last again", i, n)
			}
			if i == 0 { // the others stay under way
				if err := w.update(func(tx ledger.Tx) error {
					return kind.Complete(w.makers[0], tx, o,
						nil)
				}); err != nil {
					t.Fatal(err)
				}
				w.last["grudge"] = o.Entry
			}
		}
	}
}

// An entry that left the pool after it was reserved is not replaced in silence.
func TestAReservedEntryThatIsGone(t *testing.T) {
	w := newWorld(t, 1, nil)
	kind, o := w.orderOf("a_secret", "order", "payer", nil)
	o.Entry = "0000000000000000000000000000000000000000000000000000000000000000"
	if m, err := kind.Make(t.Context(), w.makers[0], o); err == nil {
		t.Errorf("made %s", m.Deliverable)
	}
}

// Patrons alone have the nicer badge.
func TestNicerBadge(t *testing.T) {
	for _, k := range goods.Kinds(goods.Reader{}, nil) {
		if goods.NicerBadge(k.Name) != (k.Name == content.KindPatronage) {
			t.Errorf("%s: %v", k.Name, goods.NicerBadge(k.Name))
		}
	}
}

// The schema describes each member that a deliverable has, once, in an order that is written down.
func TestTheSchemaHasEveryMember(t *testing.T) {
	type further struct {
		Zebra string `json:"zebra"`
		Aloe  string `json:"aloe"`
		Text  string `json:"text"`
	}
	s := goods.Schema(append(goods.Kinds(goods.Reader{}, nil), goods.Kind{Name: "further", Delivers: further{}}))
	if len(s.PropertyOrder) != len(s.Properties) || s.PropertyOrder[0] != "kind" || s.PropertyOrder[1] != "text" {
		t.Errorf("%d in order of %d: %v", len(s.PropertyOrder), len(s.Properties), s.PropertyOrder)
	}
	for _, name := range s.PropertyOrder {
		if s.Properties[name] == nil {
			t.Errorf("%s is in order and not described", name)
		}
	}
	if a, z := slices.Index(s.PropertyOrder, "aloe"), slices.Index(s.PropertyOrder, "zebra"); a < 0 || z != a+1 ||
		z != len(s.PropertyOrder)-1 {
		t.Errorf("further members stand in %v", s.PropertyOrder)
	}
	if s.Properties["digest"] == nil || s.Properties["salt"] == nil {
		t.Error("the salted digest is not described")
	}
}
