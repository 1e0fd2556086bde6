package till

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentstore/content"
	"agentstore/dynamic/goods"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/x402"
)

// presented is a payment that came with a request, as far as it could be read.
type presented struct {
	x402    *x402.Presented
	rail    rail.Rail
	payment *rail.Payment
	refusal *rail.Refusal // why it could not be read; payment is nil then
	digest  string        // hex SHA-256 of the exact header
	nonceOK bool          // the header holds a nonce of ours
}

// buy answers GET and POST /api/buy/{item_id}. The order of the gates is decisions §3: a bad Idempotency-Key; a payment that
// is known already; the item, its inputs, its stock; no payment; the payment's own faults; the claim.
func (t *Till) buy(w http.ResponseWriter, r *http.Request) error {
	now := t.cfg.Now().UTC()
	header := paymentHeader(r)
	key, err := idempotencyKey(r)
	if err != nil {
		if header != "" {
			err = t.keyBeforePayment(r, header, err)
		}
		return err
	}
	item, site := r.PathValue("item_id"), t.cfg.Site.Now()
	if header == "" {
		g, inputs, err := t.gates(r.Context(), site, item, r)
		if err != nil {
			return err
		}
		return t.writeChallenge(w, asked{site, g, r.Method, fingerprint(g.ID, inputs)}, now)
	}

	p := t.read(header)
	if p.payment != nil {
		claim, found, err := t.claimOf(r.Context(), p.payment)
		if err != nil {
			return ledgerDown(err)
		}
		if found {
			return t.repeat(w, r, claim, p)
		}
	}
	g, inputs, gate := t.gates(r.Context(), site, item, r)
	if gate != nil && !stockGate(gate) {
		return withPayment(gate, notBilled("now", "Correct the request. The payment you sent was not used; send it again with the corrected request, or let it expire."))
	}
	order := asked{site, g, r.Method, fingerprint(g.ID, inputs)}
	if p.refusal != nil {
		return t.refuse(order, p, p.refusal, now)
	}
	req, err := t.match(order, p)
	if err != nil {
		var refusal *rail.Refusal
		if errors.As(err, &refusal) {
			return t.refuse(order, p, refusal, now)
		}
		return err
	}
	if key, err = keyOf(key, p.x402); err != nil {
		return err
	}
	o := &offer{asked: order, inputs: inputs, key: key, terms: req, p: p, at: time.Now().UTC()}
	if gate != nil {
		// Sold out for everybody but a payer who comes back for what is theirs.
		return t.otherwise(w, r, o, stockRefusal(gate))
	}
	return t.take(w, r, o)
}

// keyBeforePayment is the answer to a payment that came with a bad key. The request does nothing, but what is said of the
// money has to be true of a payment that bought something before: who sent it may act on it.
func (t *Till) keyBeforePayment(r *http.Request, header string, bad error) error {
	said := notBilled("same_payment", "Send the same payment again with the key corrected or left out.")
	p := t.read(header)
	if p.payment == nil {
		return withPayment(bad, said)
	}
	c, found, err := t.claimOf(r.Context(), p.payment)
	if err != nil {
		return ledgerDown(err)
	}
	if !found {
		return withPayment(bad, said)
	}
	if !p.proves(c) || c.Answered {
		if said.Billed, err = t.claimedBy(r.Context(), c, p.payment); err != nil {
			return err
		}
		if said.Billed == "unknown" {
			return usedError(said.Billed) // a 400 would not be read as a reason to wait
		}
		return withPayment(bad, said)
	}
	bought, err := t.load(r.Context(), c.Purchase)
	if err != nil {
		return ledgerDown(err)
	}
	if bought.open() {
		return t.notYet(bought)
	}
	said.Billed, said.Delivered = bought.billed(), bought.State == Delivered
	return withPayment(bad, said)
}

// offer is a matched payment for a good, on its way to being claimed.
type offer struct {
	asked
	inputs map[string]string
	key    string // idempotency key, "" for none
	terms  rail.Requirement
	p      *presented
	at     time.Time
	local  bool // the payer is known on its own network alone (rail.Mark)
}

// holder names whose idempotency slots an order opens.
func (o *offer) holder() string {
	if o.local {
		return o.p.payment.Payer + "@" + o.p.payment.Network
	}
	return o.p.payment.Payer
}

func (o *offer) amount() int64 {
	n, err := strconv.ParseInt(o.terms.Amount, 10, 64)
	if err != nil { // terms are our own
		panic(err)
	}
	return n
}

// fingerprint is what must be equal for a repeat.
func (o *offer) fingerprint() string { return o.print }

