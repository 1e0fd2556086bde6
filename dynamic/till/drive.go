package till

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentstore/dynamic/goods"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/gas"
)

// waitingFlights is how many flights may wait for the chain, for each that may be under way.
const waitingFlights = 8

// full reports whether this process has as many purchases under way as it takes. A flight that only waits for the chain
// holds no place among them (M16); there is a bound on all together, for memory's sake.
func (t *Till) full() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy >= t.cfg.MaxInFlight || len(t.flights) >= waitingFlights*t.cfg.MaxInFlight
}

// waits notes whether the flight of a purchase, if there is one, merely waits for the chain.
func (t *Till) waits(id string, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flights[id]
	if f == nil || f.waits == waits {
		return
	}
	f.waits = waits
	if waits {
		t.busy--
	} else {
		t.busy++
	}
}

// fly drives a purchase in the background, once at a time in this process, and calls left when that stops. The driving
// outlives the request.
func (t *Till) fly(id string, left ...func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flights[id]; f != nil {
		f.left = append(f.left, left...)
		return
	}
	f := &flight{done: make(chan struct{}), left: left}
	t.flights[id] = f
	t.busy++
	go func() {
		defer func() {
			t.mu.Lock()
			delete(t.flights, id)
			if !f.waits {
				t.busy--
			}
			close(t.freed)
			t.freed = make(chan struct{})
			left := f.left
			t.mu.Unlock()
			for _, left := range left {
				left()
			}
			close(f.done)
		}()
		ctx, cancel := context.WithTimeout(context.Background(), t.cfg.SettleWait)
		defer cancel()
		if err := t.drive(ctx, id); err != nil && !errors.Is(err, errMoved) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, gas.ErrUnchecked) {
			// The worker comes back to it; nothing is lost, but somebody should know.
			t.cfg.Log.Error("purchase stopped on its way", "purchase", id, "err", err)
		}
	}()
}

// drive pushes a purchase forward until it rests or ctx ends. It may be called for any purchase in any state, by any
// number of hands. One that rests already is looked at; one that has just come to rest is not, the worker does when it
// is due.
func (t *Till) drive(ctx context.Context, id string) error {
	for moved := false; ; moved = true {
		p, err := t.load(ctx, id)
		if err != nil {
			return err
		}
		switch p.State {
		case Claimed:
			err = t.makeGoods(ctx, p)
		case GoodsReady:
			err = t.sign(ctx, p)
		case Settling, Unknown:
			err = t.settle(ctx, p)
		case Settled, SettledLate:
			err = t.deliver(ctx, p)
		case Promised, Delivered, Refused, Failed, NotSettled:
			if p.Final || moved {
				return nil
			}
			return t.watch(ctx, p)
		default:
			return nil
		}
		if err != nil && !errors.Is(err, errMoved) {
			return err
		}
	}
}

// makeGoods: claimed → goods_ready | failed.
func (t *Till) makeGoods(ctx context.Context, p *Purchase) error {
	o, k, err := t.order(p)
	var made *goods.Made
	if err == nil {
		made, err = k.Make(ctx, t.maker(p), o)
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		t.cfg.Log.Error("goods could not be made", "purchase", p.ID, "item", p.Item, "err", err)
		return t.giveUp(ctx, p.ID, []State{Claimed}, Failed, ending{reason: "goods_not_made"})
	}
	_, err = t.advance(ctx, p.ID, []State{Claimed}, "goods_ready", func(_ ledger.Tx, p *Purchase) error {
		p.Made, p.State = made, GoodsReady
		return nil
	})
	return err
}

// giveUp ends a purchase without goods and gives back what it held: stock, reservation, slot. It stays watched until
// its authorization can never land (M4).
func (t *Till) giveUp(ctx context.Context, id string, from []State, to State, why ending) error {
	_, err := t.advance(ctx, id, from, string(to), func(tx ledger.Tx, p *Purchase) error {
		if o, k, err := t.order(p); err == nil && k.Release != nil {
			if err := k.Release(t.maker(p), tx, o); err != nil {
				return err
			}
		}
		if to == NotSettled && why.payer {
			if err := tx.Set(ledger.NotSettledKey(p.Payment.Payer, tx.Now(), p.ID), nil); err != nil {
				return err
			}
		}
		p.State, p.Reason, p.Tries = to, why.reason, 0
		return nil
	})
	return err
}

