package channels_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

const network = "eip155:8453"

var limits = channels.Limits{Channel: 500, Day: 700, Gas: 100}

// bid is a voucher of a channel for max in all, of which the purchase costs amount.
func bid(id string, max, amount int64, seen rail.ChannelState) channels.Bid {
	c := rail.Channel{ID: id, Payer: "payer", Signer: "payer", Delay: 80}
	return channels.Bid{Network: network, Amount: amount, Purchase: fmt.Sprint(id, "/", max), Print: fmt.Sprint(amount),
		Seen: seen, Form: rail.FormVoucher, Channel: c,
		Voucher: rail.Voucher{Max: max, Signature: fmt.Append(nil, "by payer ", max)}}
}

// state is a channel as a block has it.
func state(id string, block uint64, balance, claimed int64) rail.ChannelState {
	return rail.ChannelState{ID: id, Block: block, Time: time.Now(), Balance: balance, Claimed: claimed}
}

// The claim of a voucher is the first that claimed as much, of this channel alone.
func TestClaimOf(t *testing.T) {
	err := ledger.NewMem(ledger.MemOptions{}).Update(t.Context(), func(tx ledger.Tx) error {
		err := errors.Join(channels.Claimed(tx, network, "a", 100, "one"),
			channels.Claimed(tx, network, "a", 300, "two"),
			channels.Claimed(tx, network, "b", 900, "other"))
		for sum, want := range map[int64]string{1: "one", 100: "one", 101: "two", 300: "two", 301: ""} {
			if got, readErr := channels.ClaimOf(tx, network, "a", sum); got != want || readErr != nil {
				t.Errorf("the claim of %d is %q, want %q; %v", sum, got, want, readErr)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// steps run in order over one ledger. Each says what it returns: a type of error or an error, nil
// for none.
func TestSteps(t *testing.T) {
	a := func(block uint64, balance, claimed int64) rail.ChannelState {
		return state("a", block, balance, claimed)
	}
	delegated := bid("a", 100, 100, a(1, 1000, 0))
	delegated.Channel.Signer = "another"
	deposited := delegated
	deposited.Deposit = &rail.Payment{Amount: bigInt(400)}
	coded := bid("a", 100, 100, a(1, 1000, 0))
	coded.Coded = true
	forged := bid("a", 100, 100, a(1, 1000, 0))
	forged.Voucher.Signature, forged.Print = []byte("other"), "other"
	withdrawing := a(2, 1000, 0)
	withdrawing.Withdrawing = 950
	reserve := func(b channels.Bid) func(ledger.Tx) error {
		return func(tx ledger.Tx) error { _, err := limits.Reserve(tx, b); return err }
	}
	buy := func(b channels.Bid) func(ledger.Tx) error {
		return func(tx ledger.Tx) error {
			_, err := limits.Reserve(tx, b)
			if err == nil {
				_, err = channels.Take(tx, network, "a", b.Purchase, 3)
			}
			return err
		}
	}
	observe := func(s rail.ChannelState, final bool) func(ledger.Tx) error {
		return func(tx ledger.Tx) error { return channels.Observe(tx, network, s, final) }
	}
	refund := func(max, amount, least int64) func(ledger.Tx) error {
		return func(tx ledger.Tx) error {
			_, err := channels.BeginRefund(tx, network, &rail.ChannelPayment{Channel: rail.Channel{ID: "a"},
				Voucher: rail.Voucher{Max: max}, Refund: amount}, least)
			return err
		}
	}
	release := func(purchase string) func(ledger.Tx) error {
		return func(tx ledger.Tx) error { return channels.Release(tx, network, "a", purchase, 0) }
	}
	doubt := func(tx ledger.Tx) error { return channels.Doubt(tx, network) }
	show := func(tx ledger.Tx) error { return channels.Show(tx, network, "a", 100) }
	spend := func(n int64) func(ledger.Tx) error {
		return func(tx ledger.Tx) error { return limits.Spend(tx, network, "a", n) }
	}
	raise := func(max int64) func(ledger.Tx) error {
		return func(tx ledger.Tx) error {
			b := bid("a", max, 0, rail.ChannelState{})
			return channels.Raise(tx, network, "a", &b.Channel, b.Voucher)
		}
	}
	take := func(purchase string) func(ledger.Tx) error {
		return func(tx ledger.Tx) error { _, err := channels.Take(tx, network, "a", purchase, 0); return err }
	}
	charges := func(charged, believed int64) func(ledger.Tx) error {
		return func(tx ledger.Tx) error {
			r, err := channels.Read(tx, network, "a")
			if err == nil && (r.Charged != charged || r.Believed != believed || r.Last.Max != charged) {
				err = fmt.Errorf("charged %d, believed %d by %+v", r.Charged, r.Believed, r.Last)
			}
			return err
		}
	}
	first, final := buy(bid("a", 100, 100, a(1, 1000, 0))), observe(a(1, 1000, 0), true)
	type step struct {
		do   func(ledger.Tx) error
		want error
	}
	for name, steps := range map[string][]step{
		"a channel that was never read": {
			{reserve(bid("a", 100, 100, a(0, 0, 0))), channels.ErrExceeds},
			{reserve(bid("a", 100, 100, rail.ChannelState{})), channels.ErrUnknown},
		},
		"in step": {
			{first, nil}, {buy(bid("a", 150, 50, a(2, 1000, 0))), nil},
		},
		"the answer again": {
			{first, nil}, {first, &channels.Repeat{Purchase: "a/100", Again: true}},
		},
		"the same for another order": {
			{first, nil}, {reserve(forged), &channels.Mismatch{}},
		},
		"shown to everybody": {
			{first, nil}, {show, nil}, {first, &channels.Repeat{Purchase: "a/100"}},
		},
		"twice at once": {
			{reserve(bid("a", 100, 100, a(1, 1000, 0))), nil},
			{first, &channels.Repeat{Purchase: "a/100", Again: true}}, {reserve(forged), &channels.Busy{}},
		},
		"given up, and again": {
			{reserve(bid("a", 100, 100, a(1, 1000, 0))), nil}, {release("other"), nil},
			{reserve(forged), &channels.Busy{}}, {release("a/100"), nil}, {reserve(forged), nil},
		},
		"behind": {
			{first, nil}, {reserve(bid("a", 50, 50, a(2, 1000, 0))), &channels.Mismatch{}},
		},
		"ahead": {
			{first, nil}, {reserve(bid("a", 250, 50, a(2, 1000, 0))), &channels.Mismatch{}},
		},
		"below what the chain has": {
			{reserve(bid("a", 100, 100, a(1, 1000, 300))), &channels.Mismatch{}},
			{buy(bid("a", 400, 100, a(1, 1000, 300))), nil},
		},
		"unknown here, its payer knows": {
			{buy(bid("a", 400, 100, a(1, 1000, 0))), nil},
		},
		"restored, its payer knows": {
			{first, nil}, {doubt, nil},
			{reserve(bid("a", 400, 100, rail.ChannelState{})), channels.ErrUnknown},
			{buy(bid("a", 400, 100, a(4, 1000, 0))), nil},
			{reserve(bid("a", 600, 100, a(4, 1000, 0))), &channels.Mismatch{}},
		},
		"restored, taken after the backup": {
			{raise(400), nil}, {doubt, nil}, {charges(400, 400), nil}, {reserve(bid("a", 100, 100, a(4, 1000, 0))),
				&channels.Mismatch{}},
			{raise(300), nil}, {buy(bid("a", 450, 50, a(4, 1000, 0))), nil}, {charges(450, 400), nil},
		},
		"restored while a purchase was under way": {
			{reserve(bid("a", 100, 100, a(1, 1000, 0))), nil}, {raise(100), nil}, {charges(100, 100), nil},
			{take("a/100"), nil}, {charges(100, 0), nil},
		},
		"restored long before": {
			{reserve(bid("a", 100, 100, a(1, 1000, 0))), nil}, {raise(400), nil}, {take("a/100"), nil},
			{charges(400, 300), nil}, {reserve(bid("a", 450, 50, a(4, 1000, 0))), nil},
		},
		"restored, never believed down": {
			{first, nil}, {doubt, nil}, {reserve(bid("a", 50, 50, a(4, 1000, 0))), &channels.Mismatch{}},
		},
		"more than it holds": {
			{reserve(bid("a", 100, 100, a(1, 99, 0))), channels.ErrExceeds},
			{buy(bid("a", 100, 100, a(1, 100, 0))), nil},
			{reserve(bid("a", 200, 100, a(1, 100, 0))), &channels.Mismatch{}},
		},
		"while its payer withdraws": {
			{first, nil}, {observe(withdrawing, false), nil},
			{reserve(bid("a", 150, 50, rail.ChannelState{})), channels.ErrWithdrawing},
			{observe(a(3, 50, 50), false), nil}, {reserve(bid("a", 150, 50, a(4, 900, 100))), nil},
		},
		"another key": {
			{reserve(delegated), channels.ErrConsent}, {buy(deposited), nil},
			{reserve(bid("a", 200, 100, rail.ChannelState{})), nil},
		},
		"a deposit counts": {
			{buy(deposited), nil}, {observe(a(2, 0, 0), false), nil},
			{reserve(bid("a", 200, 100, rail.ChannelState{})), nil},
		},
		"a reorganised deposit": {
			{buy(deposited), nil}, {observe(a(4, 0, 0), false), nil},
			{reserve(bid("a", 200, 100, rail.ChannelState{})), &channels.Mismatch{}},
		},
		"unclaimed at most": {
			{buy(bid("a", 500, 500, a(1, 1000, 0))), nil},
			{reserve(bid("a", 501, 1, rail.ChannelState{})), &channels.Over{Limit: "channel"}},
			{observe(a(4, 1000, 500), false), nil}, {reserve(bid("a", 501, 1, rail.ChannelState{})), nil},
		},
		"under a risk at most": {
			{buy(bid("a", 500, 500, a(1, 1000, 0))), nil}, {observe(a(4, 1000, 500), false), nil},
			{reserve(bid("a", 701, 201, rail.ChannelState{})), &channels.Over{Limit: "day"}},
			{observe(a(4, 1000, 500), true), nil}, {reserve(bid("a", 701, 201, rail.ChannelState{})), nil},
		},
		"what was released is no risk": {
			{reserve(bid("a", 400, 400, a(1, 1000, 0))), nil}, {release("a/400"), nil},
			{reserve(bid("a", 400, 400, a(1, 1000, 0))), nil},
		},
		"a contract's word stays a risk": {
			{buy(coded), nil}, {observe(a(4, 1000, 100), true), nil}, {observe(a(4, 1000, 100), false), nil},
			{reserve(bid("a", 600, 500, rail.ChannelState{})), nil},
		},
		"back once a day": {
			{first, nil}, {refund(99, 0, 1), &channels.Mismatch{}}, {refund(100, 0, 901), channels.ErrNothing},
			{refund(100, 900, 900), nil}, {reserve(bid("a", 200, 100, rail.ChannelState{})), &channels.Busy{}},
			{refund(100, 0, 1), &channels.Busy{}},
			{func(tx ledger.Tx) error { return channels.EndRefund(tx, network, a(4, 100, 100), "0x1") }, nil},
			{refund(100, 0, 1), &channels.Over{Limit: "refund"}},
		},
		"gas beyond what a channel brought": {
			{spend(60), nil}, {spend(60), &channels.Over{Limit: "gas"}}, {first, nil}, {final, nil},
			{spend(100), nil}, {spend(41), &channels.Over{Limit: "gas"}},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := ledger.NewMem(ledger.MemOptions{})
			update(t, db, func(tx ledger.Tx) error { return channels.Looked(tx, network, 1, tx.Now()) })
			time.Sleep(time.Second)
			for i, s := range steps {
				err := db.Update(t.Context(), s.do)
				if !alike(err, s.want) {
					t.Errorf("%s: step %d: %v, want %v", name, i, err, s.want)
				}
				time.Sleep(time.Second)
			}
		})
	}
}

// Nobody sells what may be withdrawn unseen, and an answer that is kept is given all the same.
func TestBlind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		buy := func(max int64) (err error) {
			return db.Update(t.Context(), func(tx ledger.Tx) error {
				b := bid("a", max, 100, state("a", 1, 1000, 0))
				if _, err = limits.Reserve(tx, b); err == nil {
					_, err = channels.Take(tx, network, "a", b.Purchase, 0)
				}
				return err
			})
		}
		if err := buy(100); !alike(err, &channels.Blind{}) {
			t.Fatalf("nobody ever looked: %v", err)
		}
		update(t, db, func(tx ledger.Tx) error { return channels.Looked(tx, network, 1, tx.Now()) })
		time.Sleep(10 * time.Second) // an eighth of the delay
		if err := buy(100); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if again, more := buy(100), buy(200); !alike(again, &channels.Repeat{Purchase: "a/100", Again: true}) ||
			!alike(more, &channels.Blind{}) {
			t.Errorf("blind: the same again: %v, another: %v", again, more)
		}
	})
}

// alike reports an error of the same kind, with what a test names of it.
func alike(got, want error) bool {
	switch want := want.(type) {
	case *channels.Mismatch, *channels.Busy, *channels.Blind:
		return reflect.TypeOf(got) == reflect.TypeOf(want)
	case *channels.Repeat:
		r, ok := errors.AsType[*channels.Repeat](got)
		return ok && *r == *want
	case *channels.Over:
		o, ok := errors.AsType[*channels.Over](got)
		return ok && o.Limit == want.Limit
	}
	return errors.Is(got, want)
}

func update(t *testing.T, db ledger.DB, f func(ledger.Tx) error) {
	t.Helper()
	if err := db.Update(context.WithoutCancel(t.Context()), f); err != nil {
		t.Fatal(err)
	}
}
