package buyer

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// Waiting between presentations of the same payment.
const (
	firstWait = time.Second
	maxWait   = 30 * time.Second
	// graceAfterExpiry is how long past its validity an unanswered payment is still asked about by
	// Resume. The answer may be there although the payment can no longer move money.
	graceAfterExpiry = 24 * time.Hour
)

// Result is what came of a purchase.
type Result struct {
	State State `json:"state,omitempty"`
	// Free is set when the door delivered without asking for a payment; there is no journal file
	// then.
	Free        bool   `json:"free"`
	Status      int    `json:"status"` // of the last answer; 0 when there was none
	ContentType string `json:"content_type,omitempty"`
	Body        []byte `json:"body,omitempty"`
	Truncated   bool   `json:"truncated,omitempty"` // the body was longer than MaxBody and is cut
	// Billed is yes, no or unknown, as far as the door's answer tells.
	Billed string `json:"billed,omitempty"`
	// Replay is set when the door says that it gave this result before: to this very payment, when
	// it was presented more than once, or else to an earlier purchase with the same idempotency
	// key. A warning tells the second, in which case Billed and Settlement are the earlier
	// purchase's.
	Replay      bool                 `json:"replay,omitempty"`
	Settlement  *x402.SettleResponse `json:"settlement,omitempty"`
	Receipt     Receipt              `json:"receipt"`
	Transaction string               `json:"transaction,omitempty"`
	Network     string               `json:"network,omitempty"`
	Asset       string               `json:"asset,omitempty"`
	Nonce       string               `json:"nonce,omitempty"`  // of the authorization
	Amount      int64                `json:"amount,omitempty"` // atomic units, as signed
	PayTo       string               `json:"pay_to,omitempty"`
	Payer       string               `json:"payer,omitempty"`
	// Scheme is how it was paid, empty for exact. Voucher is what was paid by voucher, and Hold
	// what an escrow holds.
	Scheme  string       `json:"scheme,omitempty"`
	Voucher *VoucherPaid `json:"voucher,omitempty"`
	Hold    *HoldView    `json:"hold,omitempty"`
	// ValidBefore is when the signature stops being worth money.
	ValidBefore time.Time `json:"valid_before,omitzero"`
	SignedAt    time.Time `json:"signed_at,omitzero"`   // or a moment before
	AnsweredAt  time.Time `json:"answered_at,omitzero"` // zero where there was no answer
	Journal     string    `json:"journal,omitempty"`    // where the purchase is kept
	Warnings    []string  `json:"warnings"`
	// Words are what the door passed on of what its facilitator said: unverified, and bounded.
	Words []Word `json:"words,omitempty"`
}

// Buy reads the terms, signs one payment, journals it, presents it, and presents the same payment
// again for as long as its answer is lost or pending and it is valid.
//
// The error is nil when the good was delivered. It wraps a *DoorError when the door gave a final
// answer that is not the good, and ErrUnknown when there was no final answer: in both cases the
// Result is there too. A Result beside any other error could not be journalled. With an error and
// no Result nothing was presented.
func (b *Buyer) Buy(ctx context.Context, rawURL string, o Options) (_ *Result, err error) {
	if !b.cfg.hasWallet() {
		return nil, errors.New("buying: no wallet is configured")
	}
	if !wellFormedID(o.ID) {
		return nil, errors.New("buying: an ID has at most 64 of the characters A-Z, a-z, 0-9, _ and -")
	}
	if o.IdempotencyKey != "" && !wellFormedKey(o.IdempotencyKey) {
		return nil, errors.New("buying: an idempotency key has 16 to 128 of the characters A-Z, a-z, 0-9, _ and -")
	}
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	r, err := o.request(u)
	if err != nil {
		return nil, err
	}
	h, err := b.open(ctx, r.digest())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.release()) }()
	if p, err := b.earlier(ctx, h, r, o); err != nil || p != nil {
		if err != nil {
			return nil, err
		}
		return b.goOn(ctx, h, p)
	}
	if o.Signed {
		return nil, ErrNone
	}
	if err := b.unanswered(ctx, r, o); err != nil {
		return nil, err
	}
	if o.Agreed != nil {
		o.Choice.Protocol = o.Agreed.Protocol
	}
	t, err := b.terms(ctx, u, r, o.Choice)
	if err != nil {
		return nil, err
	}
	if t.Free {
		return t.free(), nil
	}
	if o.Agreed != nil {
		if err := b.agreed(t, o.Agreed); err != nil {
			return nil, err
		}
	}
	if t.Chosen < 0 {
		return nil, t.err
	}
	t.again = o.Again
	p, err := b.intend(ctx, t, r, u)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.letGo()) }()
	if err := b.journalled(ctx, h, o, t, p); err != nil {
		return nil, err
	}
	b.log.Info("payment journalled", "door", place(u), "amount", p.Amount, "network", p.Network, "pay_to", p.PayTo,
		"purchase", p.ID)
	res, err := b.finish(ctx, h, p)
	if res != nil {
		res.Warnings = append(t.Warnings, res.Warnings...)
	}
	return res, err
}

