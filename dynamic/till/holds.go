package till

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/holds"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// An order of the keeper's work may be paid by a hold (M18; package holds has the rules, and who
// can lose what). Until the money is in the escrow it goes the way of every payment; then it is
// held, and its end is another settlement.
//
//	settling | unknown ─► settled ─► held             the authorization is mined: the order stands, with its id
//	held ─► capturing ─► settled ─► delivered         the keeper completed it: number and certificate by the capture
//	held | capturing ─► voiding ─► released           declined, past its window, or no capture was taken in time
//	refused | failed | not_settled ─► voiding         the money came after the purchase had been given up
//	capturing | voiding ─► released                   its payer took it back
//
// What ends a hold is decided by one transaction that sees the state it starts from, and stores
// with it a settlement that has no transaction yet: whoever drives it signs, sends and sends again,
// with or without a node at hand when it was decided. So neither a crash nor a second process makes
// a capture and a void of one order.

// holdRail is a rail that holds payments.
type holdRail interface {
	rail.Rail
	rail.Captures
}

// holdRail is a network on which payments can be held; ok is false where none can. It is asked too
// where no more are taken: who paid before comes back for what is his.
func (t *Till) holdRail(network string) (r holdRail, ok bool) {
	if r, ok = t.byNet[network].(holdRail); ok {
		_, ok = r.CaptureTerms()
	}
	return r, ok
}

// holdPath is where an offer is sold by a hold; a commission is named by its request.
func holdPath(id string) string { return "/api/hold/" + strings.TrimPrefix(id, goods.CommissionPrefix) }

// atHold is an offer as it is sold by a hold.
func atHold(o *Offer) *Offer {
	held := *o
	held.Hold, held.Path = true, holdPath(o.ID)
	return &held
}

// byHold is an offer as it is sold by a hold; nil for what is not.
func (t *Till) byHold(o *Offer) *Offer {
	if o == nil || !t.cfg.Holds || !o.Kind.ByHand || o.Good.WindowHours <= 0 ||
		!slices.ContainsFunc(t.cfg.Rails, func(r rail.Rail) bool { _, ok := t.holdRail(r.Info().Network); return ok }) {
		return nil
	}
	return atHold(o)
}

// HoldPath is the door at which an offer is sold by a hold, "" where there is none.
func (t *Till) HoldPath(o *Offer) string {
	if held := t.byHold(o); held != nil && !o.Hold {
		return held.Path
	}
	return ""
}

// AtOnce is the door at which what an offer by a hold sells is paid at once.
func (t *Till) AtOnce(o *Offer) string {
	if now := t.offer(t.cfg.Site.Now(), o.ID); now != nil {
		return now.Path
	}
	return o.Path
}

// holdTerms are the terms of an offer by a hold, on every network but those that are left out.
// Where the hour has just turned, those of a moment ago are among them, behind the present ones.
func (t *Till) holdTerms(o *Offer, out map[string]bool) (all []rail.Requirement) {
	window := time.Duration(o.Good.WindowHours) * time.Hour
	said := holds.Current(t.cfg.Now(), holdFor, window)
	if out != nil { // for a 402
		said = said[:1]
	}
	for _, r := range t.cfg.Rails {
		by, ok := t.holdRail(r.Info().Network)
		if !ok || out[r.Info().Network] {
			continue
		}
		for _, until := range said {
			all = append(all, by.HoldRequirement(o.Price(), until).Within(holdFor))
		}
	}
	return all
}

// parseHold reads a payment that is to be held.
func (t *Till) parseHold(p *Presented) {
	r, ok := t.holdRail(p.Accepted.Network)
	if !ok {
		p.Refusal = &rail.Refusal{Reason: "unsupported_scheme", Message: "this store holds no payments on that network"}
		return
	}
	a, err := r.ParseAuthorization(p.Payload, p.Accepted)
	if err == nil {
		p.rail, p.payment, p.hold = r, a.Payment, a
		return
	}
	if !errors.As(err, &p.Refusal) {
		p.Refusal = &rail.Refusal{Reason: "invalid_payload", Message: "the payment cannot be read"}
	}
}

// verify has the payment's rail check it against the terms.
func (o *matched) verify(ctx context.Context) (rail.Verified, error) {
	if o.p.hold != nil {
		return o.p.rail.(holdRail).VerifyAuthorization(ctx, o.p.hold, o.terms, o.at)
	}
	return o.p.rail.Verify(ctx, o.p.payment, o.terms, o.at)
}

// InEscrow reports an order whose money is in the escrow, and which was answered.
func (p *Purchase) InEscrow() bool {
	return p.State == Held || p.State == Capturing || p.State == Voiding
}

