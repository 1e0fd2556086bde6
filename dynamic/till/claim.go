package till

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"agentstore/dynamic/goods"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
)

// slotWindow is how long a resolved purchase keeps its idempotency slot. One that is not resolved keeps it for ever.
const slotWindow = 24 * time.Hour

// maxNotSettled is how many of a payer's payments may fail to settle in a day before goods are no longer made ahead
// for them (M5).
const maxNotSettled = 3

func authKey(p *rail.Payment) []byte {
	return ledger.AuthKey(p.Network, p.Asset, p.Method, p.Payer, p.Nonce)
}

// claimOf looks a payment up among the claims.
func (t *Till) claimOf(ctx context.Context, p *rail.Payment) (Claim, bool, error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	var c Claim
	err := t.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		c, err = ledger.GetJSON[Claim](tx, authKey(p))
		return err
	})
	if errors.Is(err, errNotFound) {
		return Claim{}, false, nil
	}
	return c, err == nil, err
}

// repeated is an earlier purchase that answers a request.
type repeated struct {
	purchase string
	slot     bool // found by idempotency key; the payment that came along was not used
}

// claim takes the authorization, the idempotency slot, the stock and the reservation in one transaction (M2, M6), or
// finds the purchase that this request repeats.
func (t *Till) claim(ctx context.Context, o *offer, mark rail.Mark) (*Purchase, *repeated, error) {
	if t.inFlight() >= t.cfg.MaxInFlight {
		return nil, nil, withPayment(&problem.Error{Code: "rate_limited", Status: http.StatusTooManyRequests, Retry: 2 * time.Second,
			Detail: "Too many purchases are under way."}, notBilled("same_payment", "Send the same request with the same payment again in a moment."))
	}
	k, err := goods.Of(o.good)
	if err != nil {
		return nil, nil, err
	}
	id := newID(prefixPurchase)
	var p *Purchase
	var rep *repeated
	lctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = t.cfg.DB.Update(lctx, func(tx ledger.Tx) error {
		p, rep = nil, nil
		if shut, err := isClosed(tx); err != nil || shut {
			return errors.Join(err, closedIf(shut))
		}
		c, err := ledger.GetJSON[Claim](tx, authKey(o.p.payment))
		if err == nil {
			if !o.p.proves(c) {
				return alreadyUsed()
			}
			rep = &repeated{purchase: c.Purchase, slot: c.Answered}
			return nil
		}
		if !errors.Is(err, errNotFound) {
			return err
		}
		if rep, err = t.slot(tx, o); err != nil {
			return err
		}
		if rep != nil {
			// The payer is proved by a fresh authorization; it is recorded as answered and never settled.
			return ledger.SetJSON(tx, authKey(o.p.payment), Claim{Purchase: rep.purchase, Header: o.p.replayDigest(), Answered: true})
		}
		if err := refusedForNow(tx, o.p.payment.Payer); err != nil {
			return err
		}
		order := &goods.Order{
			ID: id, Good: o.good, Inputs: withoutSource(o.inputs), Payer: o.p.payment.Payer, Network: o.p.payment.Network,
			Paid: o.amount(), Tip: o.amount() - o.good.Price, At: tx.Now(),
		}
		if err := k.Reserve(goods.Maker{Site: o.site}, tx, order); err != nil {
			return err
		}
		p = &Purchase{
			ID: id, State: Claimed, Item: o.good.ID, Inputs: order.Inputs, Source: o.inputs["source"], Fingerprint: o.fingerprint(), Content: o.site.Digest,
			Protocol: "x402", Payment: *o.p.payment, Terms: o.terms, Amount: order.Paid, Tip: order.Tip, Mark: mark,
			Entry: order.Entry, Word: order.Word,
		}
		if err := ledger.SetJSON(tx, authKey(o.p.payment), Claim{Purchase: id, Header: o.p.replayDigest()}); err != nil {
			return err
		}
		if o.key != "" {
			digest := sha256.Sum256([]byte(o.key))
			p.Slot = hex.EncodeToString(digest[:])
			if err := tx.Set(ledger.SlotKey(o.holder(), digest), []byte(id)); err != nil {
				return err
			}
		}
		if err := tx.Set(ledger.PayerKey(p.Payment.Payer, tx.Now(), id), nil); err != nil {
			return err
		}
		return t.save(tx, p)
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

// claimError turns what the claim transaction said into an answer.
func (t *Till) claimError(ctx context.Context, o *offer, id string, err error) error {
	if errors.Is(err, ledger.ErrUnknown) {
		// The commit may have happened. Reading decides; the worker drives it if it did.
		if c, found, lookErr := t.claimOf(ctx, o.p.payment); lookErr == nil && found && c.Purchase == id {
			if p, loadErr := t.load(ctx, id); loadErr == nil {
				t.fly(id)
				return t.notYet(p)
			}
		}
		return ledgerDown(err)
	}
	err = t.gateError(err)
	if e, ok := errors.AsType[*problem.Error](err); ok && e.Payment == nil {
		return withPayment(err, notBilled("never", "Nothing was charged. Choose something else; let the authorization expire."))
	}
	return err
}

// proves reports whether the request that carried a payment proves to come from the one who claimed it first: the
// same header byte for byte, and a nonce of ours in it that only the challenged buyer knows (M1).
func (p *presented) proves(c Claim) bool { return p.nonceOK && c.Header != "" && c.Header == p.digest }

// replayDigest is what a later replay must equal; empty when nothing later could prove itself.
func (p *presented) replayDigest() string {
	if !p.nonceOK {
		return ""
	}
	return p.digest
}

// slot finds the purchase that holds the slot of the request's key. The suggested key of the minute before counts
// too, for an equal order only.
func (t *Till) slot(tx ledger.Tx, o *offer) (*repeated, error) {
	if o.key == "" {
		return nil, nil
	}
	held, err := t.slotHolder(tx, o.holder(), o.key)
	if err != nil {
		return nil, err
	}
	if held != nil {
		if held.Fingerprint != o.fingerprint() {
			return nil, withPayment(&problem.Error{Code: "idempotency_conflict", Status: http.StatusUnprocessableEntity,
				Detail: "This Idempotency-Key was used by this wallet for another order. Use a new key for a new order."},
				notBilled("now", "Send the same payment again with a new key, or repeat the first order with this one."))
		}
		return &repeated{purchase: held.ID, slot: true}, nil
	}
	minute, ok := suggestedAt(o.good.ID, o.key)
	if !ok {
		return nil, nil
	}
	held, err = t.slotHolder(tx, o.holder(), suggestedKey(o.good.ID, minute.Add(-time.Minute)))
	if err != nil || held == nil || held.Fingerprint != o.fingerprint() {
		return nil, err
	}
	return &repeated{purchase: held.ID, slot: true}, nil
}

// slotHolder is the purchase in a slot that still counts, nil for none.
func (t *Till) slotHolder(tx ledger.Tx, holder, key string) (*Purchase, error) {
	id, err := tx.Get(ledger.SlotKey(holder, sha256.Sum256([]byte(key))))
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(string(id)))
	if err != nil {
		return nil, fmt.Errorf("slot of %s: %w", id, err)
	}
	if p.freed() || !p.open() && tx.Now().Sub(p.Created) > slotWindow {
		return nil, nil
	}
	return &p, nil
}

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
	return withPayment(&problem.Error{Code: "payment_refused_for_now", Status: http.StatusTooManyRequests, Retry: wait,
		Detail: fmt.Sprintf("At least %d payments of this wallet did not settle within a day, so nothing is made ahead for it for now.", n)},
		notBilled("after", "Come back after the time in Retry-After, or pay from another wallet."))
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

// isClosed reports a restored store that was not reopened yet (M13).
func isClosed(tx ledger.Tx) (bool, error) {
	_, err := tx.Get(ledger.ClosedKey())
	if errors.Is(err, errNotFound) {
		return false, nil
	}
	return err == nil, err
}

func closedIf(shut bool) error {
	if shut {
		return closedError()
	}
	return nil
}
