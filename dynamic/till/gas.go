package till

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"agentstore/content"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/gas"
)

// held is what was set aside for one settlement.
type held struct {
	Tx string `json:"tx"`
	gas.Held
}

// revert is a settlement of ours that reverted.
type revert struct {
	rail.Revert
	rail.Cause
}

// payersRevert reports whether one of the settlements reverted by what is shown to be the payer's doing.
func (p *Purchase) payersRevert() bool {
	return slices.ContainsFunc(p.Reverts, func(r revert) bool { return r.Payer })
}

// numbers is how many sequence numbers were signed for, of the relayer's accounts together.
func (p *Purchase) numbers() int {
	type place struct {
		account  string
		sequence uint64
	}
	seen := make(map[place]bool)
	for _, s := range p.Sent {
		if !s.Fill {
			seen[place{s.Account, s.Sequence}] = true
		}
	}
	return len(seen)
}

// ending is why a purchase is given up.
type ending struct {
	reason string
	payer  bool // shown to be the payer's doing: counts against it (M5)
}

// errReverted says that as many settlements of a purchase have reverted as may.
var errReverted = errors.New("till: its settlements reverted")

// ended reports whether an error of a draft, or of signing it, ends the purchase, and how.
func ended(err error) (ending, bool) {
	refusal, ok := errors.AsType[*rail.Refusal](err)
	_, spent := errors.AsType[*gas.Spent](err)
	switch {
	case ok:
		return ending{refusal.Reason, refusal.Payer}, true
	case errors.Is(err, errReverted):
		return ending{reason: "invalid_exact_evm_transaction_failed"}, true
	case errors.Is(err, gas.ErrDear):
		return ending{reason: "settlement_costs_more_than_paid"}, true
	case errors.Is(err, rail.ErrNoGas), errors.Is(err, rail.ErrFees):
		return ending{reason: "settlement_unavailable"}, true
	case spent:
		return ending{reason: "settlement_refused_today"}, true
	}
	return ending{}, false
}

// suspect has the network looked at anew where a purchase ends by what is not its payer's doing: others would end alike.
func (t *Till) suspect(ctx context.Context, p *Purchase, why ending) {
	if !why.payer {
		t.cfg.Gas.Suspect(ctx, p.Payment.Network)
	}
}

// retried calls f until it returns something that is not a node's failure to answer, with short pauses, as long as ctx
// allows: one hiccup must not cost a buyer the worker's patience.
func retried[T any](ctx context.Context, t *Till, p *Purchase, f func() (T, error)) (T, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		v, err := f()
		if _, over := ended(err); err == nil || over || ctx.Err() != nil {
			return v, err
		}
		t.cfg.Log.Warn("chain not readable, asking again", "purchase", p.ID, "network", p.Payment.Network, "err", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return v, err
		}
	}
}

// draft drafts the first settlement of a purchase.
func (t *Till) draft(ctx context.Context, r rail.Rail, p *Purchase) (rail.Draft, error) {
	d, err := retried(ctx, t, p, func() (rail.Draft, error) { return r.Draft(ctx, &p.Payment) })
	if err != nil {
		return nil, fmt.Errorf("drafting the settlement: %w", err)
	}
	return d, nil
}

// redraft drafts another settlement of a purchase whose last number is spent, if it may draw one (M15).
func (t *Till) redraft(ctx context.Context, r rail.Rail, p *Purchase) (rail.Draft, error) {
	last := ending{payer: p.payersRevert()}
	if !gas.MayDraft(p.Mark.Local || p.Mark.Code != "", len(p.Reverts), p.numbers()) {
		return nil, last.reverted()
	}
	d, err := r.Draft(ctx, &p.Payment)
	if err == nil && !gas.MayDraft(d.Price().Code != "", len(p.Reverts), p.numbers()) {
		return nil, last.reverted() // it has code by now
	}
	return d, err
}

// reverted is the error that ended turns into this ending.
func (e ending) reverted() error {
	return &rail.Refusal{Reason: "invalid_exact_evm_transaction_failed", Message: "its settlement reverted", Err: errReverted, Payer: e.payer}
}

