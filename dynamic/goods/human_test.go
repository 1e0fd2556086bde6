package goods_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// desk is the keeper's goods over a ledger whose clock the test moves.
type desk struct {
	t    *testing.T
	db   ledger.DB
	good content.Good
	kind goods.Kind
	n    int
}

func newDesk(t *testing.T, item string) *desk {
	t.Helper()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, db: ledger.NewMem(ledger.MemOptions{})}
	var ok bool
	if d.good, ok = site.Good(item); !ok {
		t.Fatalf("no %s on the shelf", item)
	}
	if d.kind, err = goods.Of(goods.Kinds(goods.Reader{}, nil), d.good); err != nil {
		t.Fatal(err)
	}
	return d
}

// take claims a place, or says why there is none.
func (d *desk) take() (*goods.Order, *goods.SoldOut) {
	d.t.Helper()
	d.n++
	var o *goods.Order
	err := d.db.Update(d.t.Context(), func(tx ledger.Tx) error {
		o = &goods.Order{ID: fmt.Sprintf("order-%d", d.n), Good: d.good, At: tx.Now(),
			Until:  tx.Now().Add(2 * time.Minute),
			Inputs: map[string]string{"detail": "Tea?"}}
		return d.kind.Take(goods.Maker{}, tx, o)
	})
	gone, is := errors.AsType[*goods.SoldOut](err)
	if err != nil && !is {
		d.t.Fatal(err)
	}
	if is {
		// Whoever asks before paying hears the same.
		asked := d.db.View(d.t.Context(), func(tx ledger.Tx) error {
			return d.kind.Available(goods.Maker{}, tx, d.good, nil)
		})
		if told, ok := errors.AsType[*goods.SoldOut](asked); !ok || *told != *gone {
			d.t.Errorf("asked: %v, claimed: %+v", asked, gone)
		}
		return nil, gone
	}
	return o, nil
}

func (d *desk) update(f func(ledger.Tx) error) {
	d.t.Helper()
	if err := d.db.Update(d.t.Context(), f); err != nil {
		d.t.Fatal(err)
	}
}

// pay settles an order.
func (d *desk) pay(o *goods.Order) {
	d.t.Helper()
	made, err := d.kind.Make(d.t.Context(), goods.Maker{}, o)
	if err != nil {
		d.t.Fatal(err)
	}
	o.Settled = time.Now()
	d.update(func(tx ledger.Tx) error { return d.kind.Settle(goods.Maker{}, tx, o, made) })
}

func (d *desk) release(o *goods.Order) {
	d.t.Helper()
	d.update(func(tx ledger.Tx) error { return d.kind.Release(goods.Maker{}, tx, o) })
}

// The week is ISO's, in UTC, by the ledger's clock: over the year's end too, where the 53rd week of
// 2026 has days of both years.
func TestPlacesReopenWithTheISOWeek(t *testing.T) {
	for _, c := range []struct{ at, week, reopens string }{
		{"2026-12-27T23:59:59Z", "2026-W52", "2026-12-28T00:00:00Z"},
		{"2026-12-28T00:00:00Z", "2026-W53", "2027-01-04T00:00:00Z"},
		{"2026-12-31T23:59:59Z", "2026-W53", "2027-01-04T00:00:00Z"},
		{"2027-01-03T23:59:59Z", "2026-W53", "2027-01-04T00:00:00Z"},
		{"2027-01-04T00:00:00Z", "2027-W01", "2027-01-11T00:00:00Z"},
		{"2024-12-30T12:00:00Z", "2025-W01", "2025-01-06T00:00:00Z"},
		{"2028-02-29T12:00:00Z", "2028-W09", "2028-03-06T00:00:00Z"},
	} {
		synctest.Test(t, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(at)) // the bubble's clock
			d := newDesk(t, "human_witness")
			for range 2 {
				o, gone := d.take()
				if gone != nil {
					t.Fatalf("%s: %+v", c.at, gone)
				}
				d.pay(o)
			}
			_, gone := d.take()
			if gone == nil || !gone.HeldUntil.IsZero() || gone.Reopens.Format(time.RFC3339) != c.reopens ||
				goods.ISOWeek(at) != c.week {
				t.Fatalf("%s: %+v, week %s", c.at, gone, goods.ISOWeek(at))
			}
			time.Sleep(time.Until(gone.Reopens) - time.Second)
			if _, gone := d.take(); gone == nil {
				t.Errorf("%s: a third place in one week", c.at)
			}
			time.Sleep(time.Second)
			if _, gone := d.take(); gone != nil {
				t.Errorf("%s: nothing when it reopens: %+v", c.at, gone)
			}
		})
	}
}

// What is only held is told as held, and comes back in its own week: a place of last week whose
// payment fails gives nothing to this one.
func TestAPlaceComesBackInItsWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 3, 23, 59, 0, 0, time.UTC)))
		d := newDesk(t, "human_witness")
		first, _ := d.take()
		second, _ := d.take()
		_, gone := d.take()
		if gone == nil || !gone.HeldUntil.IsZero() { // the holds would end next week: it opens sooner
			t.Fatalf("a minute before the week ends: %+v", gone)
		}
		d.release(first)
		third, gone := d.take()
		if gone != nil {
			t.Fatal("a place that was given back is gone")
		}
		time.Sleep(time.Minute)
		fourth, gone := d.take()
		if gone != nil {
			t.Fatalf("in the new week: %+v", gone)
		}
		fifth, _ := d.take()
		if _, gone = d.take(); gone == nil || !gone.HeldUntil.Equal(fourth.Until.Truncate(time.Second)) {
			t.Errorf("all are held: %+v, want until %s", gone, fourth.Until)
		}
		d.release(second)
		d.release(third)
		d.release(third) // again, by a hand that comes late
		if _, gone = d.take(); gone == nil {
			t.Error("a place of last week was given in this one")
		}
		d.pay(fourth)
		d.pay(fifth)
		if _, gone = d.take(); gone == nil || !gone.HeldUntil.IsZero() || gone.Reopens.IsZero() {
			t.Errorf("all are paid for: %+v", gone)
		}
	})
}

// In any interleaving of claims, payments and failures no week gives more places than it has, and
// the count of what is left is right.
func TestNoWeekGivesMoreThanItHas(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 14))
			d := newDesk(t, "quick_judgment")
			open, taken := []*goods.Order{}, map[string]int{}
			for range 300 {
				time.Sleep(time.Duration(rnd.IntN(6*3600)) * time.Second)
				week := goods.ISOWeek(time.Now())
				switch i := rnd.IntN(max(len(open), 1)); {
				case rnd.IntN(2) == 0 || len(open) == 0:
					o, gone := d.take()
					if (gone != nil) != (taken[week] == d.good.WeeklyInventory) {
						t.Fatalf("seed %d, %s: %d taken, %+v", seed, week, taken[week], gone)
					}
					if gone == nil {
						o.Word = week // of its claim, for the test
						open = append(open, o)
						taken[week]++
					}
				case rnd.IntN(2) == 0:
					d.pay(open[i])
					open = append(open[:i], open[i+1:]...)
				default:
					d.release(open[i])
					taken[open[i].Word]--
					open = append(open[:i], open[i+1:]...)
				}
				if err := d.db.View(t.Context(), func(tx ledger.Tx) error {
					left, err := d.kind.Left(goods.Maker{}, tx, d.good)
					if want := d.good.WeeklyInventory - taken[week]; left != want {
						t.Fatalf("seed %d, %s: %d left, want %d", seed, week, left, want)
					}
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
