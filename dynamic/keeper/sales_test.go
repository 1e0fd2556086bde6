package keeper

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// What was sold is counted in the week of its payment's block, also over the end of a year, and
// money that bought nothing is no sale.
func TestSalesByWeek(t *testing.T) {
	t.Parallel()
	if _, err := loaded(); err != nil { // outside of the bubble
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		// 2026-12-31 and 2027-01-02 are of one ISO week, 2026-W53.
		time.Sleep(time.Until(time.Date(2027, 1, 5, 12, 0, 0, 0, time.UTC)))
		w := newWorld(t)
		tipped := w.sold("jar_of_tuesday", till.Delivered, 8_000_000, time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC))
		tipped.Tip = 4_000_000
		w.save(tipped)
		w.sold("hello", till.Delivered, 500_000, time.Date(2027, 1, 2, 1, 0, 0, 0, time.UTC))
		w.sold("hello", till.Promised, 500_000, time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC))
		w.sold("hello", till.RefundOwed, 500_000, time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC))
		w.sold("hello", till.Reversed, 500_000, time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC))
		w.sold("hello", till.Delivered, 500_000, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) // before
		q := NewQuotes(w.db)
		for range 5 {
			q.Add("hello")
		}
		q.Add("pet_rock")
		if err := q.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := w.desk.Sales(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range s.Weeks {
			got = append(got, w.Week+" "+w.USDC)
		}
		if want := []string{"2026-W52 0", "2026-W53 8.5", "2027-W01 0.5"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if s.Total.Purchases != 3 || s.Total.Atomic != 9_000_000 || s.Total.Tips != 4_000_000 || s.Total.Quoted != 6 ||
			len(s.Goods) != 3 || s.Goods[0].Name != "jar_of_tuesday" || s.Goods[1].Quoted != 5 ||
			s.Networks[0].Name != base || s.Protocols[0].Name != "x402" || len(s.Weeks[2].Goods) != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// What could not be written down is counted later, and what may have been is not counted twice.
func TestQuotesAreCountedOnce(t *testing.T) {
	t.Parallel()
	var fail error
	db := ledger.NewMem(ledger.MemOptions{Calm: true, Fault: func(op string) (bool, error) {
		if op == "commit" && fail != nil {
			return errors.Is(fail, ledger.ErrUnknown), fail
		}
		return false, nil
	}})
	q := NewQuotes(db)
	for _, f := range []error{errAway, ledger.ErrUnknown, nil, nil} {
		fail = f
		q.Add("hello")
		if err := q.Flush(t.Context()); !errors.Is(err, f) {
			t.Fatal(err)
		}
	}
	if err := db.View(t.Context(), func(tx ledger.Tx) error {
		n, err := ledger.GetJSON[int64](tx, ledger.BudgetKey(nameQuoted, goods.ISOWeek(tx.Now()), "hello"))
		if n != 4 {
			t.Errorf("%d, want 4", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A purchase is found by everything that a keeper may have of it.
func TestFind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.sold("hello", till.Delivered, 500_000, began)
	o := w.order("Asked.", time.Now())
	for q, want := range map[string]string{p.ID: p.ID, p.CertID: p.ID, strconv.FormatInt(p.Number, 10): p.ID,
		p.Proof.Tx: p.ID, o.Artifact: o.ID,
		"pur_aaaaaaaaaaaaaaaaaaaa": "", "99": "", "debt_aaaaaaaaaaaaaaaaaaaa": ""} {
		f, err := w.desk.Find(t.Context(), q)
		if err != nil || len(f.Purchases) != min(len(want), 1) || want != "" && f.Purchases[0].PurchaseID != want {
			t.Errorf("by %s: %+v, %v; want %s", q, f, err, want)
		}
	}
	for _, wallet := range []string{ada, "0x00000000000000000000000000000000000000AD", strings.ToLower(ada)} {
		if f, err := w.desk.Find(t.Context(), wallet); err != nil || len(f.Purchases) != 2 {
			t.Errorf("by %s: %+v, %v", wallet, f, err)
		}
	}
	for _, q := range []string{"", "hello", "pur_", "0x12", "'; drop", "pur_aaaaaaaaaaaaaaaaaaaa\n"} {
		if _, err := w.desk.Find(t.Context(), q); !errors.Is(err, ErrQuery) {
			t.Errorf("by %q: %v", q, err)
		}
	}
}
