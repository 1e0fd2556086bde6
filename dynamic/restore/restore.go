// Package restore brings a store back after a loss (M13): a ledger that was filled from a backup is
// raised by the high-water files of what was given since, compared with the chains, and reopened
// network by network once nothing that was sent before can land any more. It keeps the high-water
// files too, and makes a lost one anew. What is sold meanwhile, and how money that no purchase
// credits is found, is package till's; that a ledger is closed is package ledger's.
//
// A high-water file has one compact JWS a line, each over the JSON of one till.HighMark, signed by
// the store's identity key; the first is of nothing.
//
//	high, err := restore.OpenHighWater("var/high-water.jws", key)  // till.Config.HighWater, while it sells
//	err = ledger.Restore(ctx, db, backup, ledger.Shut)             // and after a loss
//	found, err := restore.Reconcile(ctx, till, marks, recorded)
//	networks, err := restore.Reopen(ctx, db, rails, restore.Options{})
package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// ledgerWait is how long a step in the ledger may take. One that was begun is finished, whatever
// becomes of who asked for it.
const ledgerWait = 15 * time.Second

func view(ctx context.Context, db ledger.DB, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerWait)
	defer cancel()
	return db.View(ctx, f)
}

func update(ctx context.Context, db ledger.DB, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerWait)
	defer cancel()
	return db.Update(ctx, f)
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

// Reconcile reads every network from where it was read when the backup was made. Payments that the
// restored ledger does not know become purchases known from the chain: their authorizations are
// claimed, so that they can never pay again, and their buyers find them by wallet. High-water marks
// and the published record raise counters and take pool entries and words. It may be run again.
func Reconcile(ctx context.Context, t *till.Till, marks []till.HighMark, recorded []record.Observation) ([]Reconciled,
	error) {
	cfg := t.Config()
	if err := errors.Join(raise(ctx, cfg, marks), raiseRecorded(ctx, cfg.DB, recorded)); err != nil {
		return nil, fmt.Errorf("raising counters and pools: %w", err)
	}
	var out []Reconciled
	for _, r := range cfg.Rails {
		if err := cfg.Gas.Ready(ctx, r.Info().Network); err != nil {
			return out, fmt.Errorf("reading %s: %w", r.Info().Name, err)
		}
		rec, err := reconcile(ctx, cfg.DB, r)
		if err != nil {
			return out, fmt.Errorf("reading %s: %w", r.Info().Name, err)
		}
		out = append(out, rec)
	}
	return out, update(ctx, cfg.DB, ledger.SetReconciled)
}

// errNotReconciled keeps a restored store closed.
var errNotReconciled = errors.New("the restored ledger was not compared with the chains yet: run the restore's " +
	"reconcile step first")

func raise(ctx context.Context, cfg till.Config, marks []till.HighMark) error {
	const step = 200 // marks a transaction
	funded := map[string]*rail.Channel{}
	for _, m := range marks {
		if m.Spent != nil && m.Spent.Config != nil {
			funded[m.Spent.Channel] = m.Spent.Config
		}
	}
	for part := range slices.Chunk(marks, step) {
		err := update(ctx, cfg.DB, func(tx ledger.Tx) error {
			for _, m := range part {
				// Of a good that is off the shelf nobody can tell whether it gave its entries once.
				g, ok := cfg.Site.Now().Good(m.Item)
				if err := raiseMark(tx, m, g.Stock || !ok, funded); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// raiseMark takes over one mark: once says that its good gives every entry once.
func raiseMark(tx ledger.Tx, m till.HighMark, once bool, funded map[string]*rail.Channel) error {
	errs := []error{ledger.Raise(tx, till.CounterPatron, m.Patron), ledger.Raise(tx, goods.JarCounter, m.Jar)}
	if m.Account != "" {
		errs = append(errs, account.Restored(tx, m.Account, m.Ref, m.Request, m.Net))
	}
	if m.Word != "" {
		errs = append(errs, goods.MarkRetired(tx, m.Word))
	} else if m.Entry != "" && once {
		errs = append(errs, goods.MarkTaken(tx, m.Pool, m.Entry))
	}
	if s := m.Spent; s != nil {
		errs = append(errs, channels.Raise(tx, s.Network, s.Channel, funded[s.Channel], s.Voucher))
	}
	return errors.Join(errs...)
}

func raiseRecorded(ctx context.Context, db ledger.DB, recorded []record.Observation) error {
	return update(ctx, db, func(tx ledger.Tx) error {
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
	since, err := till.ReadFrom(ctx, db, info)
	if err != nil {
		return rec, err
	}
	rec.From = since.Block
	for tr, err := range rail.Transfers(r.Incoming(ctx, rail.Span{From: rec.From})) {
		if err != nil {
			return rec, err
		}
		if since.Earlier(tr) {
			continue
		}
		rec.Transfers++
		if tr.Nonce == "" {
			rec.Direct++
		} else if known, err := adopt(ctx, db, info, tr); err != nil {
			return rec, err
		} else if known {
			rec.Known++
		} else {
			rec.FromChain++
		}
	}
	if err := readChannels(ctx, db, r, rec.From); err != nil {
		return rec, err
	}
	return rec, till.NoteRead(ctx, db, info, since)
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
		err = update(ctx, db, func(tx ledger.Tx) error {
			for _, e := range piece.Events {
				if err := readChannel(tx, network, e, final.Block); err != nil {
					return err
				}
			}
			return nil
		})
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
	if errors.Is(err, ledger.ErrNotFound) || e.Block > final {
		return nil
	}
	return errors.Join(err, channels.Claimed(tx, network, e.ID, e.Total, e.Tx))
}

// adopt takes one transfer by an authorization into the ledger, unless the backup knows it.
func adopt(ctx context.Context, db ledger.DB, info rail.Info, tr rail.Transfer) (known bool, err error) {
	err = update(ctx, db, func(tx ledger.Tx) error {
		pay := till.PaymentOf(info, tr)
		var err error
		if known, err = ledger.Has(tx, till.AuthKey(&pay)); err != nil || known {
			return err // the worker reads the rest from the chain
		}
		_, err = till.Owe(tx, info, tr, till.FromChain, "known from the chain after a restore")
		return err
	})
	return known, err
}