// open takes a request for a purchase of its own, for as long as it takes to read the terms.
func (b *Buyer) open(ctx context.Context, digest string) (hold, error) {
	if b.cfg.Journal == nil {
		return nil, errNoJournal
	}
	return b.cfg.Journal.hold(ctx, digest, b.holding(b.cfg.Timeout))
}

var errNoJournal = errors.New("opening the journal: none is configured")

// holding is how long a request is held for something that takes no longer than d.
func (b *Buyer) holding(d time.Duration) time.Duration { return d + time.Minute }

// unanswered is the error where an earlier payment for the same request has no answer yet.
func (b *Buyer) unanswered(ctx context.Context, r request, o Options) error {
	earlier, err := b.cfg.Journal.unfinished(ctx)
	if err != nil || o.Again {
		return err
	}
	for _, p := range earlier {
		if p.State == Signed && p.Request.digest() == r.digest() {
			return fmt.Errorf("%w: it is in %s; nothing was signed. Resume presents that payment again", ErrUnfinished,
				b.cfg.Journal.place(p.ID))
		}
	}
	return nil
}

// journalled signs a payment that was decided on: what will be signed is in the journal before it
// is, and the signature is there before it leaves.
func (b *Buyer) journalled(ctx context.Context, h hold, o Options, t *Terms, p *purchase) error {
	p.ID = cmp.Or(o.ID, p.ID)
	if err := h.keep(ctx, b.holding(b.cfg.Timeout)); err != nil {
		return err
	}
	if known, err := h.known(ctx, p.Nonce); err != nil || known {
		return cmp.Or(err, ErrRepeated)
	}
	key, err := idempotencyKey(ctx, h, o, t)
	if err != nil {
		return err
	}
	if err := h.create(ctx, p); err != nil {
		return err
	}
	if err := b.sign(p, t, key); err != nil {
		return err
	}
	if p.channel != nil {
		if err := p.channel.save(ctx, b.cfg.Now()); err != nil {
			return err
		}
	}
	return h.update(ctx, p)
}

// free is the result of a door that delivered without asking for a payment.
func (t *Terms) free() *Result {
	a := t.answer
	return &Result{Free: true, Status: a.Status, ContentType: a.Header.Get("Content-Type"), Body: a.Body,
		Truncated: a.Truncated, Warnings: t.Warnings}
}

// idempotencyKey is the caller's, or the door's suggestion unless the journal has it for another
// request, or random.
func idempotencyKey(ctx context.Context, h hold, o Options, t *Terms) (string, error) {
	if o.IdempotencyKey != "" {
		return o.IdempotencyKey, nil
	}
	if t.SuggestedKey != "" {
		if elsewhere, err := h.elsewhere(ctx, t.SuggestedKey); err != nil || !elsewhere {
			return t.SuggestedKey, err
		}
	}
	var b [16]byte
	rand.Read(b[:])
	return "pay_" + hex.EncodeToString(b[:]), nil
}

// finish presents a journalled payment until it is answered, and journals the answer.
func (b *Buyer) finish(ctx context.Context, h hold, p *purchase) (_ *Result, err error) {
	if _, err := parseURL(p.Request.URL); err != nil {
		return nil, err
	}
	if p.Voucher != nil && p.channel == nil {
		if p.channel, err = b.takeChannel(ctx, p.Voucher.Channel); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.letGo()) }()
	}
	a, err := b.present(ctx, h, p)
	if err == nil && p.Voucher != nil {
		a, err = b.inStep(ctx, h, p, a)
	}
	if err != nil {
		if b.cfg.Now().After(p.validBefore().Add(graceAfterExpiry)) {
			p.State = Unknown
			err = errors.Join(err, h.update(ctx, p))
		}
		res := b.result(ctx, p)
		res.Billed = "unknown"
		return res, err
	}
	p.Answer, p.State = a, Refused
	if a.Status >= 200 && a.Status < 300 {
		p.State = Delivered
	}
	// The good is in hand: failing to journal it is told beside it.
	var jerr error
	if p.Voucher != nil {
		// The channel goes first: a purchase that is asked about again counts there once.
		if p.count(); p.channel.c != nil {
			jerr = p.channel.save(context.WithoutCancel(ctx), b.cfg.Now())
		}
	}
	jerr = errors.Join(jerr, h.update(context.WithoutCancel(ctx), p))
	res := b.result(ctx, p)
	b.log.Info("payment answered", "status", a.Status, "state", p.State, "billed", res.Billed, "transaction",
		res.Transaction)
	if p.State == Refused {
		return res, errors.Join(fmt.Errorf("buying: %w", a.refusal(res)), jerr)
	}
	return res, jerr
}

