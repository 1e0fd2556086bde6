package till_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	jsonx "encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

var (
	_ rail.Channels = fakeRail{}
	_ rail.Captures = fakeRail{}
)

// later is the later of a time and a block's.
func (b *fakeBlock) later(now time.Time) time.Time {
	if b.time.After(now) {
		return b.time
	}
	return now
}

// tooLate reports a capture that is signed no more.
func (r fakeRail) tooLate(p *rail.Payment) bool {
	last := time.Unix(p.ValidBefore, 0).Add(-rail.LastCapture)
	return p.Method == rail.MethodCapture && !r.c.head().later(time.Now()).Before(last)
}

// pays reports a use by which a payment is paid: what its payer reclaimed is no doing of ours.
func (u fakeUse) pays(p *rail.Payment) bool {
	ours := map[string]string{"": "", rail.EndCaptured: rail.MethodCapture, rail.EndVoided: rail.MethodVoid}
	if does, ok := ours[u.end]; !ok || does != "" && does != p.Method {
		return false
	}
	return !u.cancelled && u.to == p.PayTo && big.NewInt(u.amount).Cmp(p.Amount) == 0
}

// used finds the use of a payment. Of a claim, a sweep or a refund that is one of the transactions
// that were signed for it, whatever it moved.
func (c *fakeChain) used(p *rail.Payment, signed []rail.Signed) (fakeUse, *fakeBlock) {
	w := payloadOf(p)
	if w.named("") == w.named("any") {
		return c.use(w.named(""))
	}
	for _, s := range signed {
		if u, b := c.use(w.named(s.ID)); b != nil {
			u.to, u.amount = p.PayTo, rail.Atomic(p.Amount)
			return u, b
		}
	}
	return fakeUse{}, nil
}

// fakeSpend is the wire form of a ChannelPayment.
type fakeSpend struct {
	Form    string       `json:"form"`
	Channel rail.Channel `json:"channel"`
	Voucher rail.Voucher `json:"voucher"`
	Deposit *fakePayload `json:"deposit,omitempty"`
	Refund  int64        `json:"refund,omitzero"`
}

// ChannelTerms implements rail.Channels.
func (r fakeRail) ChannelTerms() (rail.ChannelTerms, bool) {
	return rail.ChannelTerms{Receiver: fakePayTo, Authorizer: fakeAuthorizer, Token: fakeAsset, Escrow: fakeEscrowAt,
		Delay: r.c.delay, MinDeposit: 1_000_000, Reasons: "invalid_batch_settlement_evm_"}, r.c.delay > 0
}

// VoucherRequirement implements rail.Channels.
func (r fakeRail) VoucherRequirement(amount, deposit int64) rail.Requirement {
	q := r.Requirement(amount)
	q.Scheme = rail.SchemeVouchers
	maps.Copy(q.Extra, map[string]any{"minDeposit": fmt.Sprint(max(amount, deposit)),
		"receiverAuthorizer": fakeAuthorizer, "withdrawDelay": int64(r.c.delay / time.Second)})
	return q
}

func batchRefusal(reason string) *rail.Refusal {
	return &rail.Refusal{Reason: "invalid_batch_settlement_evm_" + reason}
}

// ParseChannel implements rail.Channels.
func (r fakeRail) ParseChannel(payload []byte, _ rail.Requirement) (*rail.ChannelPayment, error) {
	var w fakeSpend
	if err := jsonx.Unmarshal(payload, &w, jsonx.RejectUnknownMembers(true)); err != nil || w.Channel.Payer == "" ||
		(w.Form == rail.FormDeposit) != (w.Deposit != nil) {
		return nil, batchRefusal("payload_type")
	}
	if w.Channel.ID != channelID(w.Channel) {
		return nil, batchRefusal("channel_id_mismatch")
	}
	c := &rail.ChannelPayment{Form: w.Form, Channel: w.Channel, Voucher: w.Voucher, Refund: w.Refund}
	if d := w.Deposit; d != nil {
		if d.Payer != w.Channel.Payer || d.To != fakeEscrowAt || !strings.HasPrefix(d.Nonce, w.Channel.ID+"/") {
			return nil, batchRefusal("payload_type")
		}
		d.Wire = string((&fakeCall{Does: rail.MethodDeposit, Channel: w.Channel, Amount: d.value()}).wire())
		c.Deposit = d.payment(rail.MethodDeposit)
	}
	return c, nil
}

