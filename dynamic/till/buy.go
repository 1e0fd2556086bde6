package till

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// buy answers GET /api/buy/{item_id}. The order of the gates is decisions §3: a bad Idempotency-Key; a payment that
// is known already; the item, its inputs, its stock; no payment; the payment's own faults; the claim.
func (t *Till) buy(w http.ResponseWriter, r *http.Request) error {
	now := time.Now().UTC()
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
		g, _, err := t.gates(r.Context(), site, item, r)
		if err != nil {
			return err
		}
		if t.shut.Load() {
			return closedError() // nobody should sign for what cannot be delivered
		}
		return t.writeChallenge(w, g, now)
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
	if p.refusal != nil {
		return t.refuse(g, p, p.refusal, now)
	}
	req, err := t.match(g, p, &key)
	if err != nil {
		var refusal *rail.Refusal
		if errors.As(err, &refusal) {
			return t.refuse(g, p, refusal, now)
		}
		return err
	}
	o := &offer{site: site, good: g, inputs: inputs, source: r.URL.Query().Get("source"), key: key, terms: req, p: p, at: now}
	if gate != nil {
		// Sold out for everybody but a payer who comes back for what is theirs.
		return t.replaySlot(w, r, o, gate)
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
	if !found || !p.proves(c) || c.Answered {
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
	site   *content.Site // that the good is of
	good   content.Good
	inputs map[string]string
	source string
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

// fingerprint is what must be equal for a repeat: the item and its validated inputs, without source, callback
// address, rail and tier (decisions §3).
func (o *offer) fingerprint() string {
	in := make(map[string]string, len(o.inputs))
	for k, v := range o.inputs {
		if k != "source" && k != "callback_url" {
			in[k] = v
		}
	}
	b, err := json.Marshal(struct {
		Item   string
		Inputs map[string]string
	}{o.good.ID, in})
	if err != nil { // strings marshal
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// take verifies, claims, makes, settles and answers.
func (t *Till) take(w http.ResponseWriter, r *http.Request, o *offer) error {
	if t.closing.Load() {
		return withPayment(&problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: 5 * time.Second,
			Detail: "The store is restarting and takes no new payments for a moment."},
			notBilled("now", "Send the same request with the same payment again in a few seconds."))
	}
	mark, err := o.p.rail.Verify(r.Context(), o.p.payment, o.terms, o.at)
	o.local = mark.Local
	if err != nil {
		return t.notVerified(w, r, o, err)
	}
	p, repeat, err := t.claim(r.Context(), o, mark)
	if err != nil {
		return err
	}
	if repeat != nil {
		return t.answerRepeat(w, r, repeat)
	}
	t.fly(p.ID)
	return t.waitAndAnswer(w, r, p.ID, t.cfg.SettleWait, false)
}

// notVerified answers a payment that its rail did not accept.
func (t *Till) notVerified(w http.ResponseWriter, r *http.Request, o *offer, err error) error {
	var refusal *rail.Refusal
	switch {
	case errors.Is(err, rail.ErrUsed):
		// The authorization may have been claimed and settled between our first look and the check.
		claim, found, lookErr := t.claimOf(r.Context(), o.p.payment)
		if lookErr != nil {
			return ledgerDown(lookErr)
		}
		if found {
			return t.repeat(w, r, claim, o.p)
		}
		return alreadyUsed()
	case errors.As(err, &refusal):
		if emptyWallet(err) && o.key != "" {
			return t.replaySlot(w, r, o, t.refuse(o.good, o.p, refusal, o.at))
		}
		return t.refuse(o.good, o.p, refusal, o.at)
	}
	return withPayment(&problem.Error{Code: "settlement_unavailable", Status: http.StatusServiceUnavailable, Retry: 5 * time.Second, Err: err,
		Detail: "The network of this payment cannot be read at the moment."},
		notBilled("same_payment", "Send the same request with the same payment again in a few seconds, or pay on another network."))
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
	inputs, fields := readInputs(g, r)
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
		pe := &problem.Error{Code: "sold_out", Status: http.StatusConflict,
			Detail: e.Item + " is sold out and will not come back. The rest of the shelf is at " + t.cfg.BaseURL + "/menu.json."}
		if !e.Reopens.IsZero() {
			pe.Detail = fmt.Sprintf("%s is sold out until %s.", e.Item, e.Reopens.UTC().Format(time.RFC3339))
			pe.Extra = map[string]any{"reopens_at": e.Reopens.UTC().Format(time.RFC3339)}
		}
		return pe
	}
	if e, ok := errors.AsType[*goods.Taken](err); ok {
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

// match finds the terms that a payment accepts and checks what came with it. key becomes the payment-identifier's id
// where only that was sent.
func (t *Till) match(g content.Good, p *presented, key *string) (rail.Requirement, error) {
	q := t.quote(g)
	i := x402.Match(p.x402, q.accepts)
	if i < 0 {
		return rail.Requirement{}, &rail.Refusal{Reason: "No matching payment requirements", Message: "accepted must equal one entry of accepts"}
	}
	c, err := t.challengeFor(g, time.Now())
	if err != nil {
		return rail.Requirement{}, err
	}
	if !x402.EchoHolds(p.x402.Extensions, c.required.Extensions) {
		return rail.Requirement{}, &rail.Refusal{Reason: "extension_echo_mismatch"}
	}
	if p.x402.Resource != "" && p.x402.Resource != t.resourceURL(g) {
		return rail.Requirement{}, &rail.Refusal{Reason: "invalid_payload", Message: "the payment was signed for another resource"}
	}
	id, ok := x402.PaymentID(p.x402)
	if !ok {
		return rail.Requirement{}, withPayment(badKey("The payment-identifier extension holds an id that is not 16 to 128 letters, digits, _ or -"),
			notBilled("now", "Sign again with a valid id or none."))
	}
	if id != "" && *key != "" && id != *key {
		return rail.Requirement{}, withPayment(&problem.Error{Code: "idempotency_keys_disagree", Status: http.StatusBadRequest,
			Detail: "The Idempotency-Key header and the payment-identifier extension name different keys. Send one of them, or both equal."},
			notBilled("same_payment", "Send the same payment again with the header corrected."))
	}
	if *key == "" {
		*key = id
	}
	return q.accepts[i], nil
}

// refuse answers 402 with the reason and fresh terms, in the header and in the body.
func (t *Till) refuse(g content.Good, p *presented, refusal *rail.Refusal, now time.Time) error {
	header, members, err := t.freshTerms(g, refusal.Reason, now)
	if err != nil {
		return err
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

// idempotencyKey reads the header. It is checked before everything else.
func idempotencyKey(r *http.Request) (string, error) {
	vs := r.Header.Values("Idempotency-Key")
	if len(vs) == 0 {
		return "", nil
	}
	if len(vs) > 1 || !keyPattern.MatchString(vs[0]) {
		return "", badKey("Idempotency-Key must be one value of 16 to 128 letters, digits, _ or -")
	}
	return vs[0], nil
}

var keyPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{16,128}$`)

func badKey(detail string) *problem.Error {
	return &problem.Error{Code: "idempotency_key_invalid", Status: http.StatusBadRequest, Detail: detail + ". This request did nothing."}
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

// readInputs validates the query against the good's own inputs and the common ones. Everything else is refused:
// who misspells an input must not pay for a good made without it.
func readInputs(g content.Good, r *http.Request) (map[string]string, []problem.Field) {
	var fields []problem.Field
	bad := func(name, format string, args ...any) {
		fields = append(fields, problem.Field{Field: name, Problem: fmt.Sprintf(format, args...)})
	}
	query, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		bad("query", "cannot be read: %v", err)
		return nil, fields
	}
	inputs := make(map[string]string)
	for _, in := range g.AllInputs() {
		vs, sent := query[in.Name]
		delete(query, in.Name)
		switch {
		case !sent || len(vs) == 1 && vs[0] == "":
			if in.Required {
				bad(in.Name, "is required")
			}
			continue
		case len(vs) > 1:
			bad(in.Name, "may be given once")
			continue
		}
		v := vs[0]
		switch {
		case !utf8.ValidString(v):
			bad(in.Name, "is not UTF-8")
		case in.Max > 0 && utf8.RuneCountInString(v) > in.Max:
			bad(in.Name, "is longer than %d characters", in.Max)
		case hasControl(v, in.Multiline):
			bad(in.Name, "holds control characters")
		case in.Pattern != "" && !regexp.MustCompile(in.Pattern).MatchString(v):
			bad(in.Name, "must match %s", in.Pattern)
		default:
			inputs[in.Name] = v
		}
	}
	for name := range query {
		bad(clip(name, 40), "is not an input of %s", g.ID)
	}
	return inputs, fields
}

func hasControl(s string, multiline bool) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		if multiline && (r == '\n' || r == '\t' || r == '\r') {
			return false
		}
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	})
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

func joinFields(fields []problem.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Field + " " + f.Problem
	}
	return strings.Join(parts, "; ")
}

// parseQuery reads a query string in whole or not at all.
func parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return nil, nil
	}
	v, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("it is not a form-encoded query")
	}
	return v, nil
}