// authorized: settling | unknown → settled. The money is in the escrow: the order has its id and
// when it is due.
func (t *Till) authorized(ctx context.Context, p *Purchase, from []State, proof *rail.Proof) (*Purchase, error) {
	settlement := p.settling()
	return t.advance(ctx, p.ID, arrow{from, "authorized"}, func(tx ledger.Tx, p *Purchase) error {
		if err := isOpen(tx, p.Payment.Network); err != nil {
			return err
		}
		// The account that sent it is one that settles: strangers' reverts never stand in the way
		// of what ends the hold.
		operator := settle.GasPayer{Network: p.Payment.Network, Address: p.Held.Info.Operator}
		err := errors.Join(t.settles.Landed(tx, settlement, p.ID), t.cfg.Gas.Settled(tx, operator, p.Amount, nil))
		if err != nil {
			return err
		}
		p.State, p.Held.Proof, p.Tries = Settled, proof, 0
		p.KID, p.Date = t.signer().KID(), p.SettledAt().UTC().Format(time.RFC3339)
		if err := t.ordered(tx, p); err != nil {
			return err
		}
		work, err := goods.ReadHandwork(p.Made)
		p.Held.DueAt = work.DueAt
		return err
	}, settle.GasReads(t.cfg.Now(), p.Payment.Network, p.Payment.Payer)...)
}

// hold: settled → held. The order is answered, and its id finds it from then on.
func (t *Till) hold(ctx context.Context, p *Purchase) (*Purchase, error) {
	body, err := t.heldAnswer(p)
	if err != nil {
		return nil, err
	}
	return t.advance(ctx, p.ID, arrow{[]State{Settled}, "held"}, func(tx ledger.Tx, p *Purchase) error {
		p.State, p.DeliveredAt, p.Tries, p.body = Held, tx.Now().Truncate(time.Second), 0, body
		return errors.Join(tx.Set(ledger.BodyKey(p.ID), body),
			ledger.SetJSON(tx, ledger.OrderKey(p.Artifact), creditOf{p.ID}))
	})
}

// heldAnswer is what is answered for money that is held: it bought nothing yet.
func (t *Till) heldAnswer(p *Purchase) ([]byte, error) {
	work, err := goods.ReadHandwork(p.Made)
	if err != nil {
		return nil, err
	}
	view, err := t.HeldView(p)
	if err != nil {
		return nil, err
	}
	since := p.SettledAt()
	d := &Delivery{Message: p.Made.Message, ItemID: p.Item, Deliverable: p.Made.Deliverable, PaidUSDC: usdc(0),
		TipUSDC: usdc(0), Held: view, Recovery: t.Recovery(p.ID),
		Ordered: &Ordered{OrderID: p.Artifact, OrderURL: t.cfg.BaseURL + "/api/order/" + p.Artifact,
			Status: OrderQueued, WindowHours: int(work.DueAt.Sub(since).Hours()),
			NextCheckAfter: since.Add(PollEvery).UTC().Format(time.RFC3339)}}
	return t.bindAnswer(p, d)
}

// OperatorUntil is until when the account that captures and voids is needed: the last refund
// deadline of all that was ever held. It is zero where nothing was.
func OperatorUntil(ctx context.Context, db ledger.DB) (until time.Time, err error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = db.View(ctx, func(tx ledger.Tx) error {
		until = time.Time{}
		for e, err := range tx.Scan(ledger.Purchases()) {
			if err != nil {
				return err
			}
			p, err := ledger.DecodeJSON[Purchase](e)
			if err != nil {
				return err
			}
			if p.Held == nil {
				continue
			}
			if last := time.Unix(p.Held.Info.RefundExpiry, 0).UTC(); last.After(until) {
				until = last
			}
		}
		return nil
	})
	return until, err
}

// ending is a decision about what is held.
type ending struct {
	to   State       // Capturing or Voiding
	why  string      // of a void
	made *goods.Made // what the keeper completed the order with
}

