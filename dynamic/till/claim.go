package till

import (
	"context"
	"errors"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/holds"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// SlotWindow is how long a resolved purchase keeps its idempotency slot. One that is not resolved
// keeps it for ever.
const SlotWindow = 24 * time.Hour

// maxNotSettled is how many of a payer's payments may fail to settle in a day before goods are no
// longer made ahead for them (M5).
const maxNotSettled = 3

func authKey(p *rail.Payment) []byte {
	return ledger.AuthKey(p.Network, p.Asset, p.Method, p.Payer, p.Nonce)
}

// claimOf looks a payment up among the claims.
func (t *Till) claimOf(ctx context.Context, p *rail.Payment) (c Claim, found bool, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		c, found, err = claimIn(tx, p)
		return err
	})
	return c, found, err
}

func claimIn(tx ledger.Tx, p *rail.Payment) (Claim, bool, error) {
	return ledger.FindJSON[Claim](tx, authKey(p))
}

// known looks a payment up among the claims, and notes what else its payer has open: who buys much
// at once does not find out only by a claim that fails. Of a contract, which is not known for one
// yet, it finds nothing, and the claim does.
func (t *Till) known(ctx context.Context, p *Presented) (c Claim, found bool, err error) {
	holder := settle.Holder(p.payment.Network, p.payment.Payer, false)
	err = t.view(ctx, func(tx ledger.Tx) error {
		ledger.Ahead(tx, ledger.At(authKey(p.payment)), settle.OpenReads(holder))
		if c, found, err = claimIn(tx, p.payment); err != nil || found {
			return err
		}
		p.beside, err = settle.OpenNonces(tx, p.payment.Network, holder)
		return err
	})
	return c, found, err
}

// repeated is an earlier purchase that answers a request.
type repeated struct {
	purchase string
	slot     bool // found by idempotency key; the payment that came along was not used
	unspent  bool // the same of a voucher
}

// claim takes the authorization, the idempotency slot, the stock and the reservation in one
// transaction (M2, M6), or finds the purchase that this request repeats.
func (t *Till) claim(ctx context.Context, o *matched, seen rail.Verified) (*Purchase, *repeated, error) {
	if t.full() {
		return nil, nil, (&Error{Code: CodeFull, Retry: 2 * time.Second}).paid("no", "same_payment")
	}
	id := attest.NewID(prefixPurchase)
	var p *Purchase
	var rep *repeated
	reads := o.reads(id)
	err := t.admit(ctx, o, func(tx ledger.Tx, a *settle.Admission) error {
		p, rep = nil, nil
		ledger.Ahead(tx, reads...)
		if err := isOpen(tx, o.p.payment.Network); err != nil {
			return err
		}
		var err error
		if rep, err = t.earlier(tx, o); err != nil || rep != nil {
			return err
		}
		if err := t.maySettle(tx, o.p.payment, a, id, seen); err != nil {
			return err
		}
		if p, err = o.order(tx, t.makerOn(o.site), id, seen); err != nil {
			return err
		}
		if err := t.takeSlot(tx, o, p); err != nil {
			return err
		}
		return t.saveClaimed(tx, o, p)
	})
	if err != nil {
		return nil, nil, t.claimError(ctx, o, id, err)
	}
	if rep != nil {
		return nil, rep, nil
	}
	t.cfg.AfterStep("claimed")
	return p, nil, nil
}

// maySettle admits the transaction that will settle a purchase's payment (M5, M15).
func (t *Till) maySettle(tx ledger.Tx, pay *rail.Payment, a *settle.Admission, id string,
	seen rail.Verified) error {
	if err := refusedForNow(tx, pay.Payer); err != nil {
		return err
	}
	var err error
	a.ID = id
	if a.Alone, err = t.cfg.Gas.Admit(tx, pay.Network, pay.Payer, seen.Code); err != nil {
		return spent(err)
	}
	return a.Check(tx)
}

// reads is what the transaction that claims reads of an order.
func (o *matched) reads(id string) []ledger.Range {
	return append(settle.GasReads(o.at, o.p.payment.Network, o.p.payment.Payer),
		ledger.At(ledger.ClosedKey()), ledger.At(authKey(o.p.payment)), ledger.At(slotKey(o.holder(), o.key)),
		ledger.At(recentKey(o.holder(), o.print)), ledger.In(ledger.NotSettled(o.p.payment.Payer)),
		settle.OpenReads(o.holder()), ledger.At(ledger.TaskKey(jobPurchase, id)))
}

// orderKey is where the claim of an order is kept of which there were several offers.
func orderKey(order string) []byte { return ledger.AuthKey("order", order) }

