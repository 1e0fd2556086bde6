package manager

import (
	"context"
	"errors"
	"slices"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

const (
	// again is how many blocks are looked at again: a reorganisation may move a withdrawal there.
	again = 64
	// several is how many channels one transaction of the ledger writes.
	several = 50
)

// withdrawals reads what payers withdraw and how the channels stand, and notes that it did.
func (r *round) withdrawals(ctx context.Context) error {
	head, err := r.net.Head(ctx)
	if err != nil {
		return err
	}
	var w channels.Watch
	var ids []string
	err = r.view(ctx, func(tx ledger.Tx) (err error) {
		if w, err = channels.ReadWatch(tx, r.id); err != nil {
			return err
		}
		ids = nil
		if w.Block == 0 || w.Block > head.Block+again { // nobody knows what was seen
			ids, err = channels.IDs(tx, r.id)
			return err
		}
		opened, err := channels.Opens(tx, r.id)
		for _, o := range opened {
			ids = append(ids, o.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := r.observe(ctx, ids); err != nil {
		return err
	}
	if from := min(w.Block, head.Block); from > 0 {
		// Of a channel with nothing unclaimed the event alone tells.
		span := rail.Span{From: from - min(from, again), To: head.Block}
		for piece, err := range r.net.ChannelEvents(ctx, span, rail.ChannelWithdrawn) {
			if err != nil {
				return err
			}
			var ids []string
			for _, e := range piece.Events {
				ids = append(ids, e.ID)
			}
			if err := r.observe(ctx, ids); err != nil {
				return err
			}
			// The time stays that of the last whole look: until this one is whole too, nobody sees.
			if err := r.looked(ctx, piece.Rest.From-1, w); err != nil {
				return err
			}
		}
	}
	return r.looked(ctx, head.Block, channels.Watch{Time: head.Time})
}

func (r *round) looked(ctx context.Context, block uint64, at channels.Watch) error {
	return r.write(ctx, func(tx ledger.Tx) error {
		if at.Time.After(tx.Now()) {
			at.Time = tx.Now() // a node's clock that is ahead does not make the store see further
		}
		return channels.Looked(tx, r.id, block, at.Time)
	})
}

// observe reads some channels, as the newest block and a final one have them. Those that are not
// known are read for nothing, and not noted.
func (r *round) observe(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, several) {
		newest, err := r.net.ReadChannels(ctx, some, false)
		if err != nil {
			return err
		}
		final, err := r.net.ReadChannels(ctx, some, true)
		if err != nil {
			return err
		}
		err = r.write(ctx, func(tx ledger.Tx) error {
			for i := range some {
				if err := errors.Join(channels.Observe(tx, r.id, newest[i], false),
					channels.Observe(tx, r.id, final[i], true)); err != nil {
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
