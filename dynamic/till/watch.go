package till

import (
	"context"
	"errors"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// watch looks once at a purchase that has ended, until nothing can change it any more: a delivered one until its block
// is final, one given up until its authorization can never land (M4, M7).
func (t *Till) watch(ctx context.Context, p *Purchase) error {
	r, err := t.railOf(p)
	if err != nil {
		return err
	}
	f, err := r.Look(ctx, &p.Payment, p.Sent, p.Mark, time.Now())
	if err != nil {
		t.cfg.Log.Warn("chain not readable", "purchase", p.ID, "network", p.Payment.Network, "err", err)
		return t.lookedAt(ctx, p, func(*Purchase) {})
	}
	if err := t.fill(ctx, r, p, f.Unfilled); err != nil && !errors.Is(err, errMoved) {
		return err
	}
	if p, err = t.noteReverts(ctx, r, p, f.Reverts); err != nil {
		return err
	}
	if p.State == Delivered || p.State == Promised {
		return t.watchDelivered(ctx, r, p, f)
	}
	switch {
	case f.State == rail.Paid:
		if err := t.credit(ctx, p, []State{Refused, Failed, NotSettled}, SettledLate, f.Proof); err != nil {
			return err
		}
		return t.drive(ctx, p.ID)
	case f.State == rail.Dead && f.Final && f.Unfilled == nil:
		return t.lookedAt(ctx, p, func(p *Purchase) { p.Final = true })
	}
	return t.lookedAt(ctx, p, func(*Purchase) {})
}

func (t *Till) watchDelivered(ctx context.Context, r rail.Rail, p *Purchase, f rail.Finding) error {
	switch {
	case f.State == rail.Paid && !samePlace(f.Proof, p.Proof):
		return t.follow(ctx, p, f.Proof)
	case f.State == rail.Paid:
		// An open number of the relayer's would hold up all later ones, so it is watched until it is used up.
		return t.lookedAt(ctx, p, func(p *Purchase) { p.Final = f.Final && f.Unfilled == nil })
	case f.State == rail.Dead && f.Final:
		return t.reverse(ctx, p)
	case f.State == rail.Waiting && f.Advice != rail.Wait:
		// A reorganisation dropped the payment: it is sent again and nearly always lands in the new chain.
		if f.Advice == rail.Redraft || f.Advice == rail.Bump {
			if err := t.renew(ctx, r, p, f.Advice); err != nil {
				return err
			}
		} else if err := t.sendAll(ctx, r, p); err != nil {
			return err
		}
	}
	return t.lookedAt(ctx, p, func(p *Purchase) { p.Tries = 0 })
}

func samePlace(a, b *rail.Proof) bool {
	return a.Tx == b.Tx && a.LogIndex == b.LogIndex && a.BlockHash == b.BlockHash
}

// follow notes where a reorganisation has put a delivered purchase's payment. The certificate stays as it was signed.
func (t *Till) follow(ctx context.Context, p *Purchase, proof *rail.Proof) error {
	_, err := t.advance(ctx, p.ID, []State{Promised, Delivered}, "followed", func(tx ledger.Tx, p *Purchase) error {
		old := ledger.CreditKey(p.Payment.Network, p.Proof.Tx, p.Proof.LogIndex)
		if held, err := ledger.GetJSON[creditOf](tx, old); err == nil && held.Purchase == p.ID {
			if err := tx.Delete(old); err != nil {
				return err
			}
		} else if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		p.Tries = 0
		return takeCredit(tx, p, proof)
	})
	return err
}

// renew signs anew for a delivered purchase whose payment a reorganisation dropped.
func (t *Till) renew(ctx context.Context, r rail.Rail, p *Purchase, a rail.Advice) error {
	var d rail.Draft
	var err error
	if a == rail.Bump && len(p.Sent) > 0 {
		d, err = r.Replace(ctx, &p.Payment, p.Sent[len(p.Sent)-1], false)
	} else {
		d, err = t.redraft(ctx, r, p)
	}
	if err != nil {
		t.cfg.Log.Warn("dropped settlement not renewed", "purchase", p.ID, "err", err)
		return nil
	}
	p2, err := t.advance(ctx, p.ID, []State{Promised, Delivered}, "resigned", func(tx ledger.Tx, q *Purchase) error {
		if q.Version != p.Version {
			return errMoved
		}
		return t.addSigned(tx, q, d)
	})
	if _, over := ended(err); over {
		t.cfg.Log.Warn("dropped settlement not renewed", "purchase", p.ID, "err", err)
		return nil
	}
	if err != nil {
		return err
	}
	p.Version = p2.Version
	return t.send(ctx, r, p.ID, p2.Sent[len(p2.Sent)-1])
}

// lookedAt notes that the worker was here, and when it comes again.
func (t *Till) lookedAt(ctx context.Context, p *Purchase, f func(*Purchase)) error {
	_, err := t.advance(ctx, p.ID, []State{p.State}, "watched", func(_ ledger.Tx, p *Purchase) error {
		p.Tries++
		f(p)
		return nil
	})
	return err
}

// reverse: promised or delivered → reversed. The certificate stands and says what happened; its number is never used again.
func (t *Till) reverse(ctx context.Context, p *Purchase) error {
	_, err := t.advance(ctx, p.ID, []State{Promised, Delivered}, "reversed", func(tx ledger.Tx, p *Purchase) error {
		if p.State == Delivered && p.CertID != "" {
			c, err := ledger.GetJSON[CertRecord](tx, ledger.CertKey(p.CertID))
			if err != nil {
				return err
			}
			c.Reversed, c.ReversedOn = true, tx.Now().Format(time.DateOnly)
			if err := ledger.SetJSON(tx, ledger.CertKey(p.CertID), c); err != nil {
				return err
			}
		}
		p.State, p.Reason, p.Final = Reversed, "reorganised", true
		return nil
	})
	return err
}
