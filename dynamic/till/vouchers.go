package till

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// A purchase by voucher (M17) is paid out of a channel that its payer has funded (package
// channels). No transaction settles it: the channel is held in the transaction that claims, and
// charged in the one that delivers. Where a deposit comes with the voucher it is settled like any
// payment before that; it is no payment for the purchase itself.
//
//	claimed ─► settled ─► delivered                           by voucher alone: final from settled on
//	claimed ─► goods_ready ─► settling ─► settled ─► delivered  with a deposit
//	   └─ refused | failed | not_settled: the channel is released, and the same voucher buys again

// Spent is what a purchase by voucher is paid by.
type Spent struct {
	Channel rail.Channel  `json:"channel"`
	Max     int64         `json:"max"`              // of the voucher
	Deposit *rail.Payment `json:"deposit,omitzero"` // that came with it
	First   bool          `json:"first,omitzero"`   // nothing was sold out of the channel before
	At      time.Time     `json:"at,omitzero"`      // when it was settled, without a deposit
	// State is the channel as the buyer was told of it, once it was charged.
	State rail.ChannelState `json:"state,omitzero"`
}

// chanRail is a rail that takes vouchers.
type chanRail interface {
	rail.Rail
	rail.Channels
}

// voucherRail is the network on which vouchers are taken, the first one, and what it asks of
// channels; ok is false where none are taken.
func (t *Till) voucherRail() (r chanRail, terms rail.ChannelTerms, ok bool) {
	if t.cfg.Vouchers == nil {
		return nil, terms, false
	}
	if r, ok = t.cfg.Rails[0].(chanRail); ok {
		terms, ok = r.ChannelTerms()
	}
	return r, terms, ok
}

// voucherTerms are the terms of an offer by voucher. What is promised, asked of an upstream after
// the payment or counted is not sold so, and neither is what one channel may not owe.
func (t *Till) voucherTerms(o *Offer) (rail.Requirement, bool) {
	r, _, ok := t.voucherRail()
	k := o.Kind
	if !ok || k.Later || k.Paid != nil || k.Counted || o.Ask != nil || o.Price() > t.cfg.Vouchers.Most() {
		return rail.Requirement{}, false
	}
	return r.VoucherRequirement(o.Price(), t.leastDeposit()), true
}

// leastDeposit is the least that is taken as a deposit: what is configured, and twenty times what
// deposit, claim, sweep and refund cost together, which is about six settlements of a payment. It
// is the configured sum doubled as often as that takes, so that terms seldom change.
func (t *Till) leastDeposit() int64 {
	r, terms, _ := t.voucherRail()
	const times = 20 * 6 / 2 // Least is two settlements
	need := times * min(t.cfg.Gas.Least(context.Background(), r.Info().Network), 1<<50)
	n := terms.MinDeposit
	for n < need {
		n *= 2
	}
	return n
}

// seesChannels reports that payers' withdrawals are seen: nothing is sold by voucher otherwise.
func (t *Till) seesChannels() bool {
	_, terms, _ := t.voucherRail()
	seen := t.seen.Load()
	return seen == nil || !channels.IsBlind(*seen, t.cfg.Now(), terms.Delay)
}

// parseVoucher reads a payment by voucher. Its nonce is the channel and how much of it is spent:
// the voucher is its own idempotency key.
func (t *Till) parseVoucher(p *Presented) {
	r, _, ok := t.voucherRail()
	if !ok || r.Info().Network != p.Accepted.Network {
		p.Refusal = &rail.Refusal{Reason: "unsupported_scheme", Message: "this store takes no vouchers on that network"}
		return
	}
	amount, isAmount := new(big.Int).SetString(p.Accepted.Amount, 10)
	c, err := r.ParseChannel(p.Payload, p.Accepted)
	switch {
	case err != nil:
		if !errors.As(err, &p.Refusal) {
			p.Refusal = &rail.Refusal{Reason: "invalid_payload", Message: "the voucher cannot be read"}
		}
		return
	case !isAmount:
		p.Refusal = &rail.Refusal{Reason: "invalid_payload", Message: "accepted.amount is not a number"}
		return
	}
	until := t.cfg.Now().Add(r.Info().Timeout).Unix()
	if c.Deposit != nil {
		until = c.Deposit.ValidBefore
	}
	p.rail, p.channel = r, c
	p.payment = &rail.Payment{Network: p.Accepted.Network, Asset: c.Channel.Token, Method: rail.MethodVoucher,
		Payer: c.Channel.Payer, Nonce: fmt.Sprintf("%s/%d", c.Channel.ID, c.Voucher.Max), PayTo: c.Channel.Receiver,
		Amount: amount, ValidBefore: until, Signature: c.Voucher.Signature}
}

