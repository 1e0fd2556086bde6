package till

import (
	"context"
	"errors"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// Order is a request to buy something, as a counter read it.
type Order struct {
	Item string
	// Key is the idempotency key of the request, "" for none. BadKey says that there is one that
	// cannot be used: then nothing is done, and told what became of the payment.
	Key    string
	BadKey bool
	// Inputs reads and checks the inputs of what is ordered. Its error comes back in an Error of
	// CodeInputs.
	Inputs func(*Offer) (map[string]string, error)
	// Bare reports, once Inputs has been called, that no input came at all; nil is false.
	Bare func() bool
	// Hold says that it came to the door at which what is paid is held.
	Hold bool
	// Payment is nil for none.
	Payment *Presented
	// SignIn is one in place of a payment, nil for none. A key of the buyer's own goes before it:
	// then it is not looked at.
	SignIn *SignIn
	// Client is the address that the order came from, "" for one that is not known.
	Client string
}

// Presented is a payment as its protocol read it.
type Presented struct {
	Protocol string
	Agent    string           // who signed the request that carried it, "" for nobody
	Refusal  *rail.Refusal    // why it cannot be read; all that follows is empty then
	Accepted rail.Requirement // the terms that it says it accepts
	Payload  []byte           // for the rail of its network
	// Proof is the digest of the payment exactly as it came, if that holds a nonce of ours that
	// only the challenged buyer knows; a replay must equal it (M1). Otherwise it is empty, and
	// nothing that comes later can prove itself.
	Proof  string
	Key    string // the idempotency key in it, "" for none
	BadKey bool   // the key in it breaks the protocol's rule
	// Payer is who signed beside it, as Match shows, and must be who pays; "" where nothing is
	// signed beside it.
	Payer string
	// Order names the order that it is one of several offers of, and Shared is why it is refused
	// where that was paid. nil where a payment is for itself.
	Order  string
	Shared *rail.Refusal
	// Match finds which of the terms for an offer it accepts. Its error is a *rail.Refusal.
	Match func(o *Offer, accepts []rail.Requirement) (rail.Requirement, error)

	rail    rail.Rail
	payment *rail.Payment        // nil where it could not be read
	channel *rail.ChannelPayment // of a payment by voucher, nil for others
	hold    *rail.Authorization  // of one that is to be held, nil for others
	beside  []string             // nonces of what its payer had open when it came
}

// Sale is the answer to an order: on what terms it is sold where no payment came, or what was
// delivered for it.
type Sale struct {
	Quote    *Quote
	Purchase *Purchase
	Body     []byte // the delivery, as it was kept
	Replay   bool   // it was delivered to an earlier request
	// Unspent says that the voucher which came with the request was not used: an earlier one had
	// bought this.
	Unspent bool
	// Refunded is the channel whose money went back to its payer, in place of all else.
	Refunded *channels.Row
}

// asked is what an order is about.
type asked struct {
	site   *content.Site // that the offer is of
	offer  *Offer
	inputs map[string]string
	print  string // fingerprint
}

func askedFor(site *content.Site, offer *Offer, inputs map[string]string) asked {
	return asked{site, offer, inputs, Fingerprint(offer.ID, inputs)}
}

// Buy answers an order. The gates come in this order: a bad idempotency key; a payment that is
// known already; the item, its inputs, its stock; no payment; the payment's own faults; the claim.
// An error that is no *Error is a fault of ours.
func (t *Till) Buy(ctx context.Context, order Order) (*Sale, error) {
	p := order.Payment
	if p != nil {
		t.parse(p)
	}
	if p != nil && p.channel != nil && p.channel.Form == rail.FormRefund {
		return t.refundChannel(ctx, order)
	}
	if order.BadKey {
		return nil, t.badKey(ctx, p)
	}
	site := t.cfg.Site.Now()
	if p != nil && p.payment != nil {
		claim, found, err := t.known(ctx, p)
		if err != nil {
			return nil, ledgerDown(err)
		}
		// A voucher may come again in another request, for what it bought: its channel tells.
		if found && (p.channel == nil || p.proves(claim)) {
			return t.repeat(ctx, claim, p)
		}
	}
	offer, inputs, gate := t.gates(ctx, site, order)
	a := askedFor(site, offer, inputs)
	if p == nil && order.SignIn != nil && !ownKey(order.Key) && (gate == nil || stockGate(gate)) {
		// What is sold out is still its buyer's.
		if sale, err := t.buyBySignIn(ctx, a, order.SignIn, order.Client); sale != nil || err != nil {
			return sale, err
		}
	}
	if p == nil {
		bare := order.Bare != nil && ofInputs(gate) && order.Bare()
		if bare { // what is to be had at all
			if gate = t.available(ctx, site, offer, nil); ofInputs(gate) {
				gate = nil
			}
		}
		if gate != nil {
			return nil, gate
		}
		q, err := t.quote(a)
		if err != nil {
			return nil, err
		}
		q.Bare = bare
		t.cfg.Quoted(offer.ID)
		return &Sale{Quote: q}, nil
	}
	if gate != nil && !stockGate(gate) {
		retry := "now"
		if e, ok := errors.AsType[*Error](gate); ok && e.Code == CodeLedger {
			retry = "same_payment"
		}
		return nil, withPayment(gate, Outcome{Billed: "no", Retry: retry})
	}
	if p.Refusal != nil {
		return nil, t.refuse(a, p.Refusal)
	}
	req, err := p.Match(offer, t.terms(offer))
	if refusal, ok := errors.AsType[*rail.Refusal](err); ok {
		return nil, t.refuse(a, refusal)
	}
	if err != nil {
		return nil, err
	}
	if p.Payer != "" && p.Payer != p.payment.Payer {
		return nil, t.refuse(a, &rail.Refusal{Reason: "verification-failed",
			Message: "who signed beside the payment is not who pays"})
	}
	key, err := keyOf(order.Key, p)
	if err != nil {
		return nil, err
	}
	o := &matched{asked: a, key: key, terms: req, p: p, at: time.Now().UTC(), client: order.Client}
	if p.channel != nil {
		if gate != nil {
			return nil, stockRefusal(gate)
		}
		return t.takeVoucher(ctx, o)
	}
	if gate != nil {
		// Sold out for everybody but a payer who comes back for what is theirs.
		return t.otherwise(ctx, o, stockRefusal(gate))
	}
	return t.take(ctx, o)
}

// ofInputs reports whether an answer says that inputs lack or are wrong.
func ofInputs(err error) bool {
	e, _ := errors.AsType[*Error](err)
	return e != nil && (e.Code == CodeInputs || e.Code == CodeBadInput)
}

// badKey answers a request with a bad key, which does nothing. What is said of the money has to be
// true of a payment that bought something before: who sent it may act on it.
func (t *Till) badKey(ctx context.Context, p *Presented) error {
	bad := &Error{Code: CodeKeyMalformed}
	if p == nil {
		return bad
	}
	bad.paid("no", "same_payment")
	if p.payment == nil {
		return bad
	}
	c, found, err := t.claimOf(ctx, p.payment)
	if err != nil {
		return ledgerDown(err)
	}
	if !found {
		return bad
	}
	if !p.proves(c) || c.Answered {
		if bad.Payment.Billed, err = t.claimedBy(ctx, c, p.payment); err != nil {
			return err
		}
		if bad.Payment.Billed == "unknown" {
			return usedError("unknown") // a 400 would not be read as a reason to wait
		}
		return bad
	}
	bought, err := t.load(ctx, c.Purchase)
	if err != nil {
		return ledgerDown(err)
	}
	if bought.Open() {
		return t.notYet(bought)
	}
	bad.Payment.Billed, bad.Payment.Delivered = bought.Billed(), bought.State == Delivered
	return bad
}

// matched is a payment that accepts the terms of an order, on its way to being claimed.
type matched struct {
	asked
	key    string // idempotency key, "" for none
	terms  rail.Requirement
	p      *Presented
	at     time.Time
	local  bool // the payer is known on its own network alone (rail.Verified)
	client string
}

// holder names whose idempotency slots an order opens.
func (o *matched) holder() string {
	if c := o.p.channel; c != nil && c.Channel.Delegated() {
		return "channel:" + c.Channel.ID // who has its key is not its payer
	} else if c != nil { // a contract's vouchers are its own, whatever code the payer of a deposit has
		return settle.Holder(o.p.payment.Network, o.p.payment.Payer, c.Channel.Signer == "")
	}
	return settle.Holder(o.p.payment.Network, o.p.payment.Payer, o.local)
}

func (o *matched) amount() int64 { return amountOf(o.terms.Amount) }

// take verifies, claims, makes, settles and answers.
func (t *Till) take(ctx context.Context, o *matched) (*Sale, error) {
	if t.closing.Load() {
		return nil, (&Error{Code: CodeRestarting, Retry: 5 * time.Second}).paid("no", "now")
	}
	if err := t.cfg.Gas.Take(ctx, o.p.payment.Network, o.amount(), 0); err != nil {
		return t.whileOut(ctx, o, err)
	}
	seen, err := t.verify(ctx, o)
	o.local = seen.Local
	if err != nil {
		return t.notVerified(ctx, o, err)
	}
	left, err := t.enter(ctx, o)
	if err != nil {
		return t.whileOut(ctx, o, err)
	}
	p, repeat, err := t.claim(ctx, o, seen)
	if p == nil {
		left()
	}
	switch {
	case err != nil:
		return nil, err
	case repeat != nil:
		return t.answerRepeat(ctx, repeat)
	}
	return t.carryOut(ctx, p, left)
}

// carryOut drives a purchase that was claimed, and answers with what became of it. left is called
// when the driving stops.
func (t *Till) carryOut(ctx context.Context, p *Purchase, left ...func()) (*Sale, error) {
	t.start(p.ID, p, left...)
	now, err := t.await(ctx, p.ID, t.cfg.SettleWait)
	if err != nil {
		t.cfg.Log.Error("purchase not read while its buyer waits", "purchase", p.ID, "err", err)
		return nil, t.notYet(p)
	}
	return t.answer(now, false)
}

// verify has the payment's rail check it, within what strangers may have checked and refused (M15).
func (t *Till) verify(ctx context.Context, o *matched) (seen rail.Verified, err error) {
	p := o.p.payment
	known := func() bool { return o.p.rail.Signed(p) && t.cfg.Gas.Plain(ctx, p.Network, p.Payer) }
	err = t.checks.Verify(ctx, o.client, known, func() (err error) {
		seen, err = o.verify(ctx)
		return err
	})
	return seen, err
}

// expiring is how many seconds before its end an authorization may be refused as expired.
const expiring = 60

// notVerified answers a payment that its rail did not accept.
func (t *Till) notVerified(ctx context.Context, o *matched, err error) (*Sale, error) {
	if busy, ok := errors.AsType[*settle.ChecksBusy](err); ok {
		return nil, (&Error{Code: CodeManyRefused, Retry: busy.Retry}).paid("no", "after")
	}
	refusal, refused := errors.AsType[*rail.Refusal](err)
	if !refused {
		return nil, unreadable(err)
	}
	if errors.Is(err, rail.ErrUsed) {
		// The authorization may have been claimed and settled between our first look and the check.
		claim, found, err := t.claimOf(ctx, o.p.payment)
		if err != nil {
			return nil, ledgerDown(err)
		}
		if found {
			return t.repeat(ctx, claim, o.p)
		}
	}
	if used := t.usedBefore(ctx, o, refusal); used != nil {
		return nil, used
	}
	if emptyWallet(err) && o.key != "" {
		return t.replaySlot(ctx, o, t.refuse(o.asked, refusal))
	}
	return t.refuseOrOut(ctx, o, refusal)
}

// usedBefore is the answer to a payment that its rail refused although it may have paid, unknown to
// a ledger that was restored: who believes that it did not signs again. It is nil for one that was
// not used, as far as can be told.
func (t *Till) usedBefore(ctx context.Context, o *matched, refused error) error {
	if errors.Is(refused, rail.ErrUsed) {
		return t.alreadyUsed(ctx, o.p.payment)
	}
	refusal, ok := errors.AsType[*rail.Refusal](refused)
	if ok && o.p.payment.ValidBefore <= o.at.Unix()+expiring && strings.HasSuffix(refusal.Reason, "valid_before") &&
		t.charged(ctx, readLate, o.p.payment, nil, rail.Verified{}) == "yes" {
		return usedError("yes")
	}
	return nil
}

// gates are what stands before the 402: the item exists, is sold, its inputs are right, it is in
// stock. Where it does not exist its offer is empty.
func (t *Till) gates(ctx context.Context, site *content.Site, order Order) (*Offer, map[string]string, error) {
	o := t.offer(site, order.Item)
	if o != nil && order.Hold {
		held := t.byHold(o)
		if held == nil {
			return &Offer{}, nil, &Error{Code: CodeNotHeld, Item: o.Path}
		}
		o = held
	}
	if o == nil {
		o = &Offer{}
		if gone, ok := site.RetiredGood(order.Item); ok {
			return o, nil, &Error{Code: CodeGone, Gone: &gone}
		}
		return o, nil, &Error{Code: CodeUnknownItem, Item: order.Item}
	}
	o, err := t.priced(ctx, o)
	if err != nil {
		return &Offer{}, nil, err
	}
	inputs, err := order.Inputs(o)
	if err != nil {
		return o, nil, &Error{Code: CodeInputs, Err: err}
	}
	return o, inputs, t.available(ctx, site, o, inputs)
}

// available refuses what is not to be had for inputs, or for anybody where those are nil.
func (t *Till) available(ctx context.Context, site *content.Site, o *Offer, inputs map[string]string) error {
	if o.Kind.Available == nil {
		return nil
	}
	err := gateError(t.view(ctx, func(tx ledger.Tx) error {
		return o.Kind.Available(t.makerOn(site), tx, o.Good, inputs)
	}))
	if e, ok := errors.AsType[*Error](err); ok {
		e.Payment = nil // none was claimed yet, if one came at all
	}
	return err
}

// gateError turns a kind's refusal into an answer; other errors are the ledger's.
func gateError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, goods.ErrNoRequest) {
		return &Error{Code: CodeUnknownItem, Item: goods.CommissionPrefix}
	}
	if e, ok := errors.AsType[*goods.NotQuoted](err); ok {
		if e.Declined {
			return &Error{Code: CodeDeclined}
		}
		return &Error{Code: CodeNotQuoted}
	}
	if e, ok := errors.AsType[*goods.SoldOut](err); ok {
		switch {
		case !e.HeldUntil.IsZero():
			return isHeld(&Error{Code: CodeHeld, Item: e.Item, Until: e.HeldUntil})
		case !e.Reopens.IsZero():
			return &Error{Code: CodeReopens, Item: e.Item, Until: e.Reopens}
		}
		return &Error{Code: CodeSoldOut, Item: e.Item}
	}
	if e, ok := errors.AsType[*goods.Taken](err); ok {
		if !e.HeldUntil.IsZero() {
			return isHeld(&Error{Code: CodeWordHeld, Word: e.Word, Until: e.HeldUntil})
		}
		return &Error{Code: CodeWordTaken, Word: e.Word}
	}
	if e, ok := errors.AsType[*goods.Away](err); ok {
		return &Error{Code: CodeAway, Item: e.Item, Problem: e.Lacks, Retry: outRetry}
	}
	if e, ok := errors.AsType[*goods.Unread](err); ok {
		return unread(e)
	}
	if e, ok := errors.AsType[*goods.BadInput](err); ok {
		return &Error{Code: CodeBadInput, Field: e.Field, Problem: e.Problem}
	}
	return ledgerDown(err)
}

