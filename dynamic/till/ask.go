package till

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// What may not be asked of an upstream before it is paid for is asked between the credit and the
// number: a purchase that ends as a debt has had no patron number, so these have no gaps.

// AskFor is for how long an upstream is asked for what was paid for, before that is owed back.
const AskFor = time.Hour

// asksAfter reports whether what a purchase bought is made once it is paid for.
func (t *Till) asksAfter(p *Purchase) bool {
	_, k, err := t.order(p)
	return err == nil && k.Paid != nil
}

// ask: asking → settled | refund_owed, or asking again later. It is asked with the same key each
// time, by whoever comes by, so more than one may ask at once; the first answer that is kept is
// what was bought.
func (t *Till) ask(ctx context.Context, p *Purchase) (*Purchase, error) {
	o, k, err := t.order(p)
	if err != nil || k.Paid == nil {
		return t.owe(ctx, p, "no_longer_sold")
	}
	made, err := k.Paid(ctx, t.maker(p), o)
	if err == nil {
		certID, kid := attest.NewID(prefixCert), t.signer().KID()
		return t.advance(ctx, p.ID, arrow{[]State{Asking}, "settled"}, func(tx ledger.Tx, p *Purchase) error {
			p.Made, p.State, p.Tries = made, Settled, 0
			return t.number(tx, p, certID, kid)
		}, ledger.At(ledger.CounterKey(CounterPatron)), ledger.At(ledger.ClosedKey()))
	}
	no, unanswered := errors.AsType[*goods.NoAnswer](err)
	_, away := errors.AsType[*goods.Away](err)
	if !unanswered && !away {
		return nil, err
	}
	t.cfg.Log.Warn("an upstream gave no answer to what is paid for", "purchase", p.ID, "item", p.Item, "err", err)
	if unanswered && no.Final {
		return t.owe(ctx, p, goods.CodeUpstream+": "+no.Why)
	}
	next, err := t.advance(ctx, p.ID, arrow{[]State{Asking}, "asked"}, func(tx ledger.Tx, p *Purchase) error {
		if tx.Now().Sub(p.AskedSince) < AskFor {
			p.Tries++
			return nil
		}
		return t.owes(tx, p, goods.CodeUpstream+": no answer came within an hour")
	})
	if err == nil && next.State == Asking {
		return nil, context.DeadlineExceeded // the worker comes back to it
	}
	return next, err
}

// owe: asking → refund_owed.
func (t *Till) owe(ctx context.Context, p *Purchase, reason string) (*Purchase, error) {
	return t.advance(ctx, p.ID, arrow{[]State{Asking}, "refund_owed"}, func(tx ledger.Tx, p *Purchase) error {
		return t.owes(tx, p, reason)
	})
}

func (t *Till) owes(tx ledger.Tx, p *Purchase, reason string) error {
	p.State, p.Reason, p.Tries = RefundOwed, reason, 0
	return t.release(tx, p)
}

// File opens the file that a purchase was delivered with, for the holder of its token. A wrong
// token, an unknown id and a purchase that the chain took back are told apart by nobody but the
// holder; fs.ErrNotExist is a purchase without a file.
func (t *Till) File(ctx context.Context, id, token string) (*goods.Fetched, io.ReadSeekCloser, error) {
	s, err := t.Status(ctx, id, token)
	if err != nil {
		return nil, nil, err
	}
	if s.State != Delivered || s.Made == nil {
		return nil, nil, fs.ErrNotExist
	}
	return t.maker(s.Purchase).Open(ctx, id, s.Made)
}