// payment is what was signed as rails hand it on.
func (p fakePayload) payment(method string) *rail.Payment {
	return &rail.Payment{Network: fakeNetwork, Asset: fakeAsset, Method: method, Payer: p.Payer, Nonce: p.Nonce,
		PayTo: p.To, Amount: big.NewInt(p.value()), ValidAfter: p.After, ValidBefore: p.Before,
		Signature: []byte(p.Sig), Wire: []byte(p.Wire)}
}

// VerifyVoucher implements rail.Channels.
func (r fakeRail) VerifyVoucher(_ context.Context, p *rail.ChannelPayment, _ rail.Requirement, _ time.Time) (coded bool,
	err error) {
	c := p.Channel
	switch {
	case c.Receiver != fakePayTo:
		return false, batchRefusal("receiver_mismatch")
	case c.Authorizer != fakeAuthorizer:
		return false, batchRefusal("receiver_authorizer_mismatch")
	case c.Token != fakeAsset:
		return false, batchRefusal("token_mismatch")
	case c.Delay != int64(r.c.delay/time.Second):
		return false, batchRefusal("withdraw_delay_mismatch")
	case !p.Voucher.Equal(voucher(c, p.Voucher.Max)):
		return c.Signer == "", batchRefusal("voucher_signature")
	case c.Signer != "":
		return false, nil
	}
	unlock, err := r.lock("voucher", c.ID) // its contract is asked
	if err == nil {
		unlock()
	}
	return true, err
}

// VerifyDeposit implements rail.Channels.
func (r fakeRail) VerifyDeposit(ctx context.Context, p *rail.ChannelPayment, want rail.Requirement,
	now time.Time) (rail.Verified, rail.ChannelState, error) {
	if _, err := r.VerifyVoucher(ctx, p, want, now); err != nil {
		return rail.Verified{}, rail.ChannelState{}, err
	}
	unlock, err := r.lock("verify", payloadOf(p.Deposit).key())
	if err != nil {
		return rail.Verified{}, rail.ChannelState{}, err
	}
	defer unlock()
	m, err := r.fetchable(p.Deposit, want, now)
	if err != nil {
		return m, rail.ChannelState{}, err
	}
	return m, r.c.head().channel(p.Channel.ID), nil
}

// fetchable checks a payment into an escrow: when it is valid, and that the whole call goes
// through.
func (r fakeRail) fetchable(p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified, error) {
	h := r.c.head()
	late := h.later(now)
	why := ""
	switch {
	case p.ValidBefore < late.Add(fakeMargin).Unix() || p.ValidBefore > want.Latest(now, 300*time.Second).Unix():
		why = "payload_authorization_valid_before"
	case p.ValidAfter > now.Unix():
		why = "payload_authorization_valid_after"
	default:
		why = r.c.runs(payloadOf(p), late)
	}
	m := rail.Verified{Block: h.number, Time: h.time, Code: r.code(p)}
	if m.Local = m.Code != ""; why != "" {
		return m, r.refusal(why)
	}
	return m, nil
}

// channel is a channel as a block has it.
func (b *fakeBlock) channel(id string) rail.ChannelState {
	s := b.escrow.channels[id]
	s.ID, s.Block, s.Time = id, b.number, b.time
	return s
}

// at is the newest block, or the newest final one.
func (r fakeRail) at(final bool) (*fakeBlock, error) {
	if !final {
		return r.c.head(), nil
	}
	if r.c.vague {
		return nil, errSilent
	}
	return r.c.final(), nil
}

// ReadChannels implements rail.Channels.
func (r fakeRail) ReadChannels(_ context.Context, ids []string, final bool) (all []rail.ChannelState, err error) {
	unlock, err := r.lock("channels", fmt.Sprint(ids, final))
	if err != nil {
		return nil, err
	}
	defer unlock()
	b, err := r.at(final)
	for _, id := range ids {
		if err == nil {
			all = append(all, b.channel(id))
		}
	}
	return all, err
}