// pay takes from the day's budgets what a signature for a new number costs, in the transaction that stores it.
func (t *Till) pay(tx ledger.Tx, p *Purchase, s rail.Signed, price rail.Price) error {
	if s.Fill || slices.ContainsFunc(p.Sent, func(o rail.Signed) bool { return o.Account == s.Account && o.Sequence == s.Sequence && s.ID != "" }) {
		return nil
	}
	if price.Code == "" {
		price.Code = p.Mark.Code
	}
	p.Mark.Code = price.Code
	h, err := t.cfg.Gas.Sign(tx, p.Payment.Network, p.Payment.Payer, p.Amount, price)
	if err != nil {
		return err
	}
	if h.Amount > 0 {
		p.Held = append(p.Held, held{s.ID, h})
	}
	return nil
}

// landed gives back what was held for a purchase that is paid.
func (t *Till) landed(tx ledger.Tx, p *Purchase) error {
	var back []gas.Held
	for _, h := range p.Held {
		back = append(back, h.Held)
	}
	p.Held = nil
	return t.cfg.Gas.Settled(tx, p.Payment.Network, p.Payment.Payer, p.Mark.Code, back)
}

// noteReverts counts the reverts that the journal has not, once each, with why they did.
func (t *Till) noteReverts(ctx context.Context, r rail.Rail, p *Purchase, found []rail.Revert) (*Purchase, error) {
	for _, f := range found {
		known := func(p *Purchase) bool {
			return slices.ContainsFunc(p.Reverts, func(v revert) bool { return v.Tx == f.Tx })
		}
		if known(p) {
			continue
		}
		why, err := retried(ctx, t, p, func() (rail.Cause, error) { return r.Explain(ctx, &p.Payment, f) })
		if err != nil {
			return p, err
		}
		t.cfg.Log.Warn("settlement reverted", "purchase", p.ID, "network", p.Payment.Network, "tx", f.Tx, "gas", f.Gas, "cost", f.Cost,
			"why", why.Reason, "payers_doing", why.Payer)
		p2, err := t.advance(ctx, p.ID, []State{p.State}, "reverted", func(tx ledger.Tx, q *Purchase) error {
			if known(q) {
				return errMoved
			}
			// A replacement has the place of what it replaced.
			var of gas.Held
			i := slices.IndexFunc(q.Held, func(h held) bool { return h.Tx == f.Tx || q.replaced(h.Tx, f.Tx) })
			if i >= 0 {
				of = q.Held[i].Held
				q.Held = slices.Delete(q.Held, i, i+1)
			}
			q.Reverts = append(q.Reverts, revert{f, why})
			return t.cfg.Gas.Reverted(tx, q.Payment.Network, q.Payment.Payer, q.Mark.Code, of, f, why)
		})
		if err != nil {
			return p, err
		}
		p = p2
		if !why.Payer {
			t.cfg.Gas.Suspect(ctx, p.Payment.Network)
		}
	}
	return p, nil
}

// replaced reports whether two settlements have the same number.
func (p *Purchase) replaced(a, b string) bool {
	at := func(id string) int { return slices.IndexFunc(p.Sent, func(s rail.Signed) bool { return s.ID == id }) }
	i, j := at(a), at(b)
	return i >= 0 && j >= 0 && p.Sent[i].Account == p.Sent[j].Account && p.Sent[i].Sequence == p.Sent[j].Sequence
}

// enter counts a payment among those that the relayer of its network has to pay for, unless nothing is taken there; left
// is to be called when its settlement is over or not begun.
func (t *Till) enter(ctx context.Context, o *offer) (left func(), err error) {
	network := o.p.payment.Network
	t.mu.Lock()
	under := t.under[network]
	t.under[network]++
	t.mu.Unlock()
	left = sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.under[network]--
	})
	if err := t.cfg.Gas.Take(ctx, network, o.amount(), under); err != nil {
		left()
		return nil, err
	}
	return left, nil
}

// leftOut names the networks on which a good is not sold at present, and why.
func (t *Till) leftOut(g content.Good) []leftOut {
	var out []leftOut
	for _, r := range t.cfg.Rails {
		info := r.Info()
		if t.shutOn(info.Network) {
			out = append(out, leftOut{info.Network, info.Name, "it is being checked after a restore"})
		} else if o := t.cfg.Gas.Offer(context.Background(), info.Network, g.Price); o != nil {
			out = append(out, leftOut{info.Network, info.Name, o.Reason})
		}
	}
	return out
}

