package till

import (
	"context"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/channels/manager"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// refundChannel answers a payer who asks at any door for what is left in its channel: the voucher
// is for what was charged so far. Nothing is sold. What moves the money is package manager; a
// payer who does not want to wait can withdraw by itself.
func (t *Till) refundChannel(ctx context.Context, order Order) (*Sale, error) {
	p := order.Payment
	r, c, network := p.rail.(chanRail), p.channel, p.payment.Network
	site := t.cfg.Site.Now()
	offer := t.offer(site, order.Item)
	if offer == nil {
		return nil, withPayment(&Error{Code: CodeUnknownItem, Item: order.Item}, Outcome{Billed: "no", Retry: "now"})
	}
	offer, err := t.priced(ctx, offer)
	if err != nil {
		return nil, withPayment(err, Outcome{Billed: "no", Retry: "now"})
	}
	o := &matched{asked: askedFor(site, offer, nil), p: p, at: time.Now().UTC(),
		client: order.Client, terms: r.VoucherRequirement(offer.Price(), t.leastDeposit())}
	err = t.checks.Verify(ctx, o.client, t.knownPayer(ctx, o), func() error {
		_, err := r.VerifyVoucher(ctx, c, o.terms, o.at)
		return err
	})
	if err != nil {
		return t.voucherRefused(ctx, o, err)
	}
	least := t.cfg.Gas.Least(ctx, network)
	var row *channels.Row
	err = t.update(ctx, func(tx ledger.Tx) (err error) {
		if err := isOpen(tx, network); err != nil {
			return err
		}
		if row, err = channels.BeginRefund(tx, network, c, least); err != nil {
			return err
		}
		return manager.Soon(tx, network)
	})
	if err != nil {
		return t.voucherRefused(ctx, o, err)
	}
	waiting, cancel := context.WithTimeout(ctx, t.cfg.SettleWait)
	defer cancel()
	for row.Refund != nil {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-waiting.Done():
			return t.voucherRefused(ctx, o, &channels.Busy{}) // it is made all the same
		}
		if err := t.view(ctx, func(tx ledger.Tx) (err error) {
			row, err = channels.Read(tx, network, c.Channel.ID)
			return err
		}); err != nil {
			return nil, ledgerDown(err)
		}
	}
	if row.Returned == nil {
		_, terms, _ := t.voucherRail()
		return nil, t.refuse(o.asked, &rail.Refusal{Reason: terms.Reasons + "refund_transaction_failed",
			Message: "the refund was not made; withdraw from the escrow yourself"})
	}
	return &Sale{Refunded: row}, nil
}