// ChannelEvents implements rail.Channels.
func (r fakeRail) ChannelEvents(_ context.Context, s rail.Span,
	kinds ...rail.EventKind) iter.Seq2[rail.ChannelEvents, error] {
	return func(yield func(rail.ChannelEvents, error) bool) {
		unlock, err := r.lock("events")
		if err != nil {
			yield(rail.ChannelEvents{}, err)
			return
		}
		var out rail.ChannelEvents
		head := r.c.head().number
		for _, b := range r.c.blocks[min(s.From, uint64(len(r.c.blocks))):] {
			for _, e := range b.events {
				if (s.To == 0 || b.number <= s.To) && slices.Contains(kinds, e.Kind) {
					out.Events = append(out.Events, e)
				}
			}
		}
		unlock()
		if head < s.To {
			yield(rail.ChannelEvents{}, errors.New("the chain is shorter"))
			return
		}
		out.Rest = rail.Span{From: max(s.To, head) + 1, To: max(s.To, head)}
		yield(out, nil)
	}
}

// own is a payment that nobody signed but the store.
func (k *fakeCall) own(payer, nonce, to string, amount int64) *rail.Payment {
	return fakePayload{Payer: payer, Nonce: nonce, To: to, Amount: fmt.Sprint(amount), Before: 1<<63 - 1,
		Wire: string(k.wire())}.payment(k.Does)
}

// Claims implements rail.Channels.
func (fakeRail) Claims(rows []rail.VoucherClaim, brings int64) (*rail.Payment, error) {
	k := &fakeCall{Does: rail.MethodClaims, Rows: rows}
	sum := sha256.Sum256(k.wire())
	return k.own(fakeAuthorizer, hex.EncodeToString(sum[:]), fakeEscrowAt, brings), nil
}

// Simulate implements rail.Channels.
func (r fakeRail) Simulate(_ context.Context, rows []rail.VoucherClaim) ([]error, error) {
	unlock, err := r.lock("simulate")
	if err != nil {
		return nil, err
	}
	defer unlock()
	failing := make([]error, len(rows))
	for i := range rows {
		k := &fakeCall{Does: rail.MethodClaims, Rows: rows[i : i+1]}
		if _, why := r.c.head().escrow.does(k, fakeOperator, r.c.head().time, nil); why != "" {
			failing[i] = batchRefusal(why)
		}
	}
	return failing, nil
}

// Claimed implements rail.Channels.
func (r fakeRail) Claimed(context.Context) (claimed, moved int64, err error) {
	unlock, err := r.lock("claimed")
	if err != nil {
		return 0, 0, err
	}
	defer unlock()
	return r.c.head().escrow.claimed, r.c.head().escrow.moved, nil
}

// Sweep implements rail.Channels.
func (fakeRail) Sweep(serial string, due int64) *rail.Payment {
	return (&fakeCall{Does: rail.MethodSweep}).own(fakeAuthorizer, serial, fakePayTo, due)
}

// Refund implements rail.Channels.
func (fakeRail) Refund(row rail.VoucherClaim, amount int64, nonce uint64) (*rail.Payment, error) {
	k := &fakeCall{Does: rail.MethodRefund, Channel: row.Channel, Amount: amount, Nonce: nonce}
	if row.Total > 0 {
		k.Rows = []rail.VoucherClaim{row}
	}
	return k.own(fakeAuthorizer, fmt.Sprintf("%s/%d", row.Channel.ID, nonce), fakeEscrowAt, amount), nil
}

// CaptureTerms implements rail.Captures.
func (r fakeRail) CaptureTerms() (operator string, ok bool) { return fakeOperator, r.c.holds }

// HoldRequirement implements rail.Captures.
func (r fakeRail) HoldRequirement(amount int64, d rail.Deadlines) rail.Requirement {
	q := r.Requirement(amount)
	q.Scheme = rail.SchemeCapture
	maps.Copy(q.Extra, map[string]any{"captureAuthorizer": fakeOperator, "captureDeadline": d.Capture.Unix(),
		"refundDeadline": d.Refund.Unix(), "paymentFlow": "escrow"})
	return q
}

// fakeHeld is the wire form of an Authorization.
type fakeHeld struct {
	Authorization fakePayload `json:"authorization"`
	Salt          string      `json:"salt"`
}