// terms are all that may be accepted for a good: what a challenge offered a moment ago is taken though it would not be
// offered now, if its network can settle it.
func (t *Till) terms(g content.Good) []rail.Requirement {
	var all []rail.Requirement
	for _, r := range t.cfg.Rails {
		for _, tier := range g.Tiers() {
			all = append(all, requirement(r, g, tier.Amount))
		}
	}
	return all
}

// outRetry is how soon to ask a store again that can settle nowhere.
const outRetry = 30 * time.Second

// nowhere is the answer where no network can settle: no terms, so that nobody signs for what cannot be taken.
func nowhere(out []leftOut) error {
	why := make([]string, len(out))
	for i, o := range out {
		why[i] = o.Name + ": " + o.Reason
	}
	return &problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: outRetry,
		Detail: "No payment can be taken at the moment. " + strings.Join(why, ". ") + ".", Extra: map[string]any{"left_out": out}}
}

// isOut reports an error of nowhere.
func isOut(err error) bool {
	e, ok := errors.AsType[*problem.Error](err)
	return ok && e.Code == "settlement_unavailable"
}

// notTaken says of a payment that came while no network can settle that it was not taken.
func notTaken(err error) error {
	if !isOut(err) {
		return err
	}
	return withPayment(err, notBilled("same_payment", "Your payment was not claimed. Send the same request with the same payment again after Retry-After, while its authorization is valid, or let it expire."))
}

// whileOut answers a payment whose network takes none at present. Nothing is claimed, but a buyer who comes back with the
// key of an earlier purchase gets that.
func (t *Till) whileOut(w http.ResponseWriter, r *http.Request, o *offer, err error) error {
	outage, ok := errors.AsType[*gas.Outage](err)
	if !ok {
		return err
	}
	e := &problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: outage.Retry,
		Detail: "No payment is taken on " + outage.Name + " at the moment: " + outage.Reason + "."}
	next := "Your payment was not claimed. Send the same request with the same payment again after Retry-After, while its authorization is valid"
	if len(t.leftOut(o.good)) < len(t.cfg.Rails) {
		next += ", or ask for terms without a payment and pay on another network"
	}
	out := withPayment(e, notBilled("same_payment", next+"."))
	if o.key == "" || t.cfg.Gas.Ready(r.Context(), outage.Network) != nil {
		return out
	}
	mark, err := o.p.rail.Verify(r.Context(), o.p.payment, o.terms, o.at)
	if err != nil && !emptyWallet(err) {
		return out
	}
	o.local = mark.Local
	return t.replaySlot(w, r, o, out)
}

// refuseOrOut answers a payment that the chain refuses: with fresh terms where that is this payment's trouble, as an
// outage where it turns out to be everybody's.
func (t *Till) refuseOrOut(w http.ResponseWriter, r *http.Request, o *offer, refusal *rail.Refusal) error {
	if strings.HasSuffix(refusal.Reason, "simulation_failed") {
		t.cfg.Gas.Suspect(r.Context(), o.p.payment.Network)
		if err := t.cfg.Gas.Take(r.Context(), o.p.payment.Network, o.amount(), 0); err != nil {
			return t.whileOut(w, r, o, err)
		}
	}
	return t.refuse(o.asked, o.p, refusal, o.at)
}

// spent turns the guard's refusal of a payer into an answer.
func spent(err error) error {
	s, ok := errors.AsType[*gas.Spent](err)
	if !ok {
		return err
	}
	return withPayment(&problem.Error{Code: "payment_refused_for_now", Status: http.StatusTooManyRequests, Retry: s.Retry,
		Detail: "Payments of others have reverted on " + s.Network + " and used up what the store spends on that in a day. Until midnight UTC only wallets that have paid here before are taken there."},
		notBilled("after", "Pay on another network, from a wallet that has bought here before, or come back after the time in Retry-After."))
}

// networkDown is the answer where a network has to be asked and cannot be.
func networkDown(err error) error {
	return &problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: outRetry, Err: err,
		Detail: "The network cannot be read at the moment. Try again later."}
}

// ready is an error for a network that is configured and was not yet seen to be the right one: nothing that its node says
// of a purchase is believed.
func (t *Till) ready(network string, configured bool) error {
	if !configured {
		return nil
	}
	return t.cfg.Gas.Ready(context.Background(), network)
}