// take verifies, claims, makes, settles and answers.
func (t *Till) take(w http.ResponseWriter, r *http.Request, o *offer) error {
	if t.closing.Load() {
		return withPayment(&problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: 5 * time.Second,
			Detail: "The store is restarting and takes no new payments for a moment."},
			notBilled("now", "Send the same request with the same payment again in a few seconds."))
	}
	if err := t.cfg.Gas.Take(r.Context(), o.p.payment.Network, o.amount(), 0); err != nil {
		return t.whileOut(w, r, o, err)
	}
	mark, err := o.p.rail.Verify(r.Context(), o.p.payment, o.terms, o.at)
	o.local = mark.Local
	if err != nil {
		return t.notVerified(w, r, o, err)
	}
	left, err := t.enter(r.Context(), o)
	if err != nil {
		return t.whileOut(w, r, o, err)
	}
	p, repeat, err := t.claim(r.Context(), o, mark)
	if p == nil {
		left()
	}
	switch {
	case err != nil:
		return err
	case repeat != nil:
		return t.answerRepeat(w, r, repeat)
	}
	t.fly(p.ID, left)
	now, err := t.await(r.Context(), p.ID, t.cfg.SettleWait)
	if err != nil {
		t.cfg.Log.Error("purchase not read while its buyer waits", "purchase", p.ID, "err", err)
		return t.notYet(p)
	}
	return t.answer(w, now, false)
}

// expiring is how many seconds before its end an authorization may be refused as expired.
const expiring = 60

// notVerified answers a payment that its rail did not accept.
func (t *Till) notVerified(w http.ResponseWriter, r *http.Request, o *offer, err error) error {
	refusal, refused := errors.AsType[*rail.Refusal](err)
	if !refused {
		return unreadable(err)
	}
	if errors.Is(err, rail.ErrUsed) {
		// The authorization may have been claimed and settled between our first look and the check.
		claim, found, err := t.claimOf(r.Context(), o.p.payment)
		if err != nil {
			return ledgerDown(err)
		}
		if found {
			return t.repeat(w, r, claim, o.p)
		}
	}
	if used := t.usedBefore(r.Context(), o, refusal); used != nil {
		return used
	}
	if emptyWallet(err) && o.key != "" {
		return t.replaySlot(w, r, o, t.refuse(o.asked, o.p, refusal, o.at))
	}
	return t.refuseOrOut(w, r, o, refusal)
}

// usedBefore is the answer to a payment that its rail refused although it may have paid, unknown to a ledger that was
// restored: who believes that it did not signs again. It is nil for one that was not used, as far as can be told.
func (t *Till) usedBefore(ctx context.Context, o *offer, refused error) error {
	if errors.Is(refused, rail.ErrUsed) {
		return t.alreadyUsed(ctx, o.p.payment)
	}
	refusal, ok := errors.AsType[*rail.Refusal](refused)
	if ok && o.p.payment.ValidBefore <= o.at.Unix()+expiring && strings.HasSuffix(refusal.Reason, "valid_before") &&
		t.charged(ctx, readLate, o.p.payment, nil, rail.Mark{}) == "yes" {
		return usedError("yes")
	}
	return nil
}

// gates are what stands before the 402: the item exists, is sold, its inputs are right, it is in stock.
func (t *Till) gates(ctx context.Context, site *content.Site, item string, r *http.Request) (content.Good, map[string]string, error) {
	g, ok := site.Good(item)
	if !ok {
		if gone, ok := site.RetiredGood(item); ok {
			detail := fmt.Sprintf("%s is no longer sold. %s", item, gone.Reason)
			extra := map[string]any{}
			if gone.FoldedInto != "" {
				extra["folded_into"] = gone.FoldedInto
				detail += " Look at " + t.cfg.BaseURL + "/menu/" + gone.FoldedInto + "."
			}
			return content.Good{}, nil, &problem.Error{Code: "gone", Status: http.StatusGone, Detail: strings.TrimSpace(detail), Extra: extra}
		}
		return content.Good{}, nil, &problem.Error{Code: "not_found", Status: http.StatusNotFound,
			Detail: "No good has this id. The shelf is at " + t.cfg.BaseURL + "/menu.json."}
	}
	inputs, fields, err := readInputs(g, r)
	if err != nil {
		return g, nil, err
	}
	if len(fields) > 0 {
		return g, nil, &problem.Error{Code: "invalid_input", Status: http.StatusBadRequest, Fields: fields,
			Detail: fmt.Sprintf("%s cannot be ordered like this: %s. Its inputs are listed at %s/menu/%s.", g.ID, joinFields(fields), t.cfg.BaseURL, g.ID)}
	}
	k, err := goods.Of(g)
	if err != nil {
		return g, inputs, err
	}
	if k.Available == nil {
		return g, inputs, nil
	}
	vctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = t.cfg.DB.View(vctx, func(tx ledger.Tx) error { return k.Available(goods.Maker{Site: site}, tx, g, inputs) })
	return g, inputs, t.gateError(err)
}

