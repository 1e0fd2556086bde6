package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// Order asks for the settlement of a payment, or of several in one transaction, of one network.
type Order struct {
	ID      string // of the record; empty is one of the driver's choice
	Members []Member
	// Arrow runs in the transaction that stores the record, before the signature, and has the
	// record's id.
	Arrow func(ledger.Tx, *Settlement) error
	// Now says that the order does not wait for room: the error is ErrNoRoom where there is none.
	Now bool
	// Waits is told whether there is no room for another transaction, so that the order waits in a
	// line; nil tells nobody.
	Waits func(waits bool)
}

// Begin drafts and signs the settlement of a payment and stores it, as soon as there is room for
// one more transaction. Nothing was sent when it returns. An error that Ended knows says that the
// payment cannot be settled, or may not be; every other one leaves it as it was.
func (d *Driver) Begin(ctx context.Context, o Order) (*Settlement, error) {
	if len(o.Members) == 0 {
		return nil, errors.New("settle: an order without a payment")
	}
	network := o.Members[0].Payment.Network
	r, err := d.rail(network)
	if err != nil {
		return nil, err
	}
	if o.Waits == nil {
		o.Waits = func(bool) {}
	}
	s := &Settlement{ID: cmp.Or(o.ID, newID()), Network: network, Members: o.Members}
	for {
		changed := r.Changed()
		err := d.begin(ctx, r, s, o)
		if o.Now || !errors.Is(err, ErrNoRoom) {
			return s, err
		}
		// Another process has the room, or an account has it that cannot pay for the transaction.
		o.Waits(true)
		err = d.pause(ctx, changed)
		o.Waits(false)
		if err != nil {
			return nil, err
		}
	}
}

// pause waits until a network has something new, for Config.Pause at most. The error is that of
// ctx.
func (d *Driver) pause(ctx context.Context, changed <-chan struct{}) error {
	timer := time.NewTimer(d.cfg.Pause)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// begin is Begin's one try.
func (d *Driver) begin(ctx context.Context, r rail.Rail, s *Settlement, o Order) error {
	done, err := d.turn(ctx, r, o)
	if err != nil {
		return err
	}
	defer done()
	draft, err := retried(ctx, d, s, func() (rail.Draft, error) { return r.Draft(ctx, s.payments(nil)) })
	if err != nil {
		return fmt.Errorf("drafting the settlement: %w", err)
	}
	return d.store(ctx, s, func(tx ledger.Tx, s *Settlement, places *places) error {
		if err := o.Arrow(tx, s); err != nil {
			return err
		}
		return d.sign(tx, s, draft, nil, places)
	})
}

// Adopt stores a settlement without a transaction of ours, for a payment that somebody else has
// sent.
func (d *Driver) Adopt(ctx context.Context, m Member, arrow func(ledger.Tx, *Settlement) error) error {
	return d.store(ctx, &Settlement{ID: newID(), Network: m.Payment.Network, Members: []Member{m}}, func(tx ledger.Tx, s *Settlement, _ *places) error { return arrow(tx, s) })
}

// Look is what the chain says of a member, asked for until it answers or ctx ends.
func (d *Driver) Look(ctx context.Context, s *Settlement, member string) (rail.Finding, error) {
	r, err := d.rail(s.Network)
	if err != nil {
		return rail.Finding{}, err
	}
	m := s.Members[s.member(member)]
	return retried(ctx, d, s, func() (rail.Finding, error) {
		return r.Look(ctx, &m.Payment, s.Signed(m.ID), m.Mark, time.Now())
	})
}

// store runs f on a new settlement and stores it.
func (d *Driver) store(ctx context.Context, s *Settlement, f func(ledger.Tx, *Settlement, *places) error) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	fresh := *s
	held := &places{d: d, network: s.Network}
	err := d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		held.drop()
		*s = fresh
		if _, err := tx.Get(ledger.SettlementKey(s.ID)); !errors.Is(err, ledger.ErrNotFound) {
			return errors.Join(err, errMoved)
		}
		if err := f(tx, s, held); err != nil {
			return err
		}
		return save(tx, s)
	})
	if err != nil {
		held.drop()
		*s = fresh
		return err
	}
	d.cfg.AfterStep("settling")
	return nil
}

// places are those in the outboxes that a transaction holds for the numbers that it gives out.
type places struct {
	d       *Driver
	network string
	box     *outbox
	held    *letter
}

// hold keeps the place of a number.
func (p *places) hold(account string, number uint64) {
	p.box = p.d.outboxOf(p.network, account)
	p.held = p.box.hold(number, p.d.cfg.Pause)
}

// drop gives up what was held, because the transaction begins anew or has failed.
func (p *places) drop() {
	if p.held != nil {
		p.box.drop(p.held)
		p.held = nil
	}
}

// sign signs a draft inside the transaction that stores it. What a new number costs is taken from
// the day's budgets there; what only replaces is not asked about.
func (d *Driver) sign(tx ledger.Tx, s *Settlement, draft rail.Draft, of []int, places *places) error {
	signed, err := draft.Sign(sequencer{tx, s.Network, places.hold})
	if err != nil {
		return err
	}
	signed.At = tx.Now()
	sent := Sent{Signed: signed, Of: of}
	if err := d.pay(tx, s, sent, draft.Price()); err != nil {
		return err
	}
	s.Sent = append(s.Sent, sent)
	return nil
}
