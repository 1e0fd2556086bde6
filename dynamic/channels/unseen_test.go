package channels_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// shop sells out of one channel, and looks at the chain as often as it must.
type shop struct {
	*testing.T
	db *ledger.Mem
}

func newShop(t *testing.T) shop {
	s := shop{t, ledger.NewMem(ledger.MemOptions{})}
	s.looks()
	return s
}

func (s shop) looks() {
	s.Helper()
	s.does(func(tx ledger.Tx) error { return channels.Looked(tx, network, 1, tx.Now()) })
}

func (s shop) does(f func(ledger.Tx) error) {
	s.Helper()
	update(s.T, s.db, f)
}

// buy sells for a hundred.
func (s shop) buy(max int64, seen rail.ChannelState) error {
	b := bid("a", max, 100, seen)
	return s.db.Update(s.Context(), func(tx ledger.Tx) error {
		_, err := limits.Reserve(tx, b)
		if err == nil {
			_, err = channels.Take(tx, network, "a", b.Purchase, 0)
		}
		return err
	})
}

// A withdrawal whose event no node told is seen before its money is sold again: a row is not
// believed for longer than an eighth of what a withdrawal takes.
func TestWithdrawalWithoutItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		if err := s.buy(100, state("a", 1, 1000, 0)); err != nil {
			t.Fatal(err)
		}
		s.does(func(tx ledger.Tx) error { return channels.Observe(tx, network, state("a", 2, 1000, 100), false) })
		if err := s.buy(200, rail.ChannelState{}); err != nil {
			t.Fatal(err)
		}
		for range 12 { // the chain is looked at, and tells of no withdrawal
			time.Sleep(10 * time.Second)
			s.looks()
		}
		if err := s.buy(300, rail.ChannelState{}); !errors.Is(err, channels.ErrUnknown) {
			t.Errorf("by what was known before a withdrawal could end: %v", err)
		}
		if err := s.buy(300, state("a", 3, 200, 200)); !alike(err, &channels.Mismatch{}) {
			t.Errorf("by what is there: %v", err)
		}
	})
}

// A refund that was signed and reverted can be handed in by whoever read it: until its nonce is
// used nothing is sold for what it takes, and what is put in beside it is.
func TestSignedRefundIsNotSold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		was := state("a", 1, 1000, 0)
		if err := s.buy(100, was); err != nil {
			t.Fatal(err)
		}
		s.does(func(tx ledger.Tx) error {
			_, err := channels.BeginRefund(tx, network, &rail.ChannelPayment{Channel: rail.Channel{ID: "a"},
				Voucher: rail.Voucher{Max: 100}, Refund: 750}, 1)
			return errors.Join(err, channels.Sign(tx, network, "a", channels.Signed{Amount: 750, Nonce: 0}))
		})
		s.does(func(tx ledger.Tx) error { return channels.EndRefund(tx, network, was, "") })
		if err := s.buy(200, was); err != nil {
			t.Errorf("what it leaves: %v", err)
		}
		if err := s.buy(300, was); !errors.Is(err, channels.ErrLeaving) {
			t.Errorf("what it takes: %v", err)
		}
		if err := s.buy(300, state("a", 2, 1050, 0)); err != nil {
			t.Errorf("what was put in since: %v", err)
		}
		landed := state("a", 3, 1050, 0)
		landed.RefundNonce = 1
		if err := s.buy(400, landed); err != nil {
			t.Errorf("once another took its nonce: %v", err)
		}
	})
}

// A claim that was forgotten with the backup showed its voucher to everybody all the same.
func TestForgottenClaimShowedItsVoucher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		if err := s.buy(100, state("a", 1, 1000, 0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		s.does(func(tx ledger.Tx) error { return channels.Doubt(tx, network) })
		s.looks()
		proves := func(seen rail.ChannelState) (is bool, err error) {
			s.does(func(tx ledger.Tx) error { is, err = channels.Proves(tx, bid("a", 100, 100, seen)); return nil })
			return is, err
		}
		if err := s.buy(100, rail.ChannelState{}); !errors.Is(err, channels.ErrUnknown) {
			t.Errorf("before the chain was asked: %v", err)
		}
		if _, err := proves(rail.ChannelState{}); !errors.Is(err, channels.ErrUnknown) {
			t.Errorf("before the chain was asked it proves: %v", err)
		}
		if is, err := proves(state("a", 2, 1000, 0)); !is || err != nil {
			t.Errorf("nothing is claimed, and it proves %v, %v", is, err)
		}
		claimed := state("a", 2, 1000, 100)
		if is, err := proves(claimed); is || err != nil {
			t.Errorf("it is claimed, and proves %v, %v", is, err)
		}
		if err := s.buy(100, claimed); !alike(err, &channels.Repeat{Purchase: "a/100"}) {
			t.Errorf("it is claimed, and buys %v", err)
		}
	})
}

// Behind each claim that reverts is a longer pause, up to an eighth of the delay; one that failed
// with others tells less, and one that lands ends it.
func TestDeniedClaimsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		if err := s.buy(100, state("a", 1, 1000, 0)); err != nil {
			t.Fatal(err)
		}
		row := func() (r *channels.Row) {
			s.does(func(tx ledger.Tx) (err error) { r, err = channels.Read(tx, network, "a"); return err })
			return r
		}
		if r := row(); r.Denials() != 0 || !r.ClaimFrom().IsZero() {
			t.Errorf("before any: %d, %v", r.Denials(), r.ClaimFrom())
		}
		const eighth = 10 * time.Second
		for i, c := range []struct {
			alone bool
			times int
			wait  time.Duration
		}{{false, 1, eighth / 32}, {false, 1, eighth / 32}, {true, 2, eighth / 16}, {true, 3, eighth / 8},
			{true, 4, eighth / 4}, {true, 5, eighth / 2}, {true, 6, eighth}, {true, 7, eighth}} {
			s.does(func(tx ledger.Tx) error { return channels.Deny(tx, network, "a", c.alone) })
			if r := row(); r.Denials() != c.times || time.Until(r.ClaimFrom()) != c.wait {
				t.Errorf("after %d: %d, and claimed in %v", i, r.Denials(), time.Until(r.ClaimFrom()))
			}
		}
		s.does(func(tx ledger.Tx) error { return channels.Observe(tx, network, state("a", 2, 1000, 100), false) })
		if r := row(); r.Denials() != 0 || !r.ClaimFrom().IsZero() {
			t.Errorf("after one that landed: %d, %v", r.Denials(), r.ClaimFrom())
		}
	})
}
