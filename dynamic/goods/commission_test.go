package goods

import (
	"errors"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// A commission is held by one payment at a time, comes back when that fails or the chain takes it
// back, and never by another's doing.
func TestACommissionIsTakenOnce(t *testing.T) {
	const request = "req_abcdefghij2345672345"
	db := ledger.NewMem(ledger.MemOptions{})
	k := Commission(request)
	in := func(work func(tx ledger.Tx) error) error { return db.Update(t.Context(), work) }
	order := func(id string) *Order {
		return &Order{ID: id, Good: CommissionGood(request), Until: time.Now().Add(time.Minute), Settled: time.Now()}
	}
	reserve := func(id string) error {
		return in(func(tx ledger.Tx) error { return k.Reserve(Maker{}, tx, order(id)) })
	}
	if err := reserve("a"); !errors.Is(err, ErrNoRequest) {
		t.Errorf("of nobody's request: %v", err)
	}
	for _, q := range []Quote{{}, {Declined: true}} {
		if err := in(func(tx ledger.Tx) error { return q.Set(tx, request) }); err != nil {
			t.Fatal(err)
		}
		if n, ok := errors.AsType[*NotQuoted](reserve("a")); !ok || n.Declined != q.Declined {
			t.Errorf("%+v: %v", q, n)
		}
	}
	if err := in(func(tx ledger.Tx) error { return Quote{Amount: 1e6}.Set(tx, request) }); err != nil {
		t.Fatal(err)
	}
	gone := func(id string, held bool) {
		t.Helper()
		e, ok := errors.AsType[*SoldOut](reserve(id))
		if !ok || e.HeldUntil.IsZero() == held {
			t.Errorf("%s: %+v", id, e)
		}
	}
	give := func(f func(Maker, ledger.Tx, *Order) error, id string) {
		t.Helper()
		if err := in(func(tx ledger.Tx) error { return f(Maker{}, tx, order(id)) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, back := range []func(Maker, ledger.Tx, *Order) error{k.Release, k.Undo} {
		if err := reserve("a"); err != nil {
			t.Fatal(err)
		}
		gone("b", true)
		give(back, "b") // not b's to give
		gone("b", true)
		o := order("a")
		made, err := k.Make(t.Context(), Maker{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := in(func(tx ledger.Tx) error { return k.Settle(Maker{}, tx, o, made) }); err != nil {
			t.Fatal(err)
		}
		gone("b", false)
		give(back, "a")
	}
	if err := reserve("b"); err != nil {
		t.Errorf("what came back is not to be had: %v", err)
	}
}