// present sends the same request until there is a final answer. Once the payment has expired it is
// sent one last time.
func (b *Buyer) present(ctx context.Context, h hold, p *purchase) (*answer, error) {
	end := p.validBefore()
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		a, err := b.once(ctx, h, p)
		if errors.Is(err, errNotHeld) {
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		if err == nil && !a.pending() {
			return a, nil
		}
		if err == nil {
			err = errors.New(a.doorError().Error()) // not final, so not to be found as a *DoorError
		}
		p.repeated = true
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
		}
		now := b.cfg.Now()
		if now.After(end) {
			return nil, fmt.Errorf("%w: it stopped being valid at %s: %w", ErrUnknown, end.Format(time.RFC3339), err)
		}
		d := wait
		if a != nil {
			d = max(d, retryAfter(a.Header, now))
		}
		d = min(d, end.Sub(now)+time.Second)
		if err := p.keep(ctx, h, b.holding(d)); errors.Is(err, errNotHeld) {
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		b.log.Warn("payment not answered, presenting the same one again", "error", err, "in", d)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w: %w", ErrUnknown, ctx.Err(), err)
		}
	}
}

// once presents the payment, held for as long as that may take.
func (b *Buyer) once(ctx context.Context, h hold, p *purchase) (*answer, error) {
	if err := p.keep(ctx, h, b.holding(b.cfg.Timeout)); err != nil {
		return nil, err
	}
	return b.exchange(ctx, p.Request, MaxBody)
}

// reasonDuplicate is what a stock seller says of a payment on Solana that it is settling, or has
// settled within two minutes.
const reasonDuplicate = "duplicate_settlement"

// pending reports whether an answer leaves the payment's fate open, so that the same payment is to
// be presented again.
func (a *answer) pending() bool {
	switch {
	case a.Status >= 500, a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooEarly,
		a.Status == http.StatusTooManyRequests:
		return true
	case a.Status < 300:
		return false
	case a.Status == http.StatusPaymentRequired:
		// A stock seller whose wait for the block ran out answers 402 with this reason.
		s, err := a.settlement()
		if err == nil && (s.ErrorReason == "settlement_pending" || s.ErrorReason == reasonDuplicate) {
			return true
		}
		if strings.Contains(a.reasons(), rail.ReasonBusy) { // another purchase of the channel is under way
			return true
		}
	}
	s := a.said()
	return s.Code == "idempotency_in_flight" || s.Billed == "unknown" || s.Retry == "same_payment"
}

// retryAfter reads Retry-After in seconds or as a date; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return at.Sub(now)
	}
	return 0
}

