package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// Begin drafts and signs the settlement of a payment and stores it. arrow runs in the transaction
// that does, before the signature, and has the record's id. Nothing was sent when Begin returns. An
// error that Ended knows says that the payment cannot be settled, or may not be; every other one
// leaves it as it was.
func (d *Driver) Begin(ctx context.Context, m Member, arrow func(ledger.Tx, *Settlement) error) (*Settlement, error) {
	return d.BeginAs(ctx, newID(), m, arrow)
}

// BeginAs is Begin with a record's id of the caller's choice. One that exists is an error.
func (d *Driver) BeginAs(ctx context.Context, id string, m Member, arrow func(ledger.Tx, *Settlement) error) (*Settlement, error) {
	r, err := d.rail(m.Payment.Network)
	if err != nil {
		return nil, err
	}
	s := &Settlement{ID: id, Network: m.Payment.Network, Members: []Member{m}}
	draft, err := retried(ctx, d, s, func() (rail.Draft, error) { return r.Draft(ctx, s.payments(nil)) })
	if err != nil {
		return nil, fmt.Errorf("drafting the settlement: %w", err)
	}
	return s, d.store(ctx, s, func(tx ledger.Tx, s *Settlement) error {
		if err := arrow(tx, s); err != nil {
			return err
		}
		return d.sign(tx, s, draft, nil)
	})
}

// Adopt stores a settlement without a transaction of ours, for a payment that somebody else has
// sent.
func (d *Driver) Adopt(ctx context.Context, m Member, arrow func(ledger.Tx, *Settlement) error) error {
	return d.store(ctx, &Settlement{ID: newID(), Network: m.Payment.Network, Members: []Member{m}}, arrow)
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
func (d *Driver) store(ctx context.Context, s *Settlement, f func(ledger.Tx, *Settlement) error) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	fresh := *s
	err := d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		*s = fresh
		if _, err := tx.Get(ledger.SettlementKey(s.ID)); !errors.Is(err, ledger.ErrNotFound) {
			return errors.Join(err, errMoved)
		}
		if err := f(tx, s); err != nil {
			return err
		}
		return save(tx, s)
	})
	if err == nil {
		d.cfg.AfterStep("settling")
	}
	return err
}

// sign signs a draft inside the transaction that stores it. What a new number costs is taken from
// the day's budgets there; what only replaces is not asked about.
func (d *Driver) sign(tx ledger.Tx, s *Settlement, draft rail.Draft, of []int) error {
	signed, err := draft.Sign(sequencer{tx, s.Network})
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