// settles is the payment that a transaction settles for a purchase.
func (p *Purchase) settles() *rail.Payment {
	switch {
	case p.Spent != nil && p.Spent.Deposit != nil:
		return p.Spent.Deposit
	case p.Held != nil && p.Held.End != nil:
		return p.Held.End
	}
	return &p.Payment
}

// settles is the same of an order.
func (o *matched) settles() (*rail.Payment, int64) {
	if c := o.p.channel; c != nil && c.Deposit != nil {
		return c.Deposit, rail.Atomic(c.Deposit.Amount)
	}
	return o.p.payment, o.amount()
}

// takeVoucher is take of a payment by voucher.
func (t *Till) takeVoucher(ctx context.Context, o *matched) (*Sale, error) {
	if t.closing.Load() {
		return nil, (&Error{Code: CodeRestarting, Retry: 5 * time.Second}).paid("no", "now")
	}
	if !ownKey(o.key) {
		o.key = "" // a suggested one does not join two vouchers
	}
	r, c := o.p.rail.(chanRail), o.p.channel
	bid := channels.Bid{Network: r.Info().Network, ChannelPayment: *c, Amount: o.amount(),
		Purchase: attest.NewID(prefixPurchase), Print: o.print}
	left := func() {}
	var seen rail.Verified
	if c.Deposit != nil {
		if least := t.leastDeposit(); rail.Atomic(c.Deposit.Amount) < least {
			_, terms, _ := t.voucherRail()
			return t.voucherRefused(ctx, o, &rail.Refusal{Reason: terms.Reasons + "deposit_below_min_deposit",
				Message: fmt.Sprintf("a deposit is at least %s USDC", usdc(least))})
		}
		if err := t.cfg.Gas.Take(ctx, bid.Network, rail.Atomic(c.Deposit.Amount), 0); err != nil {
			return t.voucherRefused(ctx, o, err)
		}
	}
	known := t.knownPayer(ctx, o)
	err := t.checks.Verify(ctx, o.client, known, func() (err error) {
		bid.Coded, err = r.VerifyVoucher(ctx, c, o.terms, o.at)
		if err == nil && c.Deposit != nil {
			seen, bid.Seen, err = r.VerifyDeposit(ctx, c, o.terms, o.at)
		}
		return err
	})
	o.local = seen.Local
	if errors.Is(err, rail.ErrUsed) && c.Deposit != nil {
		// The deposit landed, perhaps for a purchase that was given up: the voucher may buy
		// without.
		o.p.channel.Deposit, bid.Deposit, err = nil, nil, nil
	}
	if err != nil {
		return t.voucherRefused(ctx, o, err)
	}
	if c.Deposit != nil {
		if left, err = t.enter(ctx, o); err != nil {
			return t.voucherRefused(ctx, o, err)
		}
	}
	p, rep, err := t.holdChannel(ctx, o, bid, seen)
	if p == nil {
		left()
	}
	switch {
	case errors.Is(err, ledger.ErrUnknown):
		return nil, t.claimError(ctx, o, bid.Purchase, err)
	case err != nil:
		return t.voucherRefused(ctx, o, err)
	case rep != nil:
		return t.answerRepeat(ctx, rep)
	}
	return t.carryOut(ctx, p, left)
}

// knownPayer reports whether a payer settled here before, and pays by its own key: then it goes on
// where a client's checks are spent.
func (t *Till) knownPayer(ctx context.Context, o *matched) func() bool {
	c := &o.p.channel.Channel
	return func() bool {
		return c.Signer == c.Payer && t.cfg.Gas.Plain(ctx, o.p.payment.Network, c.Payer)
	}
}