// unread is the answer to an order for what is not read, or not now.
func unread(e *goods.Unread) *Error {
	out := &Error{Code: CodeUnread, Reason: e.Code, Problem: e.Detail, Until: e.Until}
	if !e.Until.IsZero() {
		out.Retry = max(time.Until(e.Until).Round(time.Second), time.Second)
	}
	return out
}

// stockGate reports whether an answer says that the good is gone, which a buyer with a purchase of
// it may pass.
func stockGate(err error) bool {
	e, _ := errors.AsType[*Error](err)
	if e == nil {
		return false
	}
	switch e.Code {
	case CodeSoldOut, CodeReopens, CodeHeld, CodeWordHeld, CodeWordTaken, CodeAway, CodeUnread:
		return true
	}
	return false
}

// parse finds the rail of a payment and reads its payload, without any I/O.
func (t *Till) parse(p *Presented) {
	if p.Refusal != nil {
		return
	}
	r, ok := t.byNet[p.Accepted.Network]
	switch {
	case ok && p.Accepted.Scheme == rail.SchemeVouchers:
		t.parseVoucher(p)
		return
	case ok && p.Accepted.Scheme == rail.SchemeCapture:
		t.parseHold(p)
		return
	}
	if !ok {
		p.Refusal = &rail.Refusal{Reason: "invalid_network",
			Message: "this store does not take payments on that network"}
		return
	}
	payment, err := r.Parse(p.Payload, p.Accepted)
	if err == nil {
		p.rail, p.payment = r, payment
		return
	}
	if !errors.As(err, &p.Refusal) {
		p.Refusal = &rail.Refusal{Reason: "invalid_payload", Message: "the payment cannot be read"}
	}
}

// refuse answers that a payment was not taken, with the reason and the terms at present.
func (t *Till) refuse(a asked, refusal *rail.Refusal) error {
	t.cfg.Refused(refusal.Reason)
	q, err := t.quote(a)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeNowhere {
			e.paid("no", "same_payment")
		}
		return err
	}
	return (&Error{Code: CodeRefused, Refusal: refusal, Quote: q}).paid("no", "now")
}