// sign: goods_ready → settling. The signed bytes and the relayer's nonce are stored before anything is sent.
func (t *Till) sign(ctx context.Context, p *Purchase) error {
	r, err := t.railOf(p)
	if err != nil {
		return err
	}
	d, err := t.draft(ctx, r, p)
	if err == nil {
		_, err = t.advance(ctx, p.ID, []State{GoodsReady}, "settling", func(tx ledger.Tx, p *Purchase) error {
			return t.addSigned(tx, p, d)
		})
	}
	why, over := ended(err)
	if !over {
		return err
	}
	// The chain says that this would revert, perhaps because somebody else has landed it, or it cannot be paid for: look
	// before giving up.
	f, err := retried(ctx, t, p, func() (rail.Finding, error) { return r.Look(ctx, &p.Payment, p.Sent, p.Mark, time.Now()) })
	if err != nil {
		return err
	}
	if f.State == rail.Paid || f.State == rail.Seen {
		_, err := t.advance(ctx, p.ID, []State{GoodsReady}, "settling", func(_ ledger.Tx, p *Purchase) error {
			p.State = Settling
			return nil
		})
		return err
	}
	why.payer = why.payer || f.State == rail.Dead && f.Payer // cancelled since the claim
	t.suspect(ctx, p, why)
	return t.giveUp(ctx, p.ID, []State{GoodsReady}, NotSettled, why)
}

// addSigned signs a draft inside the transaction that stores it. What a new number costs is taken from the day's budgets
// there; what only replaces is not asked about.
func (t *Till) addSigned(tx ledger.Tx, p *Purchase, d rail.Draft) error {
	s, err := d.Sign(sequencer{tx, p.Payment.Network})
	if err != nil {
		return err
	}
	s.At = tx.Now()
	if err := t.pay(tx, p, s, d.Price()); err != nil {
		return err
	}
	p.Sent = append(p.Sent, s)
	if p.State == GoodsReady {
		p.State = Settling
	}
	return nil
}

// send broadcasts a settlement that the journal holds. It reads the journal back first: what Update returned is
// durable and what View shows is durable, so bytes that are not found there are never sent.
func (t *Till) send(ctx context.Context, r rail.Rail, id string, s rail.Signed) error {
	p, err := t.load(ctx, id)
	if err != nil {
		return err
	}
	for _, j := range p.Sent {
		if j.ID == s.ID && string(j.Raw) == string(s.Raw) {
			if err := r.Send(ctx, s); err != nil {
				// Not knowing is normal: the same bytes go out again until the chain has spoken.
				t.cfg.Log.Warn("broadcast not confirmed", "purchase", id, "network", p.Payment.Network, "err", err)
			}
			t.cfg.AfterStep("sent")
			return nil
		}
	}
	return fmt.Errorf("till: settlement %s of %s is not in the journal and will not be sent", s.ID, id)
}

// sendAll broadcasts the newest settlement at every sequence number that was signed for. Mostly there is one. Where a
// number was lost and signed for anew, a reorganisation can open the lost one again, and the later waits behind it.
func (t *Till) sendAll(ctx context.Context, r rail.Rail, p *Purchase) error {
	type place struct {
		account  string
		sequence uint64
	}
	newest := make(map[place]int)
	for i, s := range p.Sent {
		newest[place{s.Account, s.Sequence}] = i
	}
	for i, s := range p.Sent {
		if newest[place{s.Account, s.Sequence}] != i {
			continue
		}
		if err := t.send(ctx, r, p.ID, s); err != nil {
			return err
		}
	}
	return nil
}

// settle: settling | unknown → settled | not_settled. The chain's events decide (M3); until they do, the same bytes
// are sent again, bumped at the same nonce when they are stuck, and signed anew when their nonce is lost.
func (t *Till) settle(ctx context.Context, p *Purchase) error {
	r, err := t.railOf(p)
	if err != nil {
		return err
	}
	sent := time.Time{}
	for {
		changed := r.Changed()
		now := time.Now()
		if sent.IsZero() && len(p.Sent) > 0 {
			if err := t.sendAll(ctx, r, p); err != nil {
				return err
			}
			sent = now
		}
		t.waits(p.ID, true) // looking is waiting: at a block all of them look at once
		f, err := r.Look(ctx, &p.Payment, p.Sent, p.Mark, time.Now())
		if err != nil {
			t.cfg.Log.Warn("chain not readable", "purchase", p.ID, "network", p.Payment.Network, "err", err)
		} else {
			t.waits(p.ID, f.State == rail.Seen || f.State == rail.Waiting && f.Advice == rail.Wait)
			if p, err = t.noteReverts(ctx, r, p, f.Reverts); err != nil {
				return err
			}
			if f.State == rail.Waiting && len(p.Reverts) > 0 {
				if err := t.endHold(ctx, p); err != nil {
					return err
				}
			}
			switch f.State {
			case rail.Paid:
				return t.credit(ctx, p, []State{Settling, Unknown}, Settled, f.Proof)
			case rail.Dead:
				if err := t.fill(ctx, r, p, f.Unfilled); err != nil {
					return err
				}
				return t.giveUp(ctx, p.ID, []State{Settling, Unknown}, NotSettled, ending{"invalid_transaction_state: " + f.Reason, f.Payer || p.payersRevert()})
			case rail.Waiting:
				p2, moved, err := t.help(ctx, r, p, f.Advice)
				if why, over := ended(err); over {
					t.suspect(ctx, p, why)
					return t.giveUp(ctx, p.ID, []State{Settling, Unknown}, NotSettled, why)
				}
				if err != nil {
					return err
				}
				if moved {
					p, sent = p2, time.Time{}
					continue
				}
				if f.Advice == rail.Resend && now.Sub(sent) > time.Second {
					sent = time.Time{}
				}
			}
		}
		pause := time.NewTimer(time.Second)
		select {
		case <-changed:
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return t.unknown(p)
		}
		pause.Stop()
	}
}