// holdChannel claims an order by voucher. The chain is read where the row asks for it, and once
// where a voucher does not fit what is known: the payer may have put money in elsewhere. Where
// something is under way for the channel it waits for that a while.
func (t *Till) holdChannel(ctx context.Context, o *matched, bid channels.Bid, seen rail.Verified) (*Purchase, *repeated,
	error) {
	waiting, cancel := context.WithTimeout(ctx, t.cfg.OpenWait)
	defer cancel()
	for {
		p, rep, err := t.claimVoucher(ctx, o, bid, seen)
		_, mismatch := errors.AsType[*channels.Mismatch](err)
		busy, isBusy := errors.AsType[*channels.Busy](err)
		switch {
		case errors.Is(err, channels.ErrUnknown),
			(mismatch || errors.Is(err, channels.ErrExceeds)) && bid.Seen.ID == "":
			readErr := t.checks.Verify(ctx, o.client, t.knownPayer(ctx, o), func() error {
				states, err := o.p.rail.(chanRail).ReadChannels(ctx, []string{bid.Channel.ID}, false)
				if err == nil {
					bid.Seen = states[0]
				}
				return err
			})
			if readErr != nil {
				return nil, nil, readErr
			}
			continue
		case isBusy && waiting.Err() == nil:
			if busy.Purchase != "" {
				if _, readErr := t.await(waiting, busy.Purchase, t.cfg.OpenWait); readErr != nil {
					return nil, nil, ledgerDown(readErr)
				}
			}
			timer := time.NewTimer(50 * time.Millisecond) // a refund, or an end that is just being written
			select {
			case <-timer.C:
			case <-waiting.Done():
				timer.Stop()
			}
			continue
		}
		return p, rep, err
	}
}

// claimVoucher takes the channel, the slot of a key of the buyer's own and the stock in one
// transaction, or finds the purchase that the voucher repeats.
func (t *Till) claimVoucher(ctx context.Context, o *matched, bid channels.Bid, seen rail.Verified) (p *Purchase,
	rep *repeated, err error) {
	if t.full() {
		return nil, nil, (&Error{Code: CodeFull, Retry: 2 * time.Second}).paid("no", "same_payment")
	}
	cost := t.cfg.Gas.Least(ctx, bid.Network) // a deposit takes less than twice what a payment does
	do := func(tx ledger.Tx, a *settle.Admission) error {
		p, rep = nil, nil
		ledger.Ahead(tx, append(o.reads(bid.Purchase), channels.Reads(bid.Network, bid.Channel.ID, o.at)...)...)
		if err := isOpen(tx, bid.Network); err != nil {
			return err
		}
		if rep, err = t.voucherSlot(tx, o, bid); err != nil || rep != nil {
			return err
		}
		if a != nil {
			if err := t.maySettle(tx, o.p.payment, a, bid.Purchase, seen); err != nil {
				return err
			}
		}
		row, err := t.cfg.Vouchers.Reserve(tx, bid)
		if err != nil {
			return err
		}
		if bid.Deposit != nil {
			if err := t.cfg.Vouchers.Spend(tx, bid.Network, bid.Channel.ID, cost); err != nil {
				return err
			}
		}
		if p, err = o.order(tx, t.makerOn(o.site), bid.Purchase, seen); err != nil {
			return err
		}
		p.Spent = &Spent{Channel: bid.Channel, Max: bid.Voucher.Max, Deposit: bid.Deposit,
			First: row.Last == nil}
		if o.key != "" {
			if err := t.takeSlot(tx, o, p); err != nil {
				return err
			}
		}
		return t.saveClaimed(tx, o, p)
	}
	if bid.Deposit != nil {
		err = t.admit(ctx, o, do)
	} else {
		err = t.update(ctx, func(tx ledger.Tx) error { return do(tx, nil) })
	}
	if repeat, ok := errors.AsType[*channels.Repeat](err); ok && repeat.Again {
		return nil, &repeated{purchase: repeat.Purchase}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if rep == nil {
		t.cfg.AfterStep("claimed")
	}
	return p, rep, nil
}

// voucherSlot is slot of a payment by voucher, which opens it only where the voucher proves its
// payer (M1).
func (t *Till) voucherSlot(tx ledger.Tx, o *matched, bid channels.Bid) (*repeated, error) {
	if o.key == "" {
		return nil, nil
	}
	proves, err := channels.Proves(tx, bid)
	if err != nil || !proves {
		return nil, err
	}
	rep, err := t.slot(tx, o)
	if rep != nil {
		rep.unspent = true
	}
	return rep, err
}

// voucherRefused answers a voucher that buys nothing.
func (t *Till) voucherRefused(ctx context.Context, o *matched, err error) (*Sale, error) {
	_, terms, _ := t.voucherRail()
	refuse := func(reason string) (*Sale, error) {
		return nil, t.refuse(o.asked, &rail.Refusal{Reason: terms.Reasons + reason, Message: err.Error(), Err: err})
	}
	if busy, ok := errors.AsType[*settle.ChecksBusy](err); ok {
		return nil, (&Error{Code: CodeManyRefused, Retry: busy.Retry}).paid("no", "after")
	}
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return nil, t.refuse(o.asked, refusal)
	}
	if m, ok := errors.AsType[*channels.Mismatch](err); ok {
		t.checks.Refused(o.client) // it had the chain read
		sale, err := refuse(rail.ReasonMismatch)
		if e, ok := errors.AsType[*Error](err); ok {
			e.Channel = m.Row.Told(o.p.channel.Voucher.Max)
		}
		return sale, err
	}
	_, repeat := errors.AsType[*channels.Repeat](err)
	_, busy := errors.AsType[*channels.Busy](err)
	_, blind := errors.AsType[*channels.Blind](err)
	_, over := errors.AsType[*channels.Over](err)
	switch {
	case repeat:
		return nil, (&Error{Code: CodeAlreadyUsed}).paid("yes", "never")
	case busy:
		return refuse(rail.ReasonBusy)
	case blind:
		return refuse("verification_state_unavailable")
	case over:
		return refuse("limit_reached")
	case errors.Is(err, channels.ErrExceeds):
		t.checks.Refused(o.client)
		return refuse(rail.ReasonExceeds)
	case errors.Is(err, channels.ErrWithdrawing):
		return refuse("withdrawal_pending")
	case errors.Is(err, channels.ErrLeaving):
		return refuse("refund_pending")
	case errors.Is(err, channels.ErrNothing):
		return refuse("refund_no_balance")
	case errors.Is(err, channels.ErrUnknown):
		return refuse("channel_not_found")
	case errors.Is(err, channels.ErrConsent):
		return refuse("authorizer_address_mismatch")
	case isAnswer(err), goodsRefused(err):
		err = gateError(err)
		if e, ok := errors.AsType[*Error](err); ok && e.Payment == nil {
			err = stockRefusal(err)
		}
		return nil, err
	}
	if _, out := errors.AsType[*settle.GasOutage](err); out {
		return t.whileOut(ctx, o, err)
	}
	return nil, unreadable(err)
}

