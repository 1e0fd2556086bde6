package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// rows is how many vouchers one transaction claims.
const rows = 50

// due is a channel that is to be claimed.
type due struct {
	rail.VoucherClaim
	brings int64
	urgent bool // its payer withdraws
	alone  bool // others are not to fail by it
}

// claims claims what is worth it.
func (r *round) claims(ctx context.Context) error {
	var all []due
	err := r.view(ctx, func(tx ledger.Tx) error {
		all = nil
		opened, err := channels.Opens(tx, r.id)
		if err != nil {
			return err
		}
		for _, o := range opened {
			row, err := channels.Read(tx, r.id, o.ID)
			if err != nil {
				return err
			}
			if d, ok := r.due(row, o, tx.Now()); ok {
				all = append(all, d)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	all, err = r.tried(ctx, all)
	if err != nil {
		return err
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && n < rows && !all[n-1].alone && !all[n].alone {
			n++
		}
		if err := r.claim(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// due is what is to be claimed of a channel at present, if it is to be.
func (r *round) due(row *channels.Row, o channels.Opened, now time.Time) (due, bool) {
	d := due{VoucherClaim: row.Claim(), urgent: row.Seen.Withdrawing > 0,
		alone: row.Channel.Signer == "" || row.Denials() > 0}
	d.brings = d.Total - row.Seen.Claimed
	if row.Lost() > 0 {
		r.cfg.Log.Error("a channel holds less than was sold out of it", "network", r.id, "channel", o.ID, "payer",
			row.Channel.Payer, "lost", row.Lost())
	}
	most := r.cfg.Limits.Channel
	if most == 0 {
		most = channels.DefaultChannel
	}
	full := 2*row.AtRisk() >= most
	switch {
	case r.busy[o.ID], d.brings <= 0, row.Refund != nil, now.Before(row.ClaimFrom()):
		return d, false
	case d.urgent, full:
		return d, true
	}
	return d, now.Sub(row.Last.At) >= r.cfg.Fresh && (d.brings >= r.cfg.Sum || now.Sub(o.Since) >= r.cfg.Age)
}

// tried leaves out what would revert at present, and tells of it.
func (r *round) tried(ctx context.Context, all []due) (good []due, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	list := make([]rail.VoucherClaim, len(all))
	for i := range all {
		list[i] = all[i].VoucherClaim
	}
	failing, err := r.net.Simulate(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, why := range failing {
		if why == nil {
			good = append(good, all[i])
			continue
		}
		r.cfg.Log.Error("a voucher cannot be claimed", "network", r.id, "channel", all[i].Channel.ID, "payer",
			all[i].Channel.Payer, "sum", all[i].brings, "withdraws", all[i].urgent, "why", why)
	}
	return good, nil
}

// claim claims some vouchers in one transaction. Where that is too dear for what is not urgent,
// only what is urgent is claimed.
func (r *round) claim(ctx context.Context, list []due) error {
	w := work{Kind: rail.MethodClaims}
	var vouchers []rail.VoucherClaim
	var brings, cost int64
	urgent := []due{}
	for _, d := range list {
		vouchers, brings = append(vouchers, d.VoucherClaim), brings+d.brings
		w.Channels, w.Totals = append(w.Channels, d.Channel.ID), append(w.Totals, d.Total)
		if d.urgent {
			urgent = append(urgent, d)
		}
	}
	p, err := r.net.Claims(vouchers, brings)
	if err != nil {
		return err
	}
	if cost, err = r.cost(ctx, p); err != nil {
		return r.told(err)
	}
	if cost > brings/share && len(urgent) < len(list) {
		r.cfg.Log.Info("claiming vouchers is too dear at present", "network", r.id, "channels", len(list),
			"brings", brings, "cost", cost)
		if len(urgent) == 0 {
			return nil
		}
		return r.claim(ctx, urgent)
	}
	return r.told(r.begin(ctx, w, p, func(tx ledger.Tx) error {
		for _, v := range vouchers {
			if err := channels.Show(tx, r.id, v.Channel.ID, v.Voucher.Max); err != nil {
				return err
			}
		}
		return nil
	}))
}

// cost is what a payment of the store's own is expected to cost.
func (r *round) cost(ctx context.Context, p *rail.Payment) (int64, error) {
	d, err := r.net.Draft(ctx, []*rail.Payment{p})
	if err != nil {
		return 0, err
	}
	return d.Price().Cost, nil
}

// sweep moves what was claimed to payTo.
func (r *round) sweep(ctx context.Context) error {
	claimed, moved, err := r.net.Claimed(ctx)
	sum := claimed - moved
	if err != nil || sum < r.cfg.Sweep || r.sweeps {
		return err
	}
	p := r.net.Sweep(fmt.Sprint("sweep/", time.Now().UnixNano()), sum)
	cost, err := r.cost(ctx, p)
	if err != nil || cost > sum/share {
		return r.told(err)
	}
	return r.told(r.begin(ctx, work{Kind: rail.MethodSweep}, p, func(ledger.Tx) error { return nil }))
}

// refunds makes those that were asked for.
func (r *round) refunds(ctx context.Context) error {
	var asked []*channels.Row
	err := r.view(ctx, func(tx ledger.Tx) (err error) {
		asked, err = channels.Refunding(tx, r.id)
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range asked {
		if r.busy[row.Channel.ID] {
			continue
		}
		if err := r.refund(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// refund begins one. What cannot be refunded is not tried for ever: the channel is opened again.
func (r *round) refund(ctx context.Context, row *channels.Row) error {
	id := row.Channel.ID
	v := rail.VoucherClaim{Channel: row.Channel}
	if row.Unclaimed() > 0 {
		v = row.Claim()
	}
	p, err := r.net.Refund(v, row.Refund.Amount, row.Seen.RefundNonce)
	if err != nil {
		return err
	}
	cost, err := r.cost(ctx, p)
	if err == nil {
		w := work{Kind: rail.MethodRefund, Channels: []string{id}, Totals: []int64{v.Total}}
		err = r.begin(ctx, w, p, func(tx ledger.Tx) error {
			return errors.Join(r.cfg.Limits.Spend(tx, r.id, id, cost), channels.Show(tx, r.id, id, v.Voucher.Max),
				channels.Sign(tx, r.id, id, channels.Signed{Amount: row.Refund.Amount, Nonce: row.Seen.RefundNonce}))
		})
	}
	_, over := errors.AsType[*channels.Over](err)
	if over || isEnded(err) {
		r.cfg.Log.Warn("a refund is not made", "network", r.id, "channel", id, "amount", row.Refund.Amount, "err", err)
		return r.endRefund(ctx, id, rail.Proof{}, func(ledger.Tx) error { return nil })
	}
	return r.told(err)
}