// help follows the rail's advice where that needs a new signature. The error is one that ended knows where a new
// transaction would revert like the ones before, or where as many have as may (M15): the purchase is given up then, and
// what lands later is settled late.
func (t *Till) help(ctx context.Context, r rail.Rail, p *Purchase, a rail.Advice) (*Purchase, bool, error) {
	var d rail.Draft
	var err error
	switch {
	case a == rail.Redraft || len(p.Sent) == 0:
		d, err = t.redraft(ctx, r, p)
		if _, over := ended(err); over {
			// No verdict while the chain may know better, where somebody else landed it or the head moved on.
			f, lookErr := r.Look(ctx, &p.Payment, p.Sent, p.Mark, time.Now())
			if lookErr == nil && f.State == rail.Waiting && (f.Advice == rail.Redraft || len(p.Sent) == 0) {
				return p, false, err
			}
		}
	case a == rail.Bump:
		d, err = r.Replace(ctx, &p.Payment, p.Sent[len(p.Sent)-1], false)
	default:
		return p, false, nil
	}
	if err != nil {
		// Anything else passes by itself.
		t.cfg.Log.Warn("settlement not renewed", "purchase", p.ID, "advice", string(a), "err", err)
		return p, false, nil
	}
	p2, err := t.advance(ctx, p.ID, []State{Settling, Unknown}, "resigned", func(tx ledger.Tx, q *Purchase) error {
		if q.Version != p.Version {
			return errMoved
		}
		return t.addSigned(tx, q, d)
	})
	if errors.Is(err, errMoved) {
		p2, err = t.load(ctx, p.ID)
		return p2, true, err
	}
	return p2, err == nil, err
}

// fill uses up a relayer nonce that a dead settlement left open, so that later ones are not stuck behind it. One that was
// filled before and is open still may itself be stuck behind some that we never gave out.
func (t *Till) fill(ctx context.Context, r rail.Rail, p *Purchase, open *rail.Signed) error {
	if open == nil {
		return nil
	}
	if open.Fill {
		below, err := t.skippedBelow(ctx, p.Payment.Network, open.Account, open.Sequence)
		if err != nil {
			return err
		}
		for _, n := range below {
			other := *open
			other.Sequence = n
			err := t.fillOne(ctx, r, p, &other, func(tx ledger.Tx) error {
				free, err := takeSkipped(tx, p.Payment.Network, other.Account, n)
				if err == nil && !free { // a payment has it by now
					err = errMoved
				}
				return err
			})
			if err != nil && !errors.Is(err, errMoved) {
				return err
			}
		}
	}
	return t.fillOne(ctx, r, p, open, func(ledger.Tx) error { return nil })
}

// fillOne uses up one nonce, unless claim refuses it in the transaction that signs for it.
func (t *Till) fillOne(ctx context.Context, r rail.Rail, p *Purchase, open *rail.Signed, claim func(ledger.Tx) error) error {
	d, err := r.Replace(ctx, &p.Payment, *open, true)
	if err != nil {
		t.cfg.Log.Warn("open nonce not filled", "purchase", p.ID, "err", err)
		return nil
	}
	p2, err := t.advance(ctx, p.ID, []State{Settling, Unknown, NotSettled, Promised, Delivered}, "filled", func(tx ledger.Tx, q *Purchase) error {
		if err := claim(tx); err != nil {
			return err
		}
		s, err := d.Sign(sequencer{tx, q.Payment.Network})
		if err != nil {
			return err
		}
		s.At = tx.Now()
		q.Sent = append(q.Sent, s)
		return nil
	})
	if err != nil {
		return err
	}
	return t.send(ctx, r, p.ID, p2.Sent[len(p2.Sent)-1])
}

// unknown: settling → unknown. The buyer's wait is over; the worker goes on.
func (t *Till) unknown(p *Purchase) error {
	_, err := t.advance(context.Background(), p.ID, []State{Settling}, "unknown", func(_ ledger.Tx, p *Purchase) error {
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

// railOf is the rail of a purchase, once its network was seen to be the configured one: nothing that another node says of
// a purchase is believed.
func (t *Till) railOf(p *Purchase) (rail.Rail, error) {
	r, ok := t.byNet[p.Payment.Network]
	if !ok {
		return nil, fmt.Errorf("till: network %s is no longer configured, but purchase %s waits on it: configure it until it is resolved", p.Payment.Network, p.ID)
	}
	return r, t.cfg.Gas.Ready(context.Background(), p.Payment.Network)
}