// decide stores what is to end a hold, in the one transaction that sees no other decision.
func (t *Till) decide(ctx context.Context, id string, from []State, e ending) (*Purchase, error) {
	p, err := t.load(ctx, id)
	if err != nil {
		return nil, err
	}
	r, ok := t.byNet[p.Payment.Network].(holdRail)
	if !ok {
		_, err := t.HeldView(p)
		return nil, err
	}
	end := r.Void(p.Held.Hold)
	if e.to == Capturing {
		end = r.Capture(p.Held.Hold)
	}
	var next *Purchase
	err = t.settles.Adopt(ctx, settle.Member{ID: id, Payment: *end, Verified: p.Verified},
		func(tx ledger.Tx, s *settle.Settlement) error {
			q, err := read(tx, id)
			if err != nil {
				return err
			}
			switch {
			case !slices.Contains(from, q.State):
				return errMoved
			case e.to == Capturing:
				err = q.Held.Completable(tx.Now())
			case e.why == holds.Broken && tx.Now().Before(q.Held.DueAt):
				err = errMoved
			}
			if err != nil {
				return err
			}
			q.State, q.Final, q.Tries = e.to, false, 0
			q.Held.End, q.Held.Settlement, q.Held.Why = end, s.ID, e.why
			if e.made != nil {
				q.Made = e.made
			}
			next = q
			return t.save(tx, q)
		})
	if err != nil {
		return nil, err
	}
	t.cfg.AfterStep(string(e.to))
	return t.load(ctx, next.ID)
}

// completeHeld: held → capturing, with what the keeper made.
func (t *Till) completeHeld(ctx context.Context, id string, made *goods.Made) error {
	p, err := t.decide(ctx, id, []State{Held}, ending{to: Capturing, made: made})
	if errors.Is(err, errMoved) {
		return fmt.Errorf("till: purchase %s is not held any more: nothing would be paid for an answer", id)
	}
	if err == nil {
		t.start(id, p)
	}
	return err
}

// DeclineOrder gives back what is held for an order that the keeper does not want to do, and
// returns it as it stands then. Where dry is set it says what would be and changes nothing. It is
// an error to decline an order that was paid at once, is answered, or is not beyond reorganisation
// yet.
func (t *Till) DeclineOrder(ctx context.Context, id string, dry bool) (HumanOrder, error) {
	o, ok, err := t.HumanOrder(ctx, id)
	switch {
	case err != nil:
		return o, err
	case !ok:
		return o, errNoOrder
	case o.Purchase.Held == nil:
		return o, fmt.Errorf("order %s was paid at once: answer it, or pay back what is owed when its window is over",
			id)
	case o.Purchase.State != Held:
		return o, fmt.Errorf("order %s is %s: it cannot be declined any more", id, o.Status())
	case !o.Purchase.Final:
		return o, fmt.Errorf("order %s is not paid for beyond reorganisation yet: decline it in a few minutes", id)
	case dry:
		return o, nil
	}
	p, err := t.decide(ctx, o.Purchase.ID, []State{Held}, ending{to: Voiding, why: holds.Declined})
	if errors.Is(err, errMoved) {
		return o, fmt.Errorf("order %s was answered, or given back, at this moment", id)
	}
	if err != nil {
		return o, err
	}
	t.start(p.ID, p)
	o, _, err = t.HumanOrder(ctx, id)
	return o, err
}

// tend looks at an order that is held: its authorization is watched until it is final, and where
// the window is over without a completion the money goes back.
func (t *Till) tend(ctx context.Context, p *Purchase) (*Purchase, error) {
	if !p.Final {
		err := t.settles.Watch(ctx, p.settling(), &owner{t: t, p: p}, p.ID)
		return nil, cmp.Or(err, context.DeadlineExceeded) // the next look goes on
	}
	return t.decide(ctx, p.ID, []State{Held}, ending{to: Voiding, why: holds.Broken})
}

// heldHeard follows the authorization of what is held. One that a reorganisation dropped is sent
// again; one that is gone for good takes its order with it.
func (t *Till) heldHeard(ctx context.Context, p *Purchase, n settle.News) (more bool, err error) {
	switch {
	case n.Unread:
	case n.State == rail.Paid:
		return false, t.lookedAt(ctx, p, func(p *Purchase) {
			p.Held.Proof, p.Final = n.Proof, n.Final && n.Unfilled == nil
		})
	case n.State == rail.Dead && n.Final:
		return false, t.reverse(ctx, p)
	case n.Over != nil:
		return false, nil
	default:
		return n.State == rail.Waiting && n.Advice != rail.Wait, t.lookedAt(ctx, p, func(p *Purchase) { p.Tries = 0 })
	}
	return false, t.lookedAt(ctx, p, func(*Purchase) {})
}

// endHold: capturing → settled | voiding | released, voiding → released. The escrow's events
// decide.
func (t *Till) endHold(ctx context.Context, p *Purchase) (*Purchase, error) {
	o := &owner{t: t, p: p}
	err := t.settles.Drive(ctx, p.settling(), o, p.ID)
	if err == nil && o.next == nil {
		err = context.DeadlineExceeded // the next look goes on
	}
	return o.next, err
}