// spend claims the authorization, and with it the order that it is one of several offers of, where
// that is not the same purchase's already. A transaction that returns the refusal has claimed
// nothing.
func (o *matched) spend(tx ledger.Tx, c Claim) error {
	if o.p.Shared != nil {
		of, err := ledger.GetJSON[Claim](tx, orderKey(o.p.Order))
		switch {
		case errors.Is(err, errNotFound):
			err = ledger.SetJSON(tx, orderKey(o.p.Order), c)
		case err == nil && of.Purchase != c.Purchase:
			err = o.p.Shared
		}
		if err != nil {
			return err
		}
	}
	return ledger.SetJSON(tx, authKey(o.p.payment), c)
}

// saveClaimed stores a purchase that begins, with its claim.
func (t *Till) saveClaimed(tx ledger.Tx, o *matched, p *Purchase) error {
	if err := o.spend(tx, Claim{Purchase: p.ID, Header: o.p.Proof}); err != nil {
		return err
	}
	return errors.Join(tx.Set(ledger.PayerKey(p.Payment.Payer, tx.Now(), p.ID), nil), t.save(tx, p))
}

// order reserves what an order needs, and is the purchase that begins with it.
func (o *matched) order(tx ledger.Tx, m goods.Maker, id string, seen rail.Verified) (*Purchase, error) {
	p, err := o.reserve(tx, m, &goods.Order{ID: id, Payer: o.p.payment.Payer,
		Paid: o.amount(), Tip: o.amount() - o.offer.Price(), Until: time.Unix(o.p.payment.ValidBefore, 0)})
	if err != nil {
		return nil, err
	}
	p.Protocol, p.Agent, p.Payment, p.Terms, p.Verified = o.p.Protocol, o.p.Agent, *o.p.payment, o.terms, seen
	if o.p.hold != nil {
		p.Held = &holds.Held{Hold: o.p.hold.Hold}
	}
	return p, nil
}

// reserve takes what an order needs, who pays it and until when being said, and begins its
// purchase.
func (a *asked) reserve(tx ledger.Tx, m goods.Maker, order *goods.Order) (*Purchase, error) {
	order.Good, order.Inputs, order.At = a.offer.Good, withoutSource(a.inputs), tx.Now()
	if err := a.offer.Kind.Take(m, tx, order); err != nil {
		return nil, err
	}
	return &Purchase{ID: order.ID, State: Claimed, Item: a.offer.ID, Inputs: order.Inputs, Source: a.inputs["source"],
		Fingerprint: a.print, Content: a.site.Digest, Amount: order.Paid, Tip: order.Tip, Entry: order.Entry,
		Word: order.Word}, nil
}

// claimError turns what the claim transaction said into an answer.
func (t *Till) claimError(ctx context.Context, o *matched, id string, err error) error {
	if errors.Is(err, ledger.ErrUnknown) {
		// The commit may have happened. Reading decides; the worker drives it if it did.
		if c, found, lookErr := t.claimOf(ctx, o.p.payment); lookErr == nil && found && c.Purchase == id {
			if p, loadErr := t.load(ctx, id); loadErr == nil {
				t.start(id, p)
				return t.notYet(p)
			}
		}
		return ledgerDown(err)
	}
	switch refusal, refused := errors.AsType[*rail.Refusal](err); {
	case errors.Is(err, errUsed):
		return t.alreadyUsed(ctx, o.p.payment)
	case errors.Is(err, errAnswered):
		return manyAnswered()
	case refused:
		return t.refuse(o.asked, refusal)
	}
	err = gateError(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Payment == nil {
		return stockRefusal(err)
	}
	return err
}

// proves reports whether the request that carried a payment proves to come from the one who claimed
// it first: the same payment byte for byte, and a nonce of ours in it that only the challenged
// buyer knows (M1).
func (p *Presented) proves(c Claim) bool { return p.Proof != "" && p.Proof == c.Header }

// refusedForNow refuses a payer whose last payments did not settle, before goods are made (M5).
func refusedForNow(tx ledger.Tx, payer string) error {
	since := tx.Now().Add(-24 * time.Hour)
	n := 0
	var first time.Time
	from, to := ledger.NotSettled(payer)
	for e, err := range tx.ScanDown(from, to) {
		if err != nil {
			return err
		}
		at, err := ledger.NotSettledAt(e.Key)
		if err != nil {
			return err
		}
		if at.Before(since) || n == maxNotSettled {
			break
		}
		n, first = n+1, at // in the end the one whose passing makes room
	}
	if n < maxNotSettled {
		return nil
	}
	wait := first.Add(24 * time.Hour).Sub(tx.Now())
	return (&Error{Code: CodeNotSettling, Retry: wait, Count: maxNotSettled}).paid("no", "after")
}

func withoutSource(inputs map[string]string) map[string]string {
	out := make(map[string]string, len(inputs))
	for k, v := range inputs {
		if k != "source" {
			out[k] = v
		}
	}
	return out
}

// isOpen refuses what is asked of a network that was not reopened after a restore (M13).
func isOpen(tx ledger.Tx, network string) error {
	shut, err := ledger.IsClosed(tx, network)
	if err == nil && shut {
		return closedError()
	}
	return err
}
