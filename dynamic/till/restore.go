package till

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"agentstore/corpus"
	"agentstore/dynamic/feed"
	"agentstore/dynamic/goods"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
)

// restoreMargin is how many blocks before the backup's head the chain is read again: a reorganisation may have moved
// what stood there.
const restoreMargin = 1000

// Shut closes a ledger that is being restored, in the restore's own transaction: no purchase is taken until Reopen (M13).
func Shut(tx ledger.Tx) error {
	return tx.Set(ledger.ClosedKey(), []byte(tx.Now().Format(time.RFC3339)))
}

// Reconciled is what a look at the chain after a restore found.
type Reconciled struct {
	Network   string `json:"network"`
	From      uint64 `json:"from_block"`
	Transfers int    `json:"transfers"`  // seen since then
	Known     int    `json:"known"`      // credited in the restored ledger
	FromChain int    `json:"from_chain"` // purchases that are now known from the chain alone
	Direct    int    `json:"direct"`     // transfers without an authorization, which buy nothing
}

// Reconcile reads every network from the backup's head on. Payments that the restored ledger does not know become
// purchases known from the chain: their authorizations are claimed, so that they can never pay again, and their
// buyers find them by wallet. High-water marks and the published record raise counters and take pool entries and
// words. It may be run again.
func (t *Till) Reconcile(ctx context.Context, marks []HighMark, recorded []corpus.Observation) ([]Reconciled, error) {
	if err := t.raise(ctx, marks); err != nil {
		return nil, fmt.Errorf("raising counters and pools: %w", err)
	}
	if err := t.raiseRecorded(ctx, recorded); err != nil {
		return nil, fmt.Errorf("raising counters and pools: %w", err)
	}
	var out []Reconciled
	for _, r := range t.cfg.Rails {
		rec, err := t.reconcile(ctx, r)
		if err != nil {
			return out, fmt.Errorf("reading %s: %w", r.Info().Name, err)
		}
		out = append(out, rec)
	}
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	return out, t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
		return tx.Set(metaReconciled, []byte(tx.Now().Format(time.RFC3339)))
	})
}

var metaReconciled = ledger.MetaKey("reconciled")

// errNotReconciled keeps a restored store closed.
var errNotReconciled = errors.New("the restored ledger was not compared with the chains yet: run the restore's reconcile step first")

// Reopen opens a restored and reconciled ledger for business.
func Reopen(ctx context.Context, db ledger.DB) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	return db.Update(ctx, func(tx ledger.Tx) error {
		if err := reopenable(tx); err != nil {
			return err
		}
		return errors.Join(tx.Delete(ledger.ClosedKey()), tx.Delete(metaReconciled))
	})
}

// Reopenable says whether Reopen would open the ledger.
func Reopenable(ctx context.Context, db ledger.DB) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	return db.View(ctx, reopenable)
}

func reopenable(tx ledger.Tx) error {
	shut, err := isClosed(tx)
	if err != nil || !shut {
		return err
	}
	_, err = tx.Get(metaReconciled)
	if errors.Is(err, errNotFound) {
		return errNotReconciled
	}
	return err
}

func (t *Till) raise(ctx context.Context, marks []HighMark) error {
	const step = 200 // marks a transaction
	for len(marks) > 0 {
		part := marks[:min(step, len(marks))]
		marks = marks[len(part):]
		lctx, cancel := ledgerContext(ctx)
		err := t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
			for _, m := range part {
				if err := ledger.Raise(tx, CounterPatron, m.Patron); err != nil {
					return err
				}
				if err := ledger.Raise(tx, goods.JarCounter, m.Jar); err != nil {
					return err
				}
				g, ok := t.cfg.Site.Now().Good(m.Item)
				if ok && g.Stock && m.Word == "" && m.Entry != "" {
					if err := goods.MarkTaken(tx, m.Pool, m.Entry); err != nil {
						return err
					}
				}
				if m.Word != "" {
					if err := goods.MarkRetired(tx, m.Word); err != nil {
						return err
					}
				}
			}
			return nil
		})
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Till) raiseRecorded(ctx context.Context, recorded []corpus.Observation) error {
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	return t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
		for _, o := range recorded {
			if err := feed.Recorded(tx, o); err != nil {
				return err
			}
			if o.Word != "" {
				if err := goods.MarkRetired(tx, o.Word); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (t *Till) reconcile(ctx context.Context, r rail.Rail) (Reconciled, error) {
	info := r.Info()
	rec := Reconciled{Network: info.Network}
	lctx, cancel := ledgerContext(ctx)
	err := t.cfg.DB.View(lctx, func(tx ledger.Tx) error {
		v, err := tx.Get(headKey(info.Network))
		if errors.Is(err, errNotFound) {
			rec.From = 0
			return nil
		}
		if err != nil {
			return err
		}
		n, err := ledger.ParseNumber(string(v))
		rec.From = n - min(n, restoreMargin)
		return err
	})
	cancel()
	if err != nil {
		return rec, err
	}
	for tr, err := range r.Incoming(ctx, rec.From) {
		if err != nil {
			return rec, err
		}
		rec.Transfers++
		kind, err := t.adopt(ctx, info, tr)
		if err != nil {
			return rec, err
		}
		switch kind {
		case adoptKnown:
			rec.Known++
		case adoptDirect:
			rec.Direct++
		case adoptNew:
			rec.FromChain++
		}
	}
	return rec, nil
}

type adoption int

const (
	adoptKnown adoption = iota
	adoptDirect
	adoptNew
)

// adopt takes one transfer into the ledger.
func (t *Till) adopt(ctx context.Context, info rail.Info, tr rail.Transfer) (adoption, error) {
	if tr.Nonce == "" {
		return adoptDirect, nil
	}
	pay := rail.Payment{Network: info.Network, Asset: info.Asset, Method: "eip3009", Payer: tr.Payer, Nonce: tr.Nonce,
		PayTo: info.PayTo, Amount: new(big.Int).Set(tr.Amount)}
	kind := adoptKnown
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	err := t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
		kind = adoptKnown
		if _, err := tx.Get(authKey(&pay)); err == nil {
			return nil // claimed in the backup: the worker reads the rest from the chain
		} else if !errors.Is(err, errNotFound) {
			return err
		}
		kind = adoptNew
		id := newID(prefixPurchase)
		p := &Purchase{
			ID: id, State: FromChain, Protocol: "x402", Payment: pay, Amount: pay.Amount.Int64(), Final: true,
			Reason: "known from the chain after a restore",
			Proof:  &rail.Proof{Tx: tr.Tx, LogIndex: tr.LogIndex, Block: tr.Block, BlockTime: tr.Time},
		}
		if err := ledger.SetJSON(tx, authKey(&pay), Claim{Purchase: id}); err != nil {
			return err
		}
		if err := ledger.SetJSON(tx, ledger.CreditKey(info.Network, tr.Tx, tr.LogIndex), creditOf{id}); err != nil {
			return err
		}
		if err := tx.Set(ledger.PayerKey(tr.Payer, tx.Now(), id), nil); err != nil {
			return err
		}
		return t.save(tx, p)
	})
	return kind, err
}
