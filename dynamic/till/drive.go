package till

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// waitingRuns is how many runs may wait for the chain, for each that may be under way.
const waitingRuns = 8

// full reports whether this process has as many purchases under way as it takes. A run that only
// waits for the chain holds no place among them (M16); there is a bound on all together, for
// memory's sake.
func (t *Till) full() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active >= t.cfg.MaxInFlight || len(t.runs) >= waitingRuns*t.cfg.MaxInFlight
}

// waits notes whether the run of a purchase, if there is one, merely waits for the chain.
func (t *Till) waits(id string, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.runs[id]
	if f == nil || f.waits == waits {
		return
	}
	f.waits = waits
	if waits {
		t.active--
	} else {
		t.active++
	}
}

// start drives a purchase in the background, once at a time in this process, and calls left when
// that stops. The driving outlives the request. p is the purchase as it was just stored, or nil.
func (t *Till) start(id string, p *Purchase, left ...func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.runs[id]; f != nil {
		f.onDone = append(f.onDone, left...)
		return
	}
	f := &run{done: make(chan struct{}), onDone: left}
	t.runs[id] = f
	t.active++
	go func() {
		defer func() {
			t.mu.Lock()
			delete(t.runs, id)
			if !f.waits {
				t.active--
			}
			left := f.onDone
			t.mu.Unlock()
			t.gate.Freed()
			for _, left := range left {
				left()
			}
			close(f.done)
		}()
		ctx, cancel := context.WithTimeout(context.Background(), t.cfg.SettleWait)
		defer cancel()
		var err error
		if f.end, err = t.drive(ctx, id, p); err != nil && !errors.Is(err, errMoved) &&
			!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, settle.ErrGasUnchecked) {
			// The worker comes back to it; nothing is lost, but somebody should know.
			t.cfg.Log.Error("purchase stopped on its way", "purchase", id, "err", err)
		}
	}()
}

// drive pushes a purchase forward until it rests or ctx ends. It may be called for any purchase in
// any state, by any number of hands. One that rests already is looked at; one that has just come to
// rest is not, the worker does when it is due. p is the purchase as it was just stored, or nil; so
// is what comes back. Each step goes on from what the one before it stored, and what another hand
// moved is read again.
func (t *Till) drive(ctx context.Context, id string, p *Purchase) (_ *Purchase, err error) {
	for moved := false; ; moved = true {
		if p == nil {
			if p, err = t.load(ctx, id); err != nil {
				return nil, err
			}
		}
		switch p.State {
		case Claimed:
			p, err = t.makeGoods(ctx, p)
		case GoodsReady:
			p, err = t.sign(ctx, p)
		case Settling, Unknown:
			p, err = t.settle(ctx, p)
		case Asking:
			p, err = t.ask(ctx, p)
		case Settled, SettledLate:
			p, err = t.deliver(ctx, p)
		case Held:
			if moved {
				return p, nil
			}
			p, err = t.tend(ctx, p)
		case Capturing, Voiding:
			p, err = t.endHold(ctx, p)
		case Promised, Delivered, Refused, Failed, NotSettled, RefundOwed, Released:
			if p.Final || moved {
				return p, nil
			}
			return nil, t.watch(ctx, p)
		default:
			return p, nil
		}
		if err != nil {
			p = nil
		}
		if err != nil && !errors.Is(err, errMoved) {
			return nil, err
		}
	}
}

// makeGoods: claimed → settling | goods_ready | failed. Mostly there is room for its transaction,
// and the goods are kept in the transaction that signs it; else they are kept while the purchase
// waits.
func (t *Till) makeGoods(ctx context.Context, p *Purchase) (*Purchase, error) {
	o, k, err := t.order(p)
	var made *goods.Made
	if err == nil {
		made, err = k.Make(ctx, t.maker(p), o)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		if errors.Is(err, goods.ErrUnderWay) {
			return nil, errRunning
		}
		if unread, ok := errors.AsType[*goods.Unread](err); ok {
			return t.giveUp(ctx, p.ID, []State{Claimed}, Failed, settle.Ending{Reason: unread.Error()})
		}
		t.cfg.Log.Error("goods could not be made", "purchase", p.ID, "item", p.Item, "err", err)
		return t.giveUp(ctx, p.ID, []State{Claimed}, Failed, settle.Ending{Reason: "goods_not_made"})
	}
	if p.Account != nil || p.Spent != nil && p.Spent.Deposit == nil {
		return t.settleHere(ctx, p, made)
	}
	if t.running(p.ID) {
		if next, err := t.begin(ctx, p, made); err == nil || errors.Is(err, errMoved) {
			return next, err
		}
	}
	return t.advance(ctx, p.ID, arrow{[]State{Claimed}, "goods_ready"}, func(_ ledger.Tx, p *Purchase) error {
		p.Made, p.State = made, GoodsReady
		return nil
	})
}

