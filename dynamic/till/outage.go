package till

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"agentstore/content"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/settle/gas"
)

// What a buyer is told while a network, or every network, takes no payment (decisions §3).

// enter counts a payment that was verified, so that nobody fills the count with worthless ones, among those that the
// relayer of its network has to pay for, unless it cannot pay for one more; left is to be called when nobody here drives its
// settlement any more, or it was not begun, and not when the client is gone.
func (t *Till) enter(ctx context.Context, o *offer) (left func(), err error) {
	network := o.p.payment.Network
	t.mu.Lock()
	under := t.under[network]
	t.under[network]++
	t.mu.Unlock()
	left = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.under[network]--
	}
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
	return t.otherwise(w, r, o, withPayment(e, notBilled("same_payment", next+".")))
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