// goodsRefused reports an error by which a kind of goods says no.
func goodsRefused(err error) bool { return refused(err) || errors.Is(err, goods.ErrNoRequest) }

// takeCharge charges the channel of a purchase by voucher, in the transaction that delivers.
func takeCharge(tx ledger.Tx, p *Purchase) error {
	if p.Spent == nil {
		return nil
	}
	mined := uint64(0)
	if p.Proof != nil {
		mined = p.Proof.Block
	}
	row, err := channels.Take(tx, p.Payment.Network, p.Spent.Channel.ID, p.ID, mined)
	if err != nil {
		return fmt.Errorf("charging the channel of %s: %w", p.ID, err)
	}
	p.Spent.State = row.Last.State
	return nil
}

// Paid is what a purchase by voucher was paid by, as who checks its certificate may see it. The
// chain has all of it once the voucher is claimed.
type Paid struct {
	Network string `json:"network"`
	Channel string `json:"channel_id"`
	Sum     string `json:"sum_usdc"`           // what was spent of the channel in all, by this purchase's voucher
	ClaimTx string `json:"claim_tx,omitempty"` // that claimed it, once that is final
}

// PaidBy is what a purchase was paid by out of a channel; nil for one that was not, and for what
// was not bought here.
func (t *Till) PaidBy(ctx context.Context, id string) (paid *Paid, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		paid = nil
		p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
		if err == nil {
			paid, err = paidBy(tx, &p)
		}
		return err
	})
	if err != nil && !errors.Is(err, errNotFound) {
		return nil, ledgerDown(err)
	}
	return paid, nil
}

func paidBy(tx ledger.Tx, p *Purchase) (*Paid, error) {
	if p.Spent == nil || p.DeliveredAt.IsZero() {
		return nil, nil
	}
	paid := &Paid{Network: p.Payment.Network, Channel: p.Spent.Channel.ID, Sum: usdc(p.Spent.Max)}
	var err error
	paid.ClaimTx, err = channels.ClaimOf(tx, paid.Network, paid.Channel, p.Spent.Max)
	return paid, err
}

// letGo releases the channel of a purchase by voucher that takes nothing.
func letGo(tx ledger.Tx, p *Purchase) error {
	if p.Spent == nil {
		return nil
	}
	return channels.Release(tx, p.Payment.Network, p.Spent.Channel.ID, p.ID, 0)
}
