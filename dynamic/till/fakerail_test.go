package till_test

import (
	"cmp"
	"context"
	"encoding/json"
	jsonx "encoding/json/v2"
	"errors"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// fakeRail is a rail on a fakeChain.
type fakeRail struct{ c *fakeChain }

func (r fakeRail) Info() rail.Info {
	return rail.Info{Network: fakeNetwork, Name: "Fake", Asset: fakeAsset, Symbol: "USDC",
		PayTo: fakePayTo, Timeout: 300 * time.Second, Via: "self",
		Together: r.c.together}
}

func (r fakeRail) Requirement(amount int64) rail.Requirement {
	return rail.Requirement{Scheme: "exact", Network: fakeNetwork, Amount: strconv.FormatInt(amount, 10),
		Asset: fakeAsset, PayTo: fakePayTo,
		MaxTimeoutSeconds: 300, Extra: map[string]any{"name": "Fake", "version": "1"}}
}

func (r fakeRail) Parse(payload []byte, accepted rail.Requirement) (*rail.Payment, error) {
	var w fakePayload
	if err := jsonx.Unmarshal(payload, &w, jsonx.RejectUnknownMembers(true)); err != nil || w.Payer == "" ||
		w.Nonce == "" || w.Wire != "" || accepted.Network != fakeNetwork {
		return nil, &rail.Refusal{Reason: "invalid_payload"}
	}
	amount, ok := new(big.Int).SetString(w.Amount, 10)
	if !ok {
		return nil, &rail.Refusal{Reason: "invalid_payload"}
	}
	return &rail.Payment{Network: fakeNetwork, Asset: fakeAsset, Method: "fake", Payer: w.Payer, Nonce: w.Nonce,
		PayTo: w.To, Amount: amount,
		ValidAfter: w.After, ValidBefore: w.Before, Signature: []byte(w.Sig)}, nil
}

func payloadOf(p *rail.Payment) fakePayload {
	return fakePayload{p.Payer, p.Nonce, p.PayTo, p.Amount.String(), p.ValidAfter, p.ValidBefore, string(p.Signature),
		string(p.Wire)}
}

func payloadsOf(ps []*rail.Payment) (out []fakePayload) {
	for _, p := range ps {
		out = append(out, payloadOf(p))
	}
	return out
}

// lock takes the chain, or says that no node answers. who names the call, which may take its time;
// "" does not.
func (r fakeRail) lock(who ...string) (unlock func(), err error) {
	if r.c.lag != nil && len(who) > 0 {
		r.c.lag(strings.Join(who, " "))
	}
	r.c.mu.Lock()
	if r.c.silent {
		r.c.mu.Unlock()
		return nil, errSilent
	}
	return r.c.mu.Unlock, nil
}

func (r fakeRail) refusal(why string) *rail.Refusal {
	ref := &rail.Refusal{Reason: "invalid_exact_evm_" + why, Payer: why == "insufficient_balance" || why == "signature",
		Short: why == "insufficient_balance"}
	if why == "nonce_already_used" || why == "PaymentAlreadyCollected" || why == "ZeroAuthorization" {
		ref.Err = rail.ErrUsed
	}
	return ref
}

func (r fakeRail) Verify(_ context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified,
	error) {
	unlock, err := r.lock("verify", payloadOf(p).key())
	if err != nil {
		return rail.Verified{}, err
	}
	defer unlock()
	h := r.c.head()
	late := h.later(now)
	why := ""
	switch w := payloadOf(p); {
	case w.Sig != w.signature():
		why = "signature"
	case p.PayTo != want.PayTo:
		why = "recipient_mismatch"
	case p.ValidBefore < late.Add(fakeMargin).Unix() || p.ValidBefore > want.Latest(now, 300*time.Second).Unix():
		why = "payload_authorization_valid_before"
	case p.ValidAfter > now.Unix():
		why = "payload_authorization_valid_after"
	case p.Amount.String() != want.Amount:
		why = "payload_authorization_value_mismatch"
	default:
		why = r.c.runs(w, late)
	}
	if why != "" {
		return rail.Verified{}, r.refusal(why)
	}
	m := rail.Verified{Block: h.number, Time: h.time, Code: r.code(p)}
	m.Local = m.Code != ""
	return m, nil
}

func (fakeRail) Signed(p *rail.Payment) bool {
	w := payloadOf(p)
	return w.Sig == w.signature()
}

// code is the hash of a payer's code: those whose name says so have some.
func (r fakeRail) code(p *rail.Payment) string {
	if code, _, ok := strings.Cut(p.Payer, ":"); ok {
		return code
	}
	return ""
}

// fakeGas is what settling takes, fakeLimit what it may; at a millionth of a dollar a unit of gas.
const fakeGas, fakeLimit = 100, 125

func (r fakeRail) price(ps []*rail.Payment) rail.Price {
	n := int64(len(ps))
	return rail.Price{Gas: uint64(n) * fakeLimit, Cost: n * fakeGas * r.c.gasPrice, Most: n * fakeLimit * r.c.gasPrice,
		Code: r.code(ps[0])}
}

// Standing implements rail.Rail.
func (r fakeRail) Standing(context.Context) (rail.Standing, error) {
	unlock, err := r.lock()
	if err != nil {
		return rail.Standing{}, err
	}
	defer unlock()
	s := rail.Standing{Head: r.c.head().time, Cost: fakeGas * r.c.gasPrice, Priced: true}
	switch {
	case r.c.paused:
		s.Out = "its USDC is paused"
	case r.c.empty:
		s.Out = "the store's account that pays for gas there is empty"
	}
	return s, nil
}

// Explain implements rail.Rail.
func (r fakeRail) Explain(_ context.Context, p *rail.Payment, v rail.Revert) (rail.Cause, error) {
	unlock, err := r.lock("explain", payloadOf(p).key())
	if err != nil {
		return rail.Cause{}, err
	}
	defer unlock()
	if w := payloadOf(p); !w.call().fetches() {
		return rail.Cause{Payer: true, Reason: "the escrow refused it"}, nil
	}
	if why := r.c.runs(payloadOf(p), r.c.head().time); why != "" {
		if why == "nonce_already_used" || strings.Contains(why, "valid_") {
			return rail.Cause{}, nil
		}
		return rail.Cause{Reason: why, Payer: why == "insufficient_balance" || why == "signature"}, nil
	}
	if v.Of > 1 && !r.c.traps[p.Payer] {
		return rail.Cause{Others: true}, nil
	}
	return rail.Cause{Reason: "reverted without a reason", Payer: r.code(p) != ""}, nil
}

type fakeDraft struct {
	price    rail.Price
	tx       fakeTx
	sequence *uint64
	mined    uint64
	fill     bool
}

func (r fakeRail) Draft(_ context.Context, ps []*rail.Payment) (rail.Draft, error) {
	unlock, err := r.lock("draft", payloadOf(ps[0]).key())
	if err != nil {
		return nil, err
	}
	defer unlock()
	apart := &rail.Apart{Err: errors.New("it would fail")}
	payers := map[string]bool{}
	for i, p := range ps {
		why := r.c.runs(payloadOf(p), r.c.head().time)
		if r.tooLate(p) {
			why = "capture_deadline_expired"
		}
		if why != "" && len(ps) == 1 {
			return nil, r.refusal(why)
		}
		soon := p.ValidBefore < r.c.head().time.Add(time.Minute).Unix()
		other := p.Method != ps[0].Method || p.Method != "fake" && p.Method != rail.MethodDeposit
		if len(ps) > 1 && (why != "" || r.code(p) != "" || payers[p.Payer] || soon || other) {
			apart.Which = append(apart.Which, i)
		}
		payers[p.Payer] = true
	}
	if len(ps) > max(1, r.c.together) {
		return nil, rail.ErrTogether
	}
	if len(apart.Which) > 0 {
		return nil, apart
	}
	if r.c.empty {
		return nil, rail.ErrNoGas
	}
	return &fakeDraft{price: r.price(ps), tx: fakeTx{Relayer: true, Fee: 100, Pays: payloadsOf(ps)},
		mined: r.c.head().mined}, nil
}

func (r fakeRail) Replace(_ context.Context, ps []*rail.Payment, old rail.Signed, fill bool) (rail.Draft, error) {
	unlock, err := r.lock("replace", payloadOf(ps[0]).key(), old.ID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var x fakeTx
	if err := json.Unmarshal(old.Raw, &x); err != nil {
		return nil, err
	}
	if now := payloadsOf(ps); !fill && !slices.Equal(x.Pays, now) {
		return nil, rail.ErrTogether // not the same
	}
	if x.Fee = x.Fee*9/8 + 1; fill {
		x.Pays = nil
	} else if r.tooLate(ps[0]) {
		return nil, r.refusal("capture_deadline_expired")
	}
	return &fakeDraft{price: r.price(ps), tx: x, sequence: &old.Sequence, fill: fill}, nil
}

func (d *fakeDraft) Price() rail.Price { return d.price }

func (d *fakeDraft) Sign(seq rail.Sequencer) (rail.Signed, error) {
	x := d.tx
	if d.sequence != nil {
		x.Sequence = *d.sequence
	} else {
		_, n, err := seq.Next([]rail.Account{{Address: "relayer", Mined: d.mined, Pending: d.mined}})
		if err != nil {
			return rail.Signed{}, err
		}
		x.Sequence = n
	}
	return rail.Signed{ID: x.id(), Raw: x.raw(), Account: "relayer", Sequence: x.Sequence, Fill: d.fill,
		At: time.Now().UTC()}, nil
}

func (r fakeRail) Send(_ context.Context, all ...rail.Signed) error {
	unlock, err := r.lock("send", all[0].ID)
	if err != nil {
		return err
	}
	defer unlock()
	var failed []error
	for _, s := range all {
		x := new(fakeTx)
		if err := json.Unmarshal(s.Raw, x); err != nil {
			return err
		}
		failed = append(failed, r.c.take(x))
	}
	return errors.Join(failed...)
}

// Accounts implements rail.Rail.
func (r fakeRail) Accounts(context.Context) ([]rail.Account, error) {
	unlock, err := r.lock("accounts")
	if err != nil {
		return nil, err
	}
	defer unlock()
	return []rail.Account{{Address: "relayer", Mined: r.c.head().mined}}, nil
}

// take puts a transaction of the relayer's into the pool.
func (c *fakeChain) take(x *fakeTx) error {
	if !c.seen[x.Sequence] {
		c.seen[x.Sequence] = true
		c.came = append(c.came, x.Sequence)
	}
	if x.Sequence < c.head().mined {
		return nil // the number is spent: as good as known
	}
	for i, y := range c.pool {
		if !y.Relayer || y.Sequence != x.Sequence {
			continue
		}
		if y.id() == x.id() {
			return nil
		}
		if x.Fee*10 < y.Fee*11 {
			return errors.New("replacement transaction underpriced")
		}
		c.pool[i] = x
		return nil
	}
	c.pool = append(c.pool, x)
	return nil
}

func (r fakeRail) Status(_ context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	unlock, err := r.lock("look", payloadOf(p).key())
	if err != nil {
		return rail.Finding{}, err
	}
	defer unlock()
	h := r.c.head()
	f := rail.Finding{State: rail.Waiting, Advice: rail.Wait}
	ours := func(id string) bool {
		return slices.ContainsFunc(signed, func(s rail.Signed) bool { return s.ID == id })
	}
	for _, s := range signed {
		moved, is := r.c.reverted[s.ID+"|"+p.Payer+"|"+p.Nonce]
		if s.Fill || !is {
			continue
		}
		v := rail.Revert{Tx: s.ID, Block: h.number, Gas: fakeLimit, Cost: fakeLimit * r.c.gasPrice}
		var x fakeTx
		if err := json.Unmarshal(s.Raw, &x); err == nil && len(x.Pays) > 1 {
			v.Of, v.Moved = len(x.Pays), moved
		}
		f.Reverts = append(f.Reverts, v)
	}
	u, b := r.c.used(p, signed)
	switch {
	case b == nil && h.time.Unix() < p.ValidBefore:
		f.Advice = r.advise(p, signed, now)
		return f, nil
	case b == nil:
		f.State, f.Reason, f.Final = rail.Dead, "expired", r.c.final().time.Unix() >= p.ValidBefore
	case u.pays(p) && (ours(u.tx.id()) || b.number > since.Block || b.time.After(since.Time)):
		f.State, f.Final = rail.Paid, b.number <= r.c.final().number
		f.Proof = &rail.Proof{Tx: u.tx.id(), LogIndex: u.index, Block: b.number, BlockHash: b.hash, BlockTime: b.time,
			ByOther: !ours(u.tx.id())}
	default:
		f.State, f.Final = rail.Dead, b.number <= r.c.final().number
		f.Reason = "used_elsewhere"
		if u.end != "" {
			f.Reason = u.end
		} else if u.cancelled {
			f.Reason = "cancelled"
		} else if u.pays(p) {
			f.Reason = "used_before_claim"
		}
		f.Payer = f.Reason != "used_before_claim"
	}
	for _, s := range signed {
		if s.Sequence >= h.mined && (f.Unfilled == nil || s.Sequence <= f.Unfilled.Sequence) {
			f.Unfilled = &s
		}
		f.Final = f.Final && s.Sequence < r.c.final().mined
	}
	return f, nil
}

func (r fakeRail) advise(p *rail.Payment, signed []rail.Signed, now time.Time) rail.Advice {
	h := r.c.head()
	if h.time.After(now) {
		now = h.time
	}
	if len(signed) == 0 || now.Add(fakeMargin).Unix() >= p.ValidBefore || r.tooLate(p) {
		return rail.Wait
	}
	newest := signed[len(signed)-1]
	switch {
	case newest.Sequence < h.mined:
		return rail.Redraft
	case slices.ContainsFunc(signed, func(s rail.Signed) bool {
		return s.Sequence >= h.mined &&
			!slices.ContainsFunc(r.c.pool, func(x *fakeTx) bool { return x.Relayer && x.Sequence == s.Sequence })
	}):
		return rail.Resend
	case now.Sub(newest.At) > fakeStuck && newest.Sequence == h.mined:
		return rail.Bump
	}
	return rail.Wait
}

func (r fakeRail) Changed() <-chan struct{} {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.c.changed
}

func (r fakeRail) Check(context.Context) error { return nil }

func (r fakeRail) Head(context.Context) (rail.Head, error) {
	unlock, err := r.lock("head")
	if err != nil {
		return rail.Head{}, err
	}
	defer unlock()
	return rail.Head{Block: r.c.head().number, Time: r.c.head().time}, nil
}

func (r fakeRail) Final(context.Context) (rail.Head, error) {
	unlock, err := r.lock("final")
	if err != nil {
		return rail.Head{}, err
	}
	defer unlock()
	if r.c.vague {
		return rail.Head{}, errSilent
	}
	return rail.Head{Block: r.c.final().number, Time: r.c.final().time}, nil
}

func (r fakeRail) Funds(_ context.Context, payer string, nonces []string) (rail.Funds, error) {
	unlock, err := r.lock("funds", payer)
	if err != nil {
		return rail.Funds{}, err
	}
	defer unlock()
	f := rail.Funds{Balance: big.NewInt(r.c.left(payer)), Spent: map[string]bool{}}
	for _, n := range nonces {
		_, b := r.c.use(payer + "|" + n)
		f.Spent[n] = b != nil
	}
	return f, nil
}

func (r fakeRail) ProveSigner(context.Context, string, []byte, []byte) error {
	return &rail.Refusal{Reason: "invalid_exact_evm_signature"}
}

func (r fakeRail) Incoming(_ context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return rail.Ascending(s, func(from, to uint64) iter.Seq2[rail.Transfer, error] {
		return func(yield func(rail.Transfer, error) bool) {
			r.c.mu.Lock()
			last := r.c.head().number
			r.c.mu.Unlock()
			if last < s.To {
				yield(rail.Transfer{}, errors.New("the chain is shorter"))
				return
			}
			r.c.incoming(fakePayTo, from, to)(yield)
		}
	})
}

// incoming lists what arrived at an address, in the order of the chain; 0 for the last block is the
// head.
func (c *fakeChain) incoming(payTo string, from, to uint64) iter.Seq2[rail.Transfer, error] {
	return func(yield func(rail.Transfer, error) bool) {
		c.mu.Lock()
		blocks := slices.Clone(c.blocks)
		c.mu.Unlock()
		if to == 0 {
			to = blocks[len(blocks)-1].number
		}
		for _, b := range blocks {
			if b.number < from || b.number > to {
				continue
			}
			keys := slices.SortedFunc(maps.Keys(b.uses),
				func(x, y string) int { return cmp.Compare(b.uses[x].index, b.uses[y].index) })
			for _, key := range keys {
				u := b.uses[key]
				if u.cancelled || u.to != payTo || u.amount == 0 {
					continue
				}
				payer, nonce, _ := strings.Cut(key, "|")
				method := "fake"
				if u.plain {
					payer, nonce, method = fakeEscrowAt, "", ""
				}
				if !yield(rail.Transfer{Network: fakeNetwork, Tx: u.tx.id(), LogIndex: u.index, Block: b.number,
					Time: b.time, Payer: payer,
					Amount: big.NewInt(u.amount), Nonce: nonce, Method: method}, nil) {
					return
				}
			}
		}
	}
}

func (r fakeRail) Fuel(context.Context) (*big.Int, bool, error) { return big.NewInt(1), false, nil }

func (r fakeRail) Run(ctx context.Context) error {
	r.c.mu.Lock()
	r.c.announce()
	r.c.mu.Unlock()
	<-ctx.Done()
	return nil
}