// endingHeard is what is done about the news of a capture or a void.
func (t *Till) endingHeard(ctx context.Context, p *Purchase, n settle.News) (more bool, next *Purchase, err error) {
	from := []State{p.State}
	switch {
	case n.Unread:
		return true, nil, nil
	case n.State == rail.Paid && p.State == Capturing:
		next, err = t.credit(ctx, p, from, Settled, n.Proof)
	case n.State == rail.Paid:
		next, err = t.wentBack(ctx, p, holds.Voided, n)
	case n.State == rail.Dead && (n.Reason == holds.Reclaimed || n.Reason == holds.Voided):
		next, err = t.wentBack(ctx, p, n.Reason, n)
	case n.State == rail.Dead && n.Reason == holds.Captured:
		next, err = t.capturedBefore(ctx, p)
	case n.State == rail.Dead && n.Final && p.State == Capturing:
		t.cfg.Log.Error("an answer was not paid for: no capture was taken before the deadline, and what was held goes "+
			"back", "purchase", p.ID, "order", p.Artifact)
		next, err = t.decide(ctx, p.ID, from, ending{to: Voiding, why: holds.TooLate})
	case n.Over != nil:
		return false, nil, t.lookedAt(ctx, p, func(*Purchase) {}) // it is tried again
	default:
		return true, nil, nil
	}
	return false, next, err
}

// wentBack: → released. What the order had is to be had again.
func (t *Till) wentBack(ctx context.Context, p *Purchase, how string, n settle.News) (*Purchase, error) {
	settlement := p.settling()
	return t.advance(ctx, p.ID, arrow{[]State{p.State}, "released"}, func(tx ledger.Tx, p *Purchase) error {
		if n.State == rail.Paid {
			if err := t.settles.Landed(tx, settlement, p.ID); err != nil {
				return err
			}
		}
		p.Held.Ended, p.Held.Last = how, n.Proof
		p.State, p.Reason, p.Tries = Released, p.Held.Why, 0
		if p.Reason == "" {
			p.Reason = how
		}
		p.Final = n.Final && n.Unfilled == nil
		return errors.Join(t.release(tx, p), t.tellReleased(tx, p))
	})
}

// tellReleased has the buyer of an order told that nothing comes of it, where an address came with
// it. What was given up before it was an order has nobody who waits for it.
func (t *Till) tellReleased(tx ledger.Tx, p *Purchase) error {
	if p.Held.DueAt.IsZero() || p.Held.Why == holds.GivenUp {
		return nil
	}
	o, _, err := t.order(p)
	if err != nil {
		return nil // its good is no longer sold by anybody: nothing is known to tell of
	}
	return t.maker(p).SendWord(tx, o, "order."+OrderReleased, OrderReleased, nil)
}

// capturedBefore: voiding → refund_owed. A store that was restored captured it in a life that it
// does not remember, and the answer is lost: what was taken is owed.
func (t *Till) capturedBefore(ctx context.Context, p *Purchase) (*Purchase, error) {
	r, err := t.railOf(p)
	if err != nil {
		return nil, err
	}
	f, err := r.Status(ctx, r.(holdRail).Capture(p.Held.Hold), nil, p.Verified, t.cfg.Now())
	if err != nil || f.Proof == nil {
		return nil, errors.Join(err, errMoved) // the next look asks again
	}
	return t.advance(ctx, p.ID, arrow{[]State{p.State}, "refund_owed"}, func(tx ledger.Tx, p *Purchase) error {
		p.State, p.Reason, p.Tries, p.Final = RefundOwed, "captured_before_restore", 0, f.Final
		p.Held.Ended, p.Held.Last = holds.Captured, f.Proof
		// That capture is watched from now on, and not the void, of which nothing can come.
		p.Held.End, p.Held.Settlement = r.(holdRail).Capture(p.Held.Hold), ""
		return takeCredit(tx, p, f.Proof)
	})
}

// releasedHeard watches what went back until nothing can change it. A void that a reorganisation
// dropped is sent again.
func (t *Till) releasedHeard(ctx context.Context, p *Purchase, n settle.News) (more bool, err error) {
	switch {
	case n.Unread, n.Over != nil:
	case n.State == rail.Paid || n.State == rail.Dead:
		return false, t.lookedAt(ctx, p, func(p *Purchase) {
			if p.Final = n.Final && n.Unfilled == nil; n.Proof != nil {
				p.Held.Last = n.Proof
			}
		})
	default:
		return n.State == rail.Waiting && n.Advice != rail.Wait, t.lookedAt(ctx, p, func(p *Purchase) { p.Tries = 0 })
	}
	return false, t.lookedAt(ctx, p, func(*Purchase) {})
}