// ParseAuthorization implements rail.Captures.
func (fakeRail) ParseAuthorization(payload []byte, _ rail.Requirement) (*rail.Authorization, error) {
	var w fakeHeld
	if err := jsonx.Unmarshal(payload, &w, jsonx.RejectUnknownMembers(true)); err != nil || w.Salt == "" ||
		w.Authorization.Wire != "" || w.Authorization.To != fakeHoldsAt {
		return nil, &rail.Refusal{Reason: "invalid_payload"}
	}
	return &rail.Authorization{Payment: w.Authorization.payment(rail.MethodHold), Salt: w.Salt}, nil
}

// agreed is what a payer agrees to by terms: the same on both sides.
func agreed(payer, amount, salt string, before, capture, refund int64) rail.PaymentInfo {
	return rail.PaymentInfo{Operator: fakeOperator, Payer: payer, Receiver: fakePayTo, Token: fakeAsset,
		MaxAmount: amount, PreApprovalExpiry: before, AuthorizationExpiry: capture, RefundExpiry: refund, Salt: salt}
}

// VerifyAuthorization implements rail.Captures.
func (r fakeRail) VerifyAuthorization(_ context.Context, a *rail.Authorization, want rail.Requirement,
	now time.Time) (rail.Verified, error) {
	p := a.Payment
	capture, _ := want.Extra["captureDeadline"].(int64)
	refund, _ := want.Extra["refundDeadline"].(int64)
	hold, nonce := holdOf(agreed(p.Payer, want.Amount, a.Salt, p.ValidBefore, capture, refund))
	unlock, err := r.lock("verify", payloadOf(p).key())
	if err != nil {
		return rail.Verified{}, err
	}
	defer unlock()
	if p.Amount.String() != want.Amount || p.Nonce != nonce || p.ValidAfter != 0 {
		return rail.Verified{}, &rail.Refusal{Reason: "invalid_auth_capture_evm_nonce_mismatch"}
	}
	call := &fakeCall{Does: rail.MethodHold, Hold: hold, Amount: rail.Atomic(p.Amount)}
	p.Wire = call.wire()
	m, err := r.fetchable(p, want, now)
	if err != nil {
		p.Wire = nil
		return m, err
	}
	a.Hold = hold
	return m, nil
}

// ends is the payment that ends a hold.
func ends(does string, h rail.Hold, to string, before int64) *rail.Payment {
	var amount int64
	if _, err := fmt.Sscan(h.Info.MaxAmount, &amount); err != nil {
		panic(err)
	}
	p := (&fakeCall{Does: does, Hold: h, Amount: amount}).own(h.Info.Operator, h.Hash, to, amount)
	p.ValidBefore = before
	return p
}

// Capture implements rail.Captures.
func (fakeRail) Capture(h rail.Hold) *rail.Payment {
	return ends(rail.MethodCapture, h, h.Info.Receiver, h.Info.AuthorizationExpiry)
}

// Void implements rail.Captures.
func (fakeRail) Void(h rail.Hold) *rail.Payment {
	return ends(rail.MethodVoid, h, h.Info.Payer, 1<<63-1)
}

// Reclaim implements rail.Captures.
func (fakeRail) Reclaim(h rail.Hold) (to string, data []byte) {
	return fakeHoldsAt, (&fakeCall{Does: doesReclaim, Hold: h}).wire()
}

// ReadHold implements rail.Captures.
func (r fakeRail) ReadHold(_ context.Context, hash string, final bool) (rail.HoldState, error) {
	unlock, err := r.lock("hold", hash)
	if err != nil {
		return rail.HoldState{}, err
	}
	defer unlock()
	b, err := r.at(final)
	if err != nil {
		return rail.HoldState{}, err
	}
	s := b.escrow.holds[hash]
	s.Block, s.Time = b.number, b.time
	return s, nil
}

// byPayer has payers call an escrow themselves, in the next block.
func (c *fakeChain) byPayer(payer, salt string, k *fakeCall) {
	p := fakePayload{Payer: payer, Nonce: salt, Amount: "0", Wire: string(k.wire())}
	c.pool = append(c.pool, &fakeTx{From: payer, Salt: salt, Pays: []fakePayload{p}})
	if c.wants != nil {
		c.wants()
	}
}

// paidOut is what came to somebody out of the escrows.
func (c *fakeChain) paidOut(to string) (sum int64) {
	for _, b := range c.blocks {
		for _, u := range b.uses {
			if u.plain && u.to == to {
				sum += u.amount
			}
		}
	}
	return sum
}

