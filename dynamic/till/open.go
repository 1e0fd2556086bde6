package till

import (
	"cmp"
	"context"
	"errors"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// counts reports whether a purchase is among the open payments of its payer: one that may still be
// mined. A settlement of ours that reverted once leaves the count.
func (p *Purchase) counts() bool {
	switch p.State {
	case Claimed, GoodsReady, Settling, Unknown:
		return !p.Reverted && p.Account == nil && (p.Spent == nil || p.Spent.Deposit != nil)
	}
	return false
}

// list keeps p's place among the open payments.
func (t *Till) list(tx ledger.Tx, p *Purchase) error {
	counts := p.counts()
	if counts == p.listed {
		return nil
	}
	p.listed = counts
	counted := settle.OpenPaymentOf(p.ID, p.settles(), p.Verified)
	if counted.Amount = p.Amount; p.Spent != nil {
		counted.Amount = rail.Atomic(p.Spent.Deposit.Amount)
	}
	if !counts {
		return settle.LeaveOpen(tx, counted)
	}
	if _, k, err := t.order(p); err == nil && k.Counted {
		counted.Unit = unit(k, p.Item)
	}
	return settle.EnterOpen(tx, counted)
}

// unit is of what a payer may hold one at a time: the good, or all goods of its kind.
func unit(k goods.Kind, item string) string { return cmp.Or(k.Unit, item) }

// admission is an order's way past the bounds of open payments.
func (t *Till) admission(o *matched) *settle.Admission {
	pays, amount := o.settles()
	a := &settle.Admission{Proven: t.cfg.Gas.Proven, Network: pays.Network, Payer: pays.Payer, Nonce: pays.Nonce,
		Amount: amount, Local: o.local, Beside: o.p.beside}
	if o.offer.Kind.Counted {
		a.Unit = unit(o.offer.Kind, o.offer.ID)
	}
	return a
}

// admit runs the transaction that claims, which checks the admission, until there is room for the
// order or its wait is over. It holds no place among those under way meanwhile.
func (t *Till) admit(ctx context.Context, o *matched, f func(ledger.Tx, *settle.Admission) error) error {
	a := t.admission(o)
	err := t.gate.Admit(ctx, a, o.p.rail, t.cfg.OpenWait, func(ctx context.Context) error {
		ctx, cancel := ledgerContext(ctx)
		defer cancel()
		return t.cfg.DB.Update(ctx, func(tx ledger.Tx) error { return f(tx, a) })
	})
	if full, ok := errors.AsType[*settle.NoRoom](err); ok {
		return (&Error{Code: Code(full.Why), Retry: 2 * time.Second, Item: full.Unit, Count: full.N}).paid("no",
			"same_payment")
	}
	if unread, ok := errors.AsType[*settle.Unread](err); ok {
		return unreadable(unread.Err)
	}
	return err
}

// unreadable is the answer while the network of a payment cannot be read.
func unreadable(err error) error {
	return (&Error{Code: CodeUnreadable, Retry: 5 * time.Second, Err: err}).paid("no", "same_payment")
}
