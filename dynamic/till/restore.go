package till

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Reconciled is what a look at the chain after a restore found.
type Reconciled struct {
	Network   string `json:"network"`
	From      uint64 `json:"from_block"`
	Transfers int    `json:"transfers"`  // seen since then
	Known     int    `json:"known"`      // credited in the restored ledger
	FromChain int    `json:"from_chain"` // purchases that are now known from the chain alone
	Direct    int    `json:"direct"`     // transfers without an authorization, which buy nothing
}

// Reconcile reads every network from where it was read when the backup was made. Payments that the
// restored ledger does not know become purchases known from the chain: their authorizations are
// claimed, so that they can never pay again, and their buyers find them by wallet. High-water marks
// and the published record raise counters and take pool entries and words. It may be run again.
func (t *Till) Reconcile(ctx context.Context, marks []HighMark, recorded []record.Observation) ([]Reconciled, error) {
	if err := t.raise(ctx, marks); err != nil {
		return nil, fmt.Errorf("raising counters and pools: %w", err)
	}
	if err := t.raiseRecorded(ctx, recorded); err != nil {
		return nil, fmt.Errorf("raising counters and pools: %w", err)
	}
	var out []Reconciled
	for _, r := range t.cfg.Rails {
		if err := t.cfg.Gas.Ready(ctx, r.Info().Network); err != nil {
			return out, fmt.Errorf("reading %s: %w", r.Info().Name, err)
		}
		rec, err := reconcile(ctx, t.cfg.DB, r)
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
var errNotReconciled = errors.New("the restored ledger was not compared with the chains yet: run the restore's " +
	"reconcile step first")

func (t *Till) raise(ctx context.Context, marks []HighMark) error {
	const step = 200 // marks a transaction
	funded := map[string]*rail.Channel{}
	for _, m := range marks {
		if m.Spent != nil && m.Spent.Config != nil {
			funded[m.Spent.Channel] = m.Spent.Config
		}
	}
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
				if m.Account != "" {
					if err := account.Restored(tx, m.Account, m.Ref, m.Request, m.Net); err != nil {
						return err
					}
				}
				// Of a good that is off the shelf nobody can tell whether it gave its entries once.
				g, ok := t.cfg.Site.Now().Good(m.Item)
				if (g.Stock || !ok) && m.Word == "" && m.Entry != "" {
					if err := goods.MarkTaken(tx, m.Pool, m.Entry); err != nil {
						return err
					}
				}
				if m.Word != "" {
					if err := goods.MarkRetired(tx, m.Word); err != nil {
						return err
					}
				}
				if s := m.Spent; s != nil {
					if err := channels.Raise(tx, s.Network, s.Channel, funded[s.Channel], s.Voucher); err != nil {
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

func (t *Till) raiseRecorded(ctx context.Context, recorded []record.Observation) error {
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	return t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
		for _, o := range recorded {
			if err := feed.Recorded(tx, o); err != nil {
				return err
			}
			if o.Word != nil && o.Word.Text != "" {
				if err := goods.MarkRetired(tx, o.Word.Text); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// reconcile reads a network from where it was read before.
func reconcile(ctx context.Context, db ledger.DB, r rail.Rail) (Reconciled, error) {
	info := r.Info()
	rec := Reconciled{Network: info.Network}
	since, err := readFrom(ctx, db, info)
	if err != nil {
		return rec, err
	}
	rec.From = since.Block
	for tr, err := range rail.Transfers(r.Incoming(ctx, rail.Span{From: rec.From})) {
		if err != nil {
			return rec, err
		}
		if since.earlier(tr) {
			continue
		}
		rec.Transfers++
		kind, err := adopt(ctx, db, info, tr)
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
	if err := readChannels(ctx, db, r, rec.From); err != nil {
		return rec, err
	}
	return rec, noteRead(ctx, db, info, since)
}

// readChannels takes over what the escrow of a network did since a block: the channels of this
// store that were funded, and the transactions that claimed vouchers, once they are final.
func readChannels(ctx context.Context, db ledger.DB, r rail.Rail, from uint64) error {
	chans, ok := r.(rail.Channels)
	if !ok {
		return nil
	}
	if _, ok := chans.ChannelTerms(); !ok {
		return nil
	}
	network := r.Info().Network
	final, err := r.Final(ctx)
	if err != nil {
		return err
	}
	for piece, err := range chans.ChannelEvents(ctx, rail.Span{From: from}, rail.ChannelFunded, rail.ChannelClaimed) {
		if err != nil {
			return err
		}
		lctx, cancel := ledgerContext(ctx)
		err = db.Update(lctx, func(tx ledger.Tx) error {
			for _, e := range piece.Events {
				if err := readChannel(tx, network, e, final.Block); err != nil {
					return err
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

// readChannel takes over one event; of a claim, one of a channel that is known.
func readChannel(tx ledger.Tx, network string, e rail.ChannelEvent, final uint64) error {
	if e.Kind == rail.ChannelFunded {
		return channels.Adopt(tx, network, e.Channel)
	}
	_, err := channels.Read(tx, network, e.ID)
	if errors.Is(err, errNotFound) || e.Block > final {
		return nil
	}
	return errors.Join(err, channels.Claimed(tx, network, e.ID, e.Total, e.Tx))
}

type adoption int

const (
	adoptKnown adoption = iota
	adoptDirect
	adoptNew
)

// adopt takes one transfer into the ledger.
func adopt(ctx context.Context, db ledger.DB, info rail.Info, tr rail.Transfer) (adoption, error) {
	if tr.Nonce == "" {
		return adoptDirect, nil
	}
	kind := adoptKnown
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	err := db.Update(lctx, func(tx ledger.Tx) error {
		kind = adoptKnown
		pay := paymentOf(info, tr)
		if _, err := tx.Get(authKey(&pay)); err == nil {
			return nil // claimed in the backup: the worker reads the rest from the chain
		} else if !errors.Is(err, errNotFound) {
			return err
		}
		kind = adoptNew
		_, err := owe(tx, info, tr, FromChain, "known from the chain after a restore")
		return err
	})
	return kind, err
}