// escrowed is what went into escrows and did not come out again, by what moved.
func (c *fakeChain) escrowed() (sum int64) {
	for _, b := range c.blocks {
		for _, u := range b.uses {
			switch {
			case u.plain:
				sum -= u.amount
			case !u.cancelled && (u.to == fakeEscrowAt || u.to == fakeHoldsAt):
				sum += u.amount
			}
		}
	}
	return sum
}

// held is the same by what the contracts know.
func (e *fakeEscrow) held() (sum int64) {
	for _, s := range e.channels {
		sum += s.Balance
	}
	for _, s := range e.holds {
		sum += s.Capturable
	}
	return sum - e.moved
}

// wireOf is the JSON of a payload.
func wireOf(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// fakeEscrows gives the rules of the contracts a fakeChain.
type fakeEscrows struct {
	fakeHarness
	ends time.Time // of holds
}

func TestFakeEscrows(t *testing.T) {
	railtest.RunEscrows(t, worldDelay, func(t testing.TB) railtest.Escrows {
		c := newFakeChain()
		c.delay, c.holds = worldDelay, true
		return fakeEscrows{fakeHarness{t, c}, time.Now().Add(time.Hour)}
	})
}

// Rail implements railtest.Escrows.
func (h fakeEscrows) Rail() railtest.EscrowRail { return fakeRail{h.c} }

// Deposit implements railtest.Escrows.
func (h fakeEscrows) Deposit(channel int, amount int64) *rail.Payment {
	s := newSpender(fmt.Sprint("spender-", channel), worldDelay)
	p := fakePayload{Payer: s.channel.Payer, Nonce: s.channel.ID + "/1", To: fakeEscrowAt, Amount: fmt.Sprint(amount),
		Before: time.Now().Add(4 * time.Minute).Unix()}
	p.Sig = p.signature()
	p.Wire = string((&fakeCall{Does: rail.MethodDeposit, Channel: s.channel, Amount: amount}).wire())
	return p.payment(rail.MethodDeposit)
}

// Voucher implements railtest.Escrows.
func (h fakeEscrows) Voucher(channel int, most int64) (rail.Channel, rail.Voucher) {
	c := newSpender(fmt.Sprint("spender-", channel), worldDelay).channel
	return c, voucher(c, most)
}

// by has somebody call an escrow, in a block.
func (h fakeEscrows) by(payer string, k *fakeCall) bool {
	reverted := len(h.c.reverted)
	h.with(func(c *fakeChain) { c.byPayer(payer, fmt.Sprint("call ", len(c.blocks)), k) })
	h.Seal()
	return len(h.c.reverted) == reverted
}

// Withdraw implements railtest.Escrows.
func (h fakeEscrows) Withdraw(channel int, amount int64) bool {
	c, _ := h.Voucher(channel, 1)
	return h.by(c.Payer, &fakeCall{Does: doesWithdraw, Channel: c, Amount: amount})
}

// Finalize implements railtest.Escrows.
func (h fakeEscrows) Finalize(channel int) bool {
	c, _ := h.Voucher(channel, 1)
	return h.by(c.Payer, &fakeCall{Does: doesFinalize, Channel: c})
}

// Authorize implements railtest.Escrows.
func (h fakeEscrows) Authorize(salt int) *rail.Authorization {
	until := rail.Deadlines{Capture: h.ends, Refund: h.ends.Add(time.Hour)}
	want := fakeRail{h.c}.HoldRequirement(250_000, until)
	before := time.Now().Add(4 * time.Minute).Unix()
	_, nonce := holdOf(agreed("holder", want.Amount, fmt.Sprint(salt), before, until.Capture.Unix(),
		until.Refund.Unix()))
	p := fakePayload{Payer: "holder", Nonce: nonce, To: fakeHoldsAt, Amount: want.Amount, Before: before}
	p.Sig = p.signature()
	a, err := fakeRail{h.c}.ParseAuthorization(wireOf(fakeHeld{p, fmt.Sprint(salt)}), want)
	if err == nil {
		_, err = fakeRail{h.c}.VerifyAuthorization(h.t.Context(), a, want, time.Now())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// Reclaim implements railtest.Escrows.
func (h fakeEscrows) Reclaim(of rail.Hold) bool {
	return h.by(of.Info.Payer, &fakeCall{Does: doesReclaim, Hold: of})
}