// settleHere: claimed → settled, of a purchase on account, or by voucher alone, whose channel is
// charged when it is delivered: no transaction settles it. Number, certificate id, date and key are
// fixed here (M7).
func (t *Till) settleHere(ctx context.Context, p *Purchase, made *goods.Made) (*Purchase, error) {
	certID, kid := attest.NewID(prefixCert), t.signer().KID()
	return t.advance(ctx, p.ID, arrow{[]State{Claimed}, "settled"}, func(tx ledger.Tx, p *Purchase) error {
		now := tx.Now().UTC().Truncate(time.Second)
		if p.Made, p.State, p.Final = made, Settled, true; p.Account != nil {
			p.Account.Billed = now
		} else {
			p.Spent.At = now
		}
		if err := t.number(tx, p, certID, kid); err != nil {
			return err
		}
		return p.bill(tx)
	})
}

// giveUp ends a purchase without goods and gives back what it held: stock, reservation, slot. It
// stays watched until its authorization can never land (M4).
func (t *Till) giveUp(ctx context.Context, id string, from []State, to State, why settle.Ending) (*Purchase, error) {
	return t.advance(ctx, id, arrow{from, string(to)}, func(tx ledger.Tx, p *Purchase) error {
		if err := errors.Join(t.release(tx, p), p.unbill(tx), letGo(tx, p)); err != nil {
			return err
		}
		if to == NotSettled && why.Payer {
			if err := tx.Set(ledger.NotSettledKey(p.Payment.Payer, tx.Now(), p.ID), nil); err != nil {
				return err
			}
		}
		p.State, p.Reason, p.Tries = to, why.Reason, 0
		p.Final = p.Final || p.Spent != nil && p.Spent.Deposit == nil // nothing can land
		return nil
	})
}

// release gives back what a purchase reserved; of what is off the shelf there is nothing to give
// back.
func (t *Till) release(tx ledger.Tx, p *Purchase) error {
	o, k, err := t.order(p)
	if err != nil || k.Release == nil {
		return nil
	}
	return k.Release(t.maker(p), tx, o)
}

// errRunning says that a run does what is left to do for a purchase.
var errRunning = errors.New("till: the purchase is being driven")

// sign: goods_ready → settling. The worker does not wait for room.
func (t *Till) sign(ctx context.Context, p *Purchase) (*Purchase, error) {
	if t.running(p.ID) {
		return t.begin(ctx, p, nil)
	}
	if t.full() {
		return nil, context.DeadlineExceeded
	}
	t.start(p.ID, p)
	return nil, errRunning
}

// begin: claimed | goods_ready → settling | not_settled. The signed bytes and the relayer's number
// are stored before anything is sent. Goods that are given were just made, and then it is an error
// that there is no room.
func (t *Till) begin(ctx context.Context, p *Purchase, made *goods.Made) (*Purchase, error) {
	from := p.State
	var next *Purchase
	// arrow is the purchase's part of the transaction that stores its settlement.
	arrow := func(tx ledger.Tx, s *settle.Settlement) error {
		q, err := read(tx, p.ID)
		if err != nil {
			return err
		}
		if q.State != from {
			return errMoved
		}
		q.State, q.Settlement = Settling, s.ID
		if made != nil {
			q.Made = made
		}
		next = q
		return t.save(tx, q)
	}
	s, err := t.settles.Begin(ctx, settle.Order{Members: []settle.Member{p.member()}, Arrow: arrow,
		Reads: savedAt(p.ID), Now: made != nil,
		Waits: func(waits bool) { t.waits(p.ID, waits) }})
	if err == nil {
		next.signed = s
		return next, nil
	}
	why, over := settle.Ended(err)
	if !over {
		return nil, err
	}
	// The chain says that this would revert, perhaps because somebody else has landed it, or it
	// cannot be paid for: look before giving up.
	f, err := t.settles.Status(ctx, p.settling(), p.ID)
	if err != nil {
		return nil, err
	}
	if f.State == rail.Paid || f.State == rail.Seen {
		return nil, t.settles.Adopt(ctx, p.member(), arrow)
	}
	why.Payer = why.Payer || f.State == rail.Dead && f.Payer // cancelled since the claim
	if !why.Payer {
		t.cfg.Gas.Suspect(ctx, p.Payment.Network) // others would end alike
	}
	return t.giveUp(ctx, p.ID, []State{from}, NotSettled, why)
}