// settlement reads PAYMENT-RESPONSE.
func (a *answer) settlement() (*x402.SettleResponse, error) {
	var s x402.SettleResponse
	if err := decodeHeader(a.Header, headerResponse, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// result puts together what a purchase has come to.
func (b *Buyer) result(ctx context.Context, p *purchase) *Result {
	r := &Result{
		State: p.State, Network: p.Network, Asset: p.Asset, Nonce: p.Nonce, Amount: p.Amount, PayTo: p.PayTo,
		Payer: p.Payer, ValidBefore: p.validBefore(), SignedAt: p.CreatedAt,
		Journal: b.cfg.Journal.place(p.ID), Billed: "unknown", Warnings: []string{},
		Receipt: Receipt{Note: "the door gave no signed receipt"}, Scheme: p.Scheme,
	}
	r.Warnings = append(r.Warnings, p.trouble...)
	if p.Voucher != nil {
		r.Voucher = p.Voucher.paid()
	}
	if p.Hold != nil {
		r.Hold = p.held()
	}
	a := p.Answer
	if a == nil {
		return r
	}
	r.Status, r.ContentType, r.Body, r.Truncated = a.Status, a.Header.Get("Content-Type"), a.Body, a.Truncated
	r.AnsweredAt, r.Words = a.At, a.words()
	said := a.said()
	if said.Billed == "yes" || said.Billed == "no" {
		r.Billed = said.Billed
	} else if a.Status == http.StatusPaymentRequired && !(p.repeated && isSolana(p.Network)) {
		r.Billed = "no" // but for what may have landed before, which no reason tells from what cannot land
	}
	if a.used() {
		r.Billed = "yes"
	}
	var body struct {
		Replay  bool  `json:"idempotent_replay"`
		Charged *bool `json:"charged_now"`
	}
	if !readLenient(a.Body, &body) {
		body.Replay, body.Charged = false, nil
	}
	if strings.EqualFold(a.Header.Get("Idempotent-Replayed"), "true") || body.Replay {
		r.Replay = true
		if !p.repeated {
			r.Warnings = append(r.Warnings, "This is the result of an earlier purchase with the same idempotency "+
				"key; this payment was not taken for it.")
			// The settlement beside it is the earlier one's.
			if body.Charged != nil && !*body.Charged && !a.used() {
				defer func() { r.Billed = "no" }()
			}
		}
	}
	if s, err := a.receipt(p); p.Protocol == ByMPP && (s != nil || err != nil) {
		if err != nil {
			r.Warnings = append(r.Warnings, "The settlement cannot be read: "+err.Error()+".")
			return r
		}
		b.settled(ctx, r, p, s)
		return r
	}
	if len(a.Header.Values(headerResponse)) > 0 {
		s, err := a.settlement()
		if err != nil {
			r.Warnings = append(r.Warnings, "The settlement cannot be read: "+err.Error()+".")
			return r
		}
		b.settled(ctx, r, p, s)
	} else if p.State == Delivered {
		r.Warnings = append(r.Warnings, "The door delivered without saying that it settled.")
	}
	return r
}

// settled adds what the door says of the settlement.
func (b *Buyer) settled(ctx context.Context, r *Result, p *purchase, s *x402.SettleResponse) {
	r.Settlement, r.Transaction = s, s.Transaction
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if s.Success {
		r.Billed = "yes"
		if p.Protocol != ByMPP { // whose receipt nobody signs
			r.Receipt = b.checkReceipt(ctx, p, s)
		}
	} else if p.State == Delivered {
		warn("The door delivered and says that the settlement failed: %s.", printable(s.ErrorReason, 100))
	}
	if s.Network != "" && s.Network != p.Network {
		warn("The settlement names another network: %s.", printable(s.Network, 60))
	}
	if s.Payer != "" && !networks.SameAddress(p.Network, s.Payer, p.Payer) {
		warn("The settlement names another payer: %s.", printable(s.Payer, 60))
	}
	if s.Amount != "" && s.Amount != p.deposited() {
		warn("The settlement names another amount: %s.", printable(s.Amount, 60))
	}
}

// reasons are the words in which a door says why it did not take a payment.
func (a *answer) reasons() string {
	var out []string
	if s, err := a.settlement(); err == nil && s.ErrorReason != "" {
		out = append(out, s.ErrorReason)
	}
	var w wireRequired
	if decodeHeader(a.Header, headerRequired, &w) == nil && w.Error != "" {
		out = append(out, w.Error)
	}
	return strings.Join(out, ", ")
}

// used reports whether the door says that the authorization was used on chain. Its nonce is random
// and was given to this door alone, so the money has moved.
func (a *answer) used() bool {
	return strings.Contains(a.reasons()+a.said().Error, "nonce_already_used")
}

// refusal is the error for a final answer that is not the good.
func (a *answer) refusal(r *Result) error {
	e := a.doorError()
	if why := a.reasons(); why != "" {
		e.Detail = strings.TrimPrefix(e.Detail+"; "+printable(why, 200), "; ")
	}
	if r.Billed == "yes" {
		return fmt.Errorf("%w; the money has moved: keep %s", e, r.Journal)
	}
	if r.Voucher != nil {
		return fmt.Errorf("%w; nothing was charged as far as the door says, and the same voucher buys another time", e)
	}
	return fmt.Errorf("%w; no other payment was signed, and this one stays valid until %s", e,
		r.ValidBefore.Format(time.RFC3339))
}
