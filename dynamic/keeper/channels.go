package keeper

import (
	"context"
	"fmt"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// ChannelBooks compare what was sold by voucher on a network with its channels, and what of it the
// escrow has claimed with what the ledger knows of, as they stand now. Amounts are atomic units.
//
//	charged = sold + believed
//	charged = claimed + unclaimed, of which lost can be claimed no more
//
// What is claimed becomes money when it is moved to payTo: until then what was sold is receivable.
type ChannelBooks struct {
	Channels  int      `json:"channels" doc:"Channels that are known."`
	Charged   int64    `json:"charged_atomic" doc:"What was spent out of them in all."`
	Sold      int64    `json:"sold_atomic" doc:"What was delivered for vouchers."`
	Believed  int64    `json:"believed_atomic" doc:"What was claimed, or said to be spent, without a purchase."`
	Claimed   int64    `json:"claimed_atomic" doc:"What the escrow has claimed for payTo."`
	Moved     int64    `json:"moved_atomic" doc:"What of it came to payTo."`
	Unclaimed int64    `json:"unclaimed_atomic" doc:"What is to be claimed."`
	Lost      int64    `json:"lost_atomic" doc:"What of it is lost: the channel holds less."`
	Kinds     []Kind   `json:"kinds,omitzero" doc:"Differences."`
	Says      []string `json:"says,omitzero"`
}

// channels compares the channels of a network; nil where it takes no vouchers. The escrow is read
// first: what is claimed between the two readings is then known to the ledger alone.
func (d *Inbox) channels(ctx context.Context, r rail.Rail) (*ChannelBooks, error) {
	chans, terms, ok := takesVouchers(r)
	if !ok {
		return nil, nil
	}
	claimed, moved, err := chans.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	var b *ChannelBooks
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		b = &ChannelBooks{Claimed: claimed, Moved: moved}
		return b.compare(tx, r.Info().Network, terms)
	})
	if err != nil {
		return nil, fmt.Errorf("reading channels: %w", err)
	}
	return b, nil
}

// takesVouchers is a network's view of channels, where it takes vouchers.
func takesVouchers(r rail.Rail) (rail.Channels, rail.ChannelTerms, bool) {
	chans, ok := r.(rail.Channels)
	if !ok {
		return nil, rail.ChannelTerms{}, false
	}
	terms, ok := chans.ChannelTerms()
	return chans, terms, ok
}

// compare holds each channel against its purchases, and all of them against the escrow.
func (b *ChannelBooks) compare(tx ledger.Tx, network string, terms rail.ChannelTerms) error {
	sold := map[string]int64{}
	for p, err := range ledger.Values[till.Purchase](tx.Scan(ledger.Purchases())) {
		if err != nil {
			return err
		}
		if p.Payment.Network == network && charged(&p) {
			sold[p.Spent.Channel.ID] += p.Amount
		}
	}
	ids, err := channels.IDs(tx, network)
	if err != nil {
		return err
	}
	known := int64(0) // of what the escrow has claimed
	for _, id := range ids {
		row, err := channels.Read(tx, network, id)
		if err != nil {
			return err
		}
		b.add(row, sold[id])
		if delete(sold, id); row.Channel.Receiver == terms.Receiver && row.Channel.Token == terms.Token {
			known += row.Seen.Claimed
		}
	}
	for id, sum := range sold {
		b.Sold += sum
		b.finds("channel_differs", "Of %s the ledger has no row, and %s of purchases.", id, usdc(sum))
	}
	quiet, err := settled(tx, network)
	if err == nil && quiet && b.Claimed > known {
		b.finds("claimed_unknown", "It is %s.", usdc(b.Claimed-known))
	}
	return err
}

// add takes a channel in, of which purchases came to a sum.
func (b *ChannelBooks) add(row *channels.Row, sold int64) {
	b.Channels++
	b.Sold += sold
	b.Charged += row.Charged
	b.Believed += row.Believed
	b.Unclaimed += row.Unclaimed()
	b.Lost += row.Lost()
	if row.Charged != sold+row.Believed {
		b.finds("channel_differs", "Of %s were spent %s; purchases came to %s, and %s are believed.", row.Channel.ID,
			usdc(row.Charged), usdc(sold), usdc(row.Believed))
	}
	if lost := row.Lost(); lost > 0 {
		b.finds("channel_lost", "It is %s, of %s.", usdc(lost), row.Channel.ID)
	}
}

// settled reports that the ledger knows of every claim: none is under way, and every channel was
// looked at since a restore.
func settled(tx ledger.Tx, network string) (bool, error) {
	for _, err := range tx.Scan(ledger.ChannelWork(network)) {
		return false, err
	}
	w, err := channels.ReadWatch(tx, network)
	return w.Block > 0, err
}

// finds adds a difference.
func (b *ChannelBooks) finds(k Kind, format string, args ...any) {
	b.Kinds, b.Says = append(b.Kinds, k), append(b.Says, Kinds[k]+" "+fmt.Sprintf(format, args...))
}

// charged reports a purchase that a channel was charged for: when it was delivered, and for good.
func charged(p *till.Purchase) bool { return p.Spent != nil && !p.DeliveredAt.IsZero() }