// settle: settling | unknown → settled | not_settled. The chain's events decide (M3).
func (t *Till) settle(ctx context.Context, p *Purchase) (*Purchase, error) {
	o := &owner{t: t, p: p}
	err := t.settles.Drive(ctx, p.settling(), o, p.ID)
	if err != nil && ctx.Err() != nil {
		return nil, t.unknown(p)
	}
	return o.next, err
}

// unknown: settling → unknown. The buyer's wait is over; the worker goes on.
func (t *Till) unknown(p *Purchase) error {
	_, err := t.advance(context.Background(), p.ID, arrow{[]State{Settling}, "unknown"},
		func(_ ledger.Tx, p *Purchase) error {
			p.State = Unknown
			return nil
		})
	if errors.Is(err, errMoved) {
		err = nil
	}
	if err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// railOf is the rail of a purchase, once its network was seen to be the configured one: nothing
// that another node says of a purchase is believed.
func (t *Till) railOf(p *Purchase) (rail.Rail, error) {
	r, ok := t.byNet[p.Payment.Network]
	if !ok {
		return nil, fmt.Errorf("till: network %s is no longer configured, but purchase %s waits on it: configure it "+
			"until it is resolved", p.Payment.Network, p.ID)
	}
	return r, t.cfg.Gas.Ready(context.Background(), p.Payment.Network)
}

// owner is the till as it is told of a settlement, by whoever drives the one of purchase p. A
// settlement may have other members, which are purchases too.
type owner struct {
	t    *Till
	p    *Purchase
	next *Purchase // as what was heard left it; nil where that changed nothing, or another hand did
}

// Waits implements settle.Owner.
func (o *owner) Waits(waits bool) { o.t.waits(o.p.ID, waits) }

// Reverted implements settle.Owner: the payment leaves the open ones of its payer.
func (o *owner) Reverted(tx ledger.Tx, m settle.Member) error {
	p, err := read(tx, m.ID)
	if err != nil || p.Reverted {
		return err
	}
	p.Reverted = true
	return o.t.save(tx, p)
}

// Heard implements settle.Owner. Every arrow is a transaction of its own, and names the state that
// it starts from.
func (o *owner) Heard(ctx context.Context, s *settle.Settlement, m settle.Member, n settle.News) (more bool,
	err error) {
	p := o.p
	if m.ID != p.ID {
		if p, err = o.t.load(ctx, m.ID); err != nil {
			return false, err
		}
	}
	switch p.State {
	case Settling, Unknown:
		more, o.next, err = o.t.settlingHeard(ctx, p, n)
	case Promised, Delivered:
		more, err = o.t.deliveredHeard(ctx, p, n)
	case Held:
		more, err = o.t.heldHeard(ctx, p, n)
	case Capturing, Voiding:
		more, o.next, err = o.t.endingHeard(ctx, p, n)
	case Released:
		more, err = o.t.releasedHeard(ctx, p, n)
	case Refused, Failed, NotSettled:
		err = o.t.givenUpHeard(ctx, p, n)
	case RefundOwed:
		err = o.t.owedHeard(ctx, p, n)
	}
	if errors.Is(err, errMoved) {
		o.next = nil
		return false, nil // another hand moved it
	}
	return more, err
}

// settlingHeard: settling | unknown → settled | not_settled.
func (t *Till) settlingHeard(ctx context.Context, p *Purchase, n settle.News) (more bool, next *Purchase, err error) {
	from := []State{Settling, Unknown}
	switch {
	case n.Unread:
		return true, nil, nil
	case n.State == rail.Paid && p.Held != nil:
		next, err = t.authorized(ctx, p, from, n.Proof)
	case n.State == rail.Paid:
		next, err = t.credit(ctx, p, from, Settled, n.Proof)
	case n.State == rail.Dead:
		why := settle.Ending{Reason: "invalid_transaction_state: " + n.Reason, Payer: n.Finding.Payer || n.PayersRevert}
		next, err = t.giveUp(ctx, p.ID, from, NotSettled, why)
	case n.Over != nil:
		next, err = t.giveUp(ctx, p.ID, from, NotSettled, *n.Over)
	case n.State == rail.Waiting && n.Reverted && t.endsHold(p):
		next, err = t.giveUp(ctx, p.ID, from, NotSettled, settle.Ending{Reason: "settlement_reverted",
			Payer: n.PayersRevert})
	default:
		return true, nil, nil
	}
	return false, next, err
}