// gateError turns a kind's refusal into an answer; other errors are the ledger's.
func (t *Till) gateError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*goods.SoldOut](err); ok {
		if held := holdError("All that is left of "+e.Item+" is held", e.HeldUntil, time.Now()); held != nil {
			return held
		}
		pe := &problem.Error{Code: "sold_out", Status: http.StatusConflict,
			Detail: e.Item + " is sold out and will not come back. The rest of the shelf is at " + t.cfg.BaseURL + "/menu.json."}
		if !e.Reopens.IsZero() {
			pe.Detail = fmt.Sprintf("%s is sold out until %s.", e.Item, e.Reopens.UTC().Format(time.RFC3339))
			pe.Extra = map[string]any{"reopens_at": e.Reopens.UTC().Format(time.RFC3339)}
		}
		return pe
	}
	if e, ok := errors.AsType[*goods.Taken](err); ok {
		if held := holdError(fmt.Sprintf("%q is held", e.Word), e.HeldUntil, time.Now()); held != nil {
			return held
		}
		return &problem.Error{Code: "word_already_retired", Status: http.StatusConflict,
			Detail: fmt.Sprintf("%q is on the register already. Choose another word, or leave detail out and we choose one.", e.Word)}
	}
	if e, ok := errors.AsType[*goods.BadInput](err); ok {
		return &problem.Error{Code: "invalid_input", Status: http.StatusBadRequest,
			Fields: []problem.Field{{Field: e.Field, Problem: e.Problem}}, Detail: e.Error()}
	}
	return ledgerDown(err)
}

// stockGate reports whether an answer says that the good is gone, which a buyer with a purchase of it may pass.
func stockGate(err error) bool {
	e, ok := errors.AsType[*problem.Error](err)
	return ok && (e.Code == "sold_out" || e.Code == "word_already_retired")
}

// read takes a payment header apart without any I/O.
func (t *Till) read(header string) *presented {
	p := &presented{}
	x, err := x402.Decode(header)
	if err == nil {
		p.x402 = x
		p.digest = hex.EncodeToString(x.Digest[:])
		p.nonceOK = t.nonces.Valid(x402.EchoedNonce(x))
		r, ok := t.byNet[x.Accepted.Network]
		if !ok {
			err = &rail.Refusal{Reason: "invalid_network", Message: "this store does not take payments on that network"}
		} else {
			p.rail = r
			p.payment, err = r.Parse(x.Payload, x.Accepted)
		}
	}
	if err != nil {
		if !errors.As(err, &p.refusal) {
			p.refusal = &rail.Refusal{Reason: "invalid_payload", Message: "the payment cannot be read"}
		}
		p.payment = nil
	}
	return p
}

// match finds the terms that a payment accepts and checks what came with it.
func (t *Till) match(a asked, p *presented) (rail.Requirement, error) {
	terms := t.terms(a.good)
	i := x402.Match(p.x402, terms)
	if i < 0 {
		return rail.Requirement{}, &rail.Refusal{Reason: "No matching payment requirements", Message: "accepted must equal one entry of accepts"}
	}
	// The order is the same in the query and in a body, so terms that were asked for in one form are paid in the other.
	if sent := p.x402.Extensions; !x402.EchoHolds(sent, echoed(a.good, false)) && !x402.EchoHolds(sent, echoed(a.good, true)) {
		return rail.Requirement{}, &rail.Refusal{Reason: "extension_echo_mismatch"}
	}
	if p.x402.Resource != "" && p.x402.Resource != t.resourceURL(a.good) {
		return rail.Requirement{}, &rail.Refusal{Reason: "invalid_payload", Message: "the payment was signed for another resource"}
	}
	return terms[i], nil
}

// refuse answers 402 with the reason and fresh terms, in the header and in the body.
func (t *Till) refuse(a asked, p *presented, refusal *rail.Refusal, now time.Time) error {
	header, members, err := t.freshTerms(a, refusal.Reason, now)
	if err != nil {
		return notTaken(err)
	}
	members["reason"] = refusal.Reason
	h := http.Header{}
	h.Set(x402.HeaderRequired, header)
	h.Set("Cache-Control", "private, no-store")
	detail := "The payment was not taken: " + refusal.Error() + ". Nothing was charged."
	return withPayment(&problem.Error{Code: "payment_invalid", Status: http.StatusPaymentRequired, Header: h, Detail: detail,
		Extra: members},
		notBilled("now", "Read the reason, ask for fresh terms without a payment, and sign again."))
}

// paymentHeader is the presented payment, "" for none. HEAD never pays (M8). Two headers are one malformed payment.
func paymentHeader(r *http.Request) string {
	if r.Method == http.MethodHead {
		return ""
	}
	vs := r.Header.Values(x402.HeaderSignature)
	if len(vs) > 1 {
		return strings.Join(vs, ",") // not base64, so it is refused as malformed
	}
	if len(vs) == 1 && vs[0] == "" {
		return "," // present and empty is malformed, not absent
	}
	if len(vs) == 0 {
		return ""
	}
	return vs[0]
}
