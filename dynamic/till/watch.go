package till

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/dynamic/holds"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// watch looks once at a purchase that has ended, until nothing can change it any more: a delivered
// one until its block is final, one given up until its authorization can never land (M4, M7).
func (t *Till) watch(ctx context.Context, p *Purchase) error {
	if err := t.settles.Watch(ctx, p.settling(), &owner{t: t, p: p}, p.ID); err != nil {
		return err
	}
	now, err := t.load(ctx, p.ID)
	if err != nil || now.State != SettledLate {
		return err
	}
	_, err = t.drive(ctx, p.ID, now)
	return err
}

// givenUpHeard: refused | failed | not_settled → settled_late, where the money came after all.
func (t *Till) givenUpHeard(ctx context.Context, p *Purchase, n settle.News) error {
	switch {
	case n.State == rail.Paid && p.Held != nil: // it was held too late, and goes back
		_, err := t.decide(ctx, p.ID, []State{Refused, Failed, NotSettled}, ending{to: Voiding, why: holds.GivenUp})
		return err
	case n.State == rail.Paid && p.Spent != nil: // money in a channel is its payer's
		return t.lookedAt(ctx, p, func(p *Purchase) { p.Final = n.Final && n.Unfilled == nil })
	case n.State == rail.Paid:
		_, err := t.credit(ctx, p, []State{Refused, Failed, NotSettled}, SettledLate, n.Proof)
		return err
	case n.State == rail.Dead && n.Final && n.Unfilled == nil:
		return t.lookedAt(ctx, p, func(p *Purchase) { p.Final = true })
	}
	return t.lookedAt(ctx, p, func(*Purchase) {})
}

// deliveredHeard follows the payment of a delivered purchase, or notes that it is gone for good.
// One that a reorganisation dropped is sent again, and nearly always lands in the new chain.
func (t *Till) deliveredHeard(ctx context.Context, p *Purchase, n settle.News) (more bool, err error) {
	switch {
	case n.Unread:
	case n.State == rail.Paid && !samePlace(n.Proof, p.Proof):
		return false, t.follow(ctx, p, n.Proof)
	case n.State == rail.Paid:
		// An open number of the relayer's would hold up all later ones, so it is watched until it
		// is used up.
		return false, t.lookedAt(ctx, p, func(p *Purchase) { p.Final = n.Final && n.Unfilled == nil })
	case n.State == rail.Dead && n.Final:
		return false, t.reverse(ctx, p)
	case n.Over != nil:
		t.cfg.Log.Warn("dropped settlement not renewed", "purchase", p.ID, "why", n.Over.Reason)
		return false, nil
	default:
		return n.State == rail.Waiting && n.Advice != rail.Wait, t.lookedAt(ctx, p, func(p *Purchase) { p.Tries = 0 })
	}
	return false, t.lookedAt(ctx, p, func(*Purchase) {})
}

// owedHeard watches money that is owed back until nothing can take it away: what the chain took
// back is owed no more (M9).
func (t *Till) owedHeard(ctx context.Context, p *Purchase, n settle.News) error {
	switch {
	case n.State == rail.Paid && !samePlace(n.Proof, p.Proof):
		return t.follow(ctx, p, n.Proof)
	case n.State == rail.Paid:
		return t.lookedAt(ctx, p, func(p *Purchase) { p.Final = n.Final && n.Unfilled == nil })
	case n.State == rail.Dead && n.Final:
		return t.reverse(ctx, p)
	}
	return t.lookedAt(ctx, p, func(*Purchase) {})
}

// fillLeft uses up what is open of a relayer's numbers though their purchases are final: an account
// that was taken out of the configuration and put back has such, and all its later transactions
// wait behind them.
func (t *Till) fillLeft(ctx context.Context, network string) error {
	list, err := t.settles.Unfinished(ctx, prefixPurchase, network)
	if err != nil || len(list) == 0 {
		return err
	}
	var left []*settle.Settlement
	err = t.view(ctx, func(tx ledger.Tx) error {
		left = nil
		for _, s := range list {
			final := true
			for _, m := range s.Members {
				p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(m.ID))
				if err != nil {
					return err
				}
				final = final && p.Final
			}
			if final {
				left = append(left, s)
			}
		}
		return nil
	})
	for _, s := range left {
		err = errors.Join(err, t.settles.Watch(ctx, s, nobody{}))
	}
	return err
}

// nobody owns settlements whose purchases nothing can change any more.
type nobody struct{}

// Waits implements settle.Owner.
func (nobody) Waits(bool) {}

// Reverted implements settle.Owner.
func (nobody) Reverted(ledger.Tx, settle.Member) error { return nil }

// Heard implements settle.Owner.
func (nobody) Heard(context.Context, *settle.Settlement, settle.Member, settle.News) (bool, error) {
	return false, nil
}

func samePlace(a, b *rail.Proof) bool {
	return a.Tx == b.Tx && a.LogIndex == b.LogIndex && a.BlockHash == b.BlockHash
}

// follow notes where a reorganisation has put a delivered purchase's payment. The certificate stays
// as it was signed.
func (t *Till) follow(ctx context.Context, p *Purchase, proof *rail.Proof) error {
	_, err := t.advance(ctx, p.ID, arrow{[]State{Promised, Delivered, RefundOwed}, "followed"},
		func(tx ledger.Tx, p *Purchase) error {
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

// lookedAt notes that the worker was here, and when it comes again.
func (t *Till) lookedAt(ctx context.Context, p *Purchase, f func(*Purchase)) error {
	_, err := t.advance(ctx, p.ID, arrow{[]State{p.State}, "watched"}, func(_ ledger.Tx, p *Purchase) error {
		p.Tries++
		f(p)
		return nil
	})
	return err
}

// undo takes back what a delivered purchase changed, where its kind can.
func (t *Till) undo(tx ledger.Tx, p *Purchase) error {
	o, k, err := t.order(p)
	if err != nil || k.Undo == nil { // of what is off the shelf there is nothing to take back
		return nil
	}
	return k.Undo(t.maker(p), tx, o)
}

// reverse: promised, delivered or refund_owed → reversed. The certificate stands and says what
// happened; its number is never used again. What was only promised will not be made, and gives back
// what it held.
func (t *Till) reverse(ctx context.Context, p *Purchase) error {
	_, err := t.advance(ctx, p.ID, arrow{[]State{Promised, Delivered, RefundOwed, Held}, "reversed"},
		func(tx ledger.Tx, p *Purchase) error {
			if p.State == Promised || p.State == Held {
				if err := t.release(tx, p); err != nil {
					return err
				}
				p.DeliveredAt = time.Time{}
			} else if p.CertID != "" {
				c, err := ledger.GetJSON[CertRecord](tx, ledger.CertKey(p.CertID))
				if err != nil {
					return err
				}
				c.Reversed, c.ReversedOn = true, tx.Now().Format(time.DateOnly)
				if err := errors.Join(ledger.SetJSON(tx, ledger.CertKey(p.CertID), c), t.undo(tx, p)); err != nil {
					return err
				}
			}
			p.State, p.Reason, p.Final = Reversed, "reorganised", true
			return nil
		})
	return err
}
