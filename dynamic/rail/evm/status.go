package evm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

const (
	// lookBack is how many blocks before the claim a use is searched in: a reorganisation may move
	// it there.
	lookBack = 512
	// maxLooked bounds the memory of direct looks.
	maxLooked = 1 << 16
	// maxOwn is how many of the newest own transactions of one payment are read.
	maxOwn = 16
)

// view is the chain as one look sees it.
type view struct {
	head      block
	deep      *block // newest block at the network's depth; nil on a chain that is shorter
	final     uint64 // newest final block
	finalTime time.Time
	mined     counts // our transactions up to head
	used      counts // our transactions up to the final block
	known     bool   // a node has the newest own transaction, in a block or in its pool
	reverts   []rail.Revert
}

// Status implements rail.Rail. While the watcher is live, payments that are found and payments that
// merely wait are answered from its index without a request; everything else is read from the chain
// directly: nothing is called dead on the index's word, because a log that a node failed to return
// looks like one that does not exist.
func (r *Rail) Status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	f, err := r.status(ctx, p, signed, since, now)
	if err != nil {
		return f, err
	}
	return r.confirm(ctx, sought{p, signed, since}, now, f), nil
}

// status is Status by the word of whichever node answers.
func (r *Rail) status(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding, error) {
	s, live := r.index.state(time.Now(), r.patience())
	if live && announced(p) {
		if f, ok := r.fromIndex(s, p, signed, since, now); ok {
			return f, nil
		}
	}
	v, u, err := r.direct(ctx, p, signed, since)
	if err != nil {
		return rail.Finding{}, fmt.Errorf("looking for payment %s of %s: %w", p.Nonce, p.Payer, err)
	}
	f := r.judge(v, u, sought{p, signed, since}, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = max(r.looked, v.head.Number)
	if live && announced(p) && f.State == rail.Waiting && f.Advice == rail.Wait {
		if len(r.lookedAt) >= maxLooked {
			clear(r.lookedAt)
		}
		r.lookedAt[p.ClaimKey()] = now
	}
	return f, nil
}

// grace is how long a settlement may wait without being asked after.
func (r *Rail) grace() time.Duration { return max(3*r.cfg.Poll, 3*time.Second) }

func (r *Rail) fromIndex(s state, p *rail.Payment, signed []rail.Signed, since rail.Verified,
	now time.Time) (rail.Finding,
	bool) {
	v := view{head: s.head, deep: s.deep, final: s.final, mined: s.mined, known: true}
	if u, ok := r.index.find(authorizationOf(p)); ok {
		// One settlement that paid is as final as its payment. Whether others' nonces are, the
		// index does not know.
		if v.used = s.mined; len(signed) > 1 || len(signed) == 1 && !ours(signed, u.tx) {
			v.used = nil
		}
		f := r.judge(v, &u, sought{p, signed, since}, now)
		return f, f.Proof != nil && (f.Final || u.block > s.final || len(signed) == 0)
	}
	if since.Block+1 < s.low || s.deep == nil || s.deep.Time.Unix() >= p.ValidBefore || len(signed) == 0 {
		return rail.Finding{}, false
	}
	newest := signed[len(signed)-1]
	if r.cfg.Settler == nil && (!r.mine(newest) || newest.Sequence < s.mined[newest.Account]) {
		return rail.Finding{}, false
	}
	r.mu.Lock()
	asked := r.lookedAt[p.ClaimKey()]
	r.mu.Unlock()
	if now.Sub(newest.At) > r.grace() && now.Sub(asked) > r.grace() {
		return rail.Finding{}, false
	}
	return rail.Finding{State: rail.Waiting, Advice: rail.Wait}, true
}

// sought is a payment that is looked for, what was signed for it, and the head when it was claimed.
type sought struct {
	payment *rail.Payment
	signed  []rail.Signed
	since   rail.Verified
}

// judge turns what was seen into a finding. u is the use of the authorization, nil if it is certain
// that up to the view's head there is none.
func (r *Rail) judge(v view, u *use, s sought, now time.Time) rail.Finding {
	f := rail.Finding{State: rail.Waiting, Advice: rail.Wait, Reverts: v.reverts}
	switch {
	case u == nil:
		if v.deep != nil && v.deep.Time.Unix() >= s.payment.ValidBefore {
			f.State, f.Reason, f.Final = rail.Dead, "expired", v.finalTime.Unix() >= s.payment.ValidBefore
			break
		}
		f.Advice = r.advise(v, s.payment, s.signed, now)
		return f
	case u.pays(s.payment) && (ours(s.signed, u.tx) || later(u, s.since)):
		f.Proof = &rail.Proof{
			Tx: u.tx.Hex(), LogIndex: u.index, Block: u.block, BlockHash: u.blockHash.Hex(), BlockTime: u.time,
			ByOther: !ours(s.signed, u.tx) && !r.handedOver(s.signed, u.tx),
		}
		f.State = rail.Seen
		if r.deep(v, u.block) {
			f.State, f.Final = rail.Paid, u.block <= v.final
		}
	case !r.deep(v, u.block):
		return f // spent on something else, in a block that may go away again
	default:
		f.State, f.Final, f.Payer = rail.Dead, u.block <= v.final, !u.pays(s.payment)
		switch {
		case u.end != "":
			f.Reason = u.end
		case u.canceled:
			f.Reason = "cancelled"
		case u.pays(s.payment):
			f.Reason = "used_before_claim"
		default:
			f.Reason = "used_elsewhere"
		}
	}
	f.Unfilled = r.unfilled(v, s.signed, now)
	f.Final = f.Final && r.lowest(v.used, s.signed) == nil
	return f
}

func (r *Rail) deep(v view, number uint64) bool {
	return v.head.Number+1 >= number+r.cfg.Depth
}

// later reports a use after the claim: in a block above the head of then, or in one that a
// reorganisation put at or below it, which its later time gives away.
func later(u *use, since rail.Verified) bool {
	return u.block > since.Block || u.time.After(since.Time)
}

// unfilled is the newest own settlement at the lowest nonce that is still open. One that is being
// filled is not worth a word until the filling is stuck.
func (r *Rail) unfilled(v view, signed []rail.Signed, now time.Time) *rail.Signed {
	s := r.lowest(v.mined, signed)
	if s != nil && s.Fill && now.Sub(s.At) < r.cfg.Stuck {
		return nil
	}
	return s
}

// lowest is the newest own settlement at the lowest nonce from a count of mined ones on; nil if all
// are used up. Where several accounts have one, it is that of the first to be signed for.
func (r *Rail) lowest(mined counts, signed []rail.Signed) *rail.Signed {
	var low *rail.Signed
	for i := range signed {
		if s := &signed[i]; r.mine(*s) && s.Sequence >= mined[s.Account] && (low == nil || s.Account == low.Account &&
			s.Sequence <= low.Sequence) {
			low = s
		}
	}
	if low == nil {
		return nil
	}
	s := *low
	return &s
}

// earlier reports whether a settlement has another number than the newest, of which it is open
// again.
func earlier(open *rail.Signed, newest rail.Signed) bool {
	return open != nil && (open.Account != newest.Account || open.Sequence < newest.Sequence)
}

// mine reports a settlement by one of the present accounts.
func (r *Rail) mine(s rail.Signed) bool {
	return r.keyOf(s.Account) != nil
}

// advise says what would help a payment that has not landed.
func (r *Rail) advise(v view, p *rail.Payment, signed []rail.Signed, now time.Time) rail.Advice {
	if len(signed) == 0 || lasts(p) <= soon(now, v.head.Time) {
		return rail.Wait
	}
	newest := signed[len(signed)-1]
	old := now.Sub(newest.At) > r.cfg.Stuck
	switch {
	case r.cfg.Settler != nil:
		if old {
			return rail.Resend
		}
	case !r.mine(newest): // by a settler or a relayer of an earlier configuration: it cannot be replaced
		if !v.known {
			return rail.Redraft
		}
	case newest.Sequence < v.mined[newest.Account]:
		return rail.Redraft
	case !v.known || earlier(r.lowest(v.mined, signed), newest): // an earlier nonce was opened again
		return rail.Resend
	case old && newest.Sequence == v.mined[newest.Account]:
		return rail.Bump
	}
	return rail.Wait
}

// direct reads all that one look needs. The use is nil only where authorizationState says at the
// view's head that the authorization is open; that it is spent is no more than a reason to search
// for the event.
func (r *Rail) direct(ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified) (view, *use,
	error) {
	var v view
	head := headCall(&v.head)
	if err := errors.Join(r.rpc.batch(ctx, head), head.err); err != nil {
		return v, nil, err
	}
	at := hexutil.EncodeUint64(v.head.Number)
	var open hexutil.Bytes
	var deep, final block
	var tx struct{}
	var calls []*call
	switch {
	case endsHold(p):
		calls = append(calls, holdCall(r.hashOf(p), at, &open))
	case !isOwn(p):
		calls = append(calls, r.stateCall(p, at, &open))
	}
	counted, mined := r.countCalls(at)
	calls = append(calls, counted...)
	if v.head.Number+1 >= r.cfg.Depth {
		calls = append(calls, blockCall(v.head.Number+1-r.cfg.Depth, &deep))
		v.deep = &deep
	}
	must := len(calls)
	fin := finalCall(&final)
	if r.cfg.Finality > 0 {
		fin = blockCall(r.finalAt(v.head, final), &final)
	}
	calls = append(calls, fin)
	done, used := r.countCalls(fin.params[0])
	if len(signed) > 0 {
		calls = append(calls, done...)
	}
	// Whether a node has the newest own transaction. One that cannot say counts as one that has it
	// not: sending again is harmless.
	have := &call{method: "eth_getTransactionByHash", out: &tx}
	if n := len(signed); n > 0 && signed[n-1].ID != "" {
		have.params = []any{signed[n-1].ID}
		calls = append(calls, have)
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return v, nil, err
	}
	for i, k := range calls {
		_, refused := errors.AsType[*rail.NodeError](k.err)
		if k.err != nil && (i < must || !refused && k.err != rail.ErrNodeNull) {
			return v, nil, fmt.Errorf("%s: %w", k.method, k.err)
		}
	}
	v.known, v.mined = have.params != nil && have.err == nil, mined()
	if fin.err == nil {
		v.final, v.finalTime, v.used = final.Number, final.Time, used()
	}
	if endsHold(p) {
		u, err := r.ended(ctx, sought{p, signed, since}, &v, open)
		return v, u, err
	}
	if isOwn(p) {
		u, err := r.own(ctx, p, signed)
		if u == nil && err == nil {
			v.reverts, err = r.reverts(ctx, p, signed, v.mined)
		}
		return v, u, err
	}
	if len(open) != 32 {
		return v, nil, errors.New("authorizationState has an unexpected form")
	}
	if !spentBy(p.Nonce, open) {
		var err error
		v.reverts, err = r.reverts(ctx, p, signed, v.mined)
		return v, nil, err
	}
	u, err := r.own(ctx, p, signed)
	from := since.Block - min(since.Block, lookBack)
	switch {
	case u != nil || err != nil:
	case p.Method == rail.MethodHoldPermit:
		if u, err = r.searchHold(ctx, sought{p, signed, since}, v.head.Number, topicHeld); u == nil && err == nil {
			u, err = r.searchPermit(ctx, p, from, v)
		}
	case byPermit(p):
		u, err = r.searchPermit(ctx, p, from, v)
	default:
		u, err = r.search(ctx, p, from, v.head.Number)
	}
	if u != nil && !ours(signed, u.tx) {
		v.reverts, _ = r.reverts(ctx, p, signed, v.mined) // what spent it is known without them
	}
	return v, u, err
}

// announced reports a payment whose use the watcher's index tells of: one by EIP-3009.
func announced(p *rail.Payment) bool {
	return p.Method == method || p.Method == rail.MethodDeposit || p.Method == rail.MethodHold
}

// own finds the event among our own transactions' receipts. Nodes that are still indexing cannot
// give them; then the logs are searched.
func (r *Rail) own(ctx context.Context, p *rail.Payment, signed []rail.Signed) (*use, error) {
	var calls []*call
	receipts := make([]receipt, maxOwn)
	for i, s := range signed[max(0, len(signed)-maxOwn):] {
		if s.ID != "" {
			calls = append(calls, &call{method: "eth_getTransactionReceipt", params: []any{s.ID}, out: &receipts[i]})
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return nil, err
	}
	for i := range receipts {
		c := &receipts[i]
		if u, ok := r.useIn(p, c.Logs); ok && c.Status == 1 {
			return r.dated(ctx, u)
		} else if isOwn(p) && !endsHold(p) && c.Status == 1 {
			return r.dated(ctx, use{tx: c.Tx, block: uint64(c.Block), blockHash: c.BlockHash,
				to: common.HexToAddress(p.PayTo), value: p.Amount})
		}
	}
	return nil, nil
}

// search finds the event that spent an authorization. One filter fits both it and the Transfer
// after it: their second topic is the payer, their third the nonce and payTo.
func (r *Rail) search(ctx context.Context, p *rail.Payment, from, to uint64) (*use, error) {
	a := authorizationOf(p)
	payTo := common.HexToAddress(p.PayTo)
	topics := []any{
		[]string{topicUsed.Hex(), topicCanceled.Hex(), topicTransfer.Hex()},
		common.BytesToHash(a.payer[:]).Hex(),
		[]string{a.nonce.Hex(), common.BytesToHash(payTo[:]).Hex()},
	}
	for w, err := range r.windows(ctx, from, to, topics...) {
		if err != nil {
			return nil, err
		}
		if u, ok := uses(r.asset, w.logs)[a]; ok {
			return r.dated(ctx, u)
		}
	}
	return nil, errors.New("the authorization is spent, but no event says how")
}

// dated adds the time of a use's block.
func (r *Rail) dated(ctx context.Context, u use) (*use, error) {
	var b block
	if err := r.rpc.one(ctx, &b, "eth_getBlockByHash", u.blockHash.Hex(), false); err != nil {
		return nil, err
	}
	if b.Number != u.block {
		return nil, errBehind
	}
	u.time = b.Time
	return &u, nil
}
