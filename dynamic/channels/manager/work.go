package manager

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// work is a transaction of the store's own that is under way, at
// channel/<network>/settling/<id of the settlement>.
type work struct {
	Settlement string    `json:"settlement"`
	Kind       string    `json:"kind"` // method of the payment
	Channels   []string  `json:"channels,omitzero"`
	Totals     []int64   `json:"totals,omitzero"` // up to which each is claimed; 0 for one that is not
	Since      time.Time `json:"since"`
	// Ended says of a refund that its channel was opened again: another one of it is another work.
	Ended bool `json:"ended,omitzero"`
}

// prefix is how the ids of members of the store's own transactions for channels begin.
const prefix = "chn_"

// begin signs and stores a transaction of the store's own with what arrow writes, and drives it.
func (r *round) begin(ctx context.Context, w work, p *rail.Payment, arrow func(ledger.Tx) error) error {
	head, err := r.net.Head(ctx)
	if err != nil {
		return err
	}
	s, err := r.cfg.Settles.Begin(ctx, settle.Order{
		Members: []settle.Member{{ID: attest.NewID(prefix), Payment: *p,
			Verified: rail.Verified{Head: head}}},
		Arrow: func(tx ledger.Tx, s *settle.Settlement) error {
			if err := r.check(tx); err != nil {
				return err
			}
			w.Settlement, w.Since = s.ID, tx.Now()
			return errors.Join(arrow(tx), ledger.SetJSON(tx, ledger.ChannelWorkKey(r.id, s.ID), w))
		}})
	if err != nil {
		return err
	}
	return r.drive(ctx, w, s)
}

// goOn drives what is under way, and notes which channels it is of. What it would wait behind is
// out of the way before.
func (r *round) goOn(ctx context.Context) error {
	if err := r.fillLeft(ctx); err != nil {
		return err
	}
	var all []work
	err := r.view(ctx, func(tx ledger.Tx) error {
		all = nil
		for e, err := range tx.Scan(ledger.ChannelWork(r.id)) {
			if err != nil {
				return err
			}
			w, err := ledger.DecodeJSON[work](e)
			if err != nil {
				return err
			}
			all = append(all, w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, w := range all {
		s, err := r.cfg.Settles.Load(ctx, w.Settlement)
		if err != nil {
			return err
		}
		if err := r.drive(ctx, w, s); err != nil {
			return err
		}
	}
	return nil
}

// fillLeft uses up the numbers of transactions that are no work any more: one that reverted too
// often is given up, and a reorganisation may open its number again, behind which all later
// transactions of its account would wait.
func (r *round) fillLeft(ctx context.Context) error {
	left, err := r.cfg.Settles.Unfinished(ctx, prefix, r.id)
	if err != nil {
		return err
	}
	for _, s := range left {
		var is bool
		err := r.view(ctx, func(tx ledger.Tx) (err error) {
			is, err = ledger.Has(tx, ledger.ChannelWorkKey(r.id, s.ID))
			return err
		})
		if err == nil && !is {
			err = r.cfg.Settles.Abandon(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// most is how long a round waits for one transaction; the next one goes on.
const most = 20 * time.Second

// drive sees a transaction through until the chain has spoken, and takes over what the chain says
// of its channels. What is beyond reorganisation, or never can land, is no work any more.
func (r *round) drive(ctx context.Context, w work, s *settle.Settlement) error {
	o := &owner{}
	waiting, cancel := context.WithTimeout(ctx, most)
	err := r.cfg.Settles.Drive(waiting, s, o)
	cancel()
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	landed, over := o.news.State == rail.Paid, o.news.State == rail.Dead || o.news.Over != nil
	if landed || over {
		if err := r.observe(ctx, w.Channels); err != nil {
			return err
		}
	}
	if over {
		r.cfg.Log.Error("a transaction for channels did not go through", "network", r.id, "kind", w.Kind, "settlement",
			w.Settlement, "channels", len(w.Channels), "news", o.news.Reason, "over", o.news.Over)
	}
	if w.Kind == rail.MethodRefund && (landed || over) && !w.Ended {
		var in rail.Proof
		if landed {
			in = *o.news.Proof
		}
		w.Ended = true
		err := r.endRefund(ctx, w.Channels[0], in, func(tx ledger.Tx) error {
			return ledger.SetJSON(tx, ledger.ChannelWorkKey(r.id, w.Settlement), w)
		})
		if err != nil {
			return err
		}
	}
	if landed && o.news.Final || over {
		return r.write(ctx, func(tx ledger.Tx) error {
			for i, total := range w.Totals {
				var err error
				switch {
				case landed && total > 0:
					err = channels.Claimed(tx, r.id, w.Channels[i], total, o.news.Proof.Tx)
				case over && w.Kind == rail.MethodClaims:
					err = channels.Deny(tx, r.id, w.Channels[i], len(w.Channels) == 1)
				}
				if err != nil {
					return err
				}
			}
			return tx.Delete(ledger.ChannelWorkKey(r.id, w.Settlement))
		})
	}
	if landed {
		return nil // its channels may go on; the next round looks at it again
	}
	r.sweeps = r.sweeps || w.Kind == rail.MethodSweep
	for _, id := range w.Channels {
		r.busy[id] = true
	}
	return nil
}

// endRefund opens a channel again, as the chain has it now; in is what gave back, the zero Proof
// for nothing. beside is written with it.
func (r *round) endRefund(ctx context.Context, id string, in rail.Proof, beside func(ledger.Tx) error) error {
	state, err := r.since(ctx, id, in.Block)
	if err != nil {
		return err
	}
	return r.write(ctx, func(tx ledger.Tx) error {
		return errors.Join(channels.EndRefund(tx, r.id, state, in.Tx), beside(tx))
	})
}

// since is a channel as a block has it, or a later one. What a node tells may lag behind what it
// told before.
func (r *round) since(ctx context.Context, id string, block uint64) (rail.ChannelState, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		states, err := r.net.ReadChannels(ctx, []string{id}, false)
		if err != nil {
			return rail.ChannelState{}, err
		}
		if states[0].Block >= block {
			return states[0], nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return rail.ChannelState{}, ctx.Err()
		}
	}
}

// told passes errors on but for those by which a network says that nothing is sent now: they are
// logged, and the next round tries again.
func (r *round) told(err error) error {
	if isEnded(err) {
		r.cfg.Log.Warn("nothing is sent for channels at present", "network", r.id, "err", err)
		return nil
	}
	return err
}

func isEnded(err error) bool {
	_, over := settle.Ended(err)
	return over
}

// owner hears of one transaction until the chain has spoken.
type owner struct{ news settle.News }

// Waits implements settle.Owner.
func (*owner) Waits(bool) {}

// Reverted implements settle.Owner: what a revert says is read from the chain.
func (*owner) Reverted(ledger.Tx, settle.Member) error { return nil }

// Heard implements settle.Owner.
func (o *owner) Heard(_ context.Context, _ *settle.Settlement, _ settle.Member, n settle.News) (bool, error) {
	o.news = n
	return n.State != rail.Paid && n.State != rail.Dead && n.Over == nil, nil
}
