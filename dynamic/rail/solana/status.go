package solana

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const (
	// again is after how long a transaction that was not seen is sent again.
	again = 2 * time.Second
	// soonest is how long the blocks for which a blockhash is good take at least. A node that says
	// otherwise lies about its height.
	soonest = 20 * time.Second
	// maxLanded bounds the memory of transactions that were read.
	maxLanded = 1 << 14
)

// transferIndex stands in the place of a log's index: a transaction holds one payment, the third
// instruction of a stock buyer's.
const transferIndex = 2

// landing is a transaction of ours in a block.
type landing struct {
	proof  rail.Proof
	revert *rail.Revert // it failed
	why    string       // of what
	sure   string       // the commitment at which it was read
}

// Status implements rail.Rail. While the watcher runs, a payment that merely waits is answered from
// what it saw. That one has landed is believed where its status, the transaction itself with the
// balances it moved, and its block agree; that one never will, where a finalized height is past its
// last one, later than blocks can be made, and the node's ledger, which must reach back to the
// claim, has nothing of it.
func (r *Rail) Status(
	ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified, now time.Time,
) (rail.Finding, error) {
	f, err := r.status(ctx, p, signed, since, now)
	if err != nil {
		return rail.Finding{}, fmt.Errorf("looking for payment %s of %s: %w", p.Nonce, p.Payer, err)
	}
	return f, nil
}

func (r *Rail) status(
	ctx context.Context, p *rail.Payment, signed []rail.Signed, since rail.Verified, now time.Time,
) (rail.Finding, error) {
	if len(signed) == 0 {
		return r.unsigned(ctx, p, since)
	}
	s := signed[len(signed)-1] // all of them are one and the same
	t, _, ref := r.taken(p, true)
	if ref != nil {
		return rail.Finding{}, ref
	}
	// One by an earlier fee payer lands, or does not, all the same.
	if s.Account == r.accountNames[0] && r.signatureOf(t).id != s.ID {
		return rail.Finding{}, errors.New("the settlement is not that of its payment")
	}
	r.mu.Lock()
	l, known := r.landed[s.ID]
	r.mu.Unlock()
	if known && l.sure == finalized { // which nothing changes
		return r.finding(ctx, t, l), nil
	}
	v, live := r.live()
	if known && live && l.proof.Block <= v.final && r.rooted(ctx, s.ID, &l) {
		return r.finding(ctx, t, l), nil
	}
	switch seen, fresh, soon := r.lately(s.ID); {
	case fresh && seen != nil:
		return r.found(ctx, p, t, s, seen)
	case known && live && soon:
		return r.finding(ctx, t, l), nil
	case v.height > s.Sequence:
	case fresh, live && soon && time.Since(s.At) < again && s.At.Before(time.Now()):
		return r.waiting(s, now), nil
	}
	_, list, err := r.statuses(ctx, false, s.ID)
	if err != nil {
		return rail.Finding{}, err
	}
	if list[0] != nil {
		return r.found(ctx, p, t, s, list[0])
	}
	return r.missing(ctx, p, t, sentSince{s, since}, now)
}

// unsigned judges a payment for which nothing was signed: without our signature it cannot land.
// What is signed for it from now on is refused by the chain, once its blockhash is too old.
func (r *Rail) unsigned(ctx context.Context, p *rail.Payment, since rail.Verified) (rail.Finding, error) {
	head, err := r.Head(ctx)
	if err != nil {
		return rail.Finding{}, err
	}
	last := max(p.ValidBefore, since.Time.Add(2*timeout).Unix())
	if head.Time.Unix() < last {
		return rail.Finding{State: rail.Waiting, Advice: rail.Wait}, nil
	}
	final, err := r.Final(ctx)
	if err != nil {
		return rail.Finding{}, err
	}
	return rail.Finding{State: rail.Dead, Reason: "expired", Final: final.Time.Unix() >= last}, nil
}

// sentSince is a transaction of ours, and the head when its payment was claimed.
type sentSince struct {
	signed rail.Signed
	since  rail.Verified
}

// missing judges a settlement of which a node remembers nothing.
func (r *Rail) missing(ctx context.Context, p *rail.Payment, t *transaction, b sentSince, now time.Time) (rail.Finding,
	error) {
	head, err := r.epoch(ctx, confirmed)
	if err != nil || head.Height <= b.signed.Sequence {
		return r.waiting(b.signed, now), err
	}
	final, err := r.epoch(ctx, finalized)
	if err != nil {
		return rail.Finding{}, err
	}
	slot, list, err := r.statuses(ctx, true, b.signed.ID) // after the heights: what had landed by then is in it
	switch {
	case err != nil:
		return rail.Finding{}, err
	case list[0] != nil:
		return r.found(ctx, p, t, b.signed, list[0])
	case slot < head.Slot || final.Slot > head.Slot || final.Height > head.Height:
		return rail.Finding{}, errBehind
	case now.Sub(b.since.Time) < soonest || now.Sub(b.signed.At) < soonest:
		return rail.Finding{}, fmt.Errorf("block height %d so soon: %w", head.Height, errBehind)
	}
	if err := r.reaches(ctx, b.since.Block); err != nil {
		return rail.Finding{}, err
	}
	return rail.Finding{State: rail.Dead, Reason: "expired", Final: final.Height > b.signed.Sequence}, nil
}

// reaches demands that a node's ledger goes back to a slot: one that was pruned knows nothing of
// what was before.
func (r *Rail) reaches(ctx context.Context, slot uint64) error {
	var first uint64
	if err := r.rpc.call(ctx, &first, "getFirstAvailableBlock"); err != nil {
		return err
	}
	if first > slot {
		return fmt.Errorf("the node's ledger begins at slot %d, after %d: ask one that keeps more", first, slot)
	}
	return nil
}

// found judges a settlement that a node says is in a block.
func (r *Rail) found(
	ctx context.Context, p *rail.Payment, t *transaction, s rail.Signed, st *status,
) (rail.Finding, error) {
	if !st.sure() {
		return rail.Finding{State: rail.Waiting, Advice: rail.Wait}, nil
	}
	r.mu.Lock()
	l, known := r.landed[s.ID]
	r.mu.Unlock()
	known = known && l.proof.Block == st.Slot && (l.revert != nil) == st.failed()
	if !known || st.Status == finalized && l.sure != finalized && !r.rooted(ctx, s.ID, &l) {
		var err error
		if l, err = r.readLanding(ctx, p, t, s, st.Status); err != nil {
			return rail.Finding{}, err
		}
		if l.proof.Block != st.Slot || (l.revert != nil) != st.failed() {
			return rail.Finding{}, errBehind
		}
		r.keep(s.ID, l)
	}
	return r.finding(ctx, t, l), nil
}

// keep remembers where a transaction landed, of which nobody waits to hear any more.
func (r *Rail) keep(signature string, l landing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.landed) >= maxLanded {
		clear(r.landed)
	}
	r.landed[signature] = l
	delete(r.asked, signature)
}

// rooted reports whether the block in which a transaction was read is final, and notes that: the
// final one at its slot has the same hash.
func (r *Rail) rooted(ctx context.Context, signature string, l *landing) bool {
	b, _, err := r.blockOnce(ctx, l.proof.Block, finalized)
	if err != nil || b.Hash != l.proof.BlockHash {
		return false
	}
	l.sure = finalized
	r.keep(signature, *l)
	return true
}

// finding is what a transaction of ours in a block means.
func (r *Rail) finding(ctx context.Context, t *transaction, l landing) rail.Finding {
	final := l.sure == finalized
	if l.revert != nil {
		return rail.Finding{State: rail.Dead, Reason: "failed_on_chain", Final: final,
			Payer: r.payersFault(ctx, t, l.why), Reverts: []rail.Revert{*l.revert}}
	}
	return rail.Finding{State: rail.Paid, Proof: &l.proof, Final: final}
}

// readLanding reads a transaction of ours out of its block: it must be the very message, and where
// it succeeded it must have moved the amount to the store's account.
func (r *Rail) readLanding(
	ctx context.Context, p *rail.Payment, t *transaction, s rail.Signed, commitment string,
) (landing, error) {
	e, err := r.executed(ctx, s.ID, commitment)
	if err != nil {
		return landing{}, err
	}
	wire, err := e.wire()
	if err != nil {
		return landing{}, err
	}
	if !bytes.Equal(wire, s.Raw) && !bytes.HasSuffix(wire, t.message) {
		return landing{}, errBehind
	}
	b, when, err := r.blockOnce(ctx, e.Slot, commitment)
	if err != nil {
		return landing{}, err
	}
	l := landing{sure: commitment, proof: rail.Proof{
		Tx: s.ID, LogIndex: transferIndex, Block: e.Slot, BlockHash: b.Hash, BlockTime: when,
	}}
	if e.failed() {
		l.why = fault(e.Meta.Err)
		l.revert = &rail.Revert{Tx: s.ID, Block: e.Slot, Gas: e.Meta.Units, Cost: r.worth(e.Meta.Fee)}
		return l, nil
	}
	moved, err := e.arrived(t, r.account, r.mint)
	if err != nil {
		return landing{}, err
	}
	if !p.Amount.IsInt64() || moved != p.Amount.Int64() {
		return landing{}, fmt.Errorf("transaction %s moved %d, not %s: %w", s.ID, moved, p.Amount, errBehind)
	}
	return l, nil
}

// arrived is by how much a transaction changed what a token account has.
func (e *executed) arrived(t *transaction, to, mint key) (int64, error) {
	var has [2]int64
	name := mint.String()
	for i, list := range [2][]balance{e.Meta.Before, e.Meta.After} {
		for _, b := range list {
			k, ok := e.key(t, b.Index)
			if !ok {
				return 0, errors.New("a balance of an account that is not there")
			}
			if k != to || b.Mint != name {
				continue
			}
			n, err := strconv.ParseInt(b.Amount.Amount, 10, 64)
			if err != nil || n < 0 {
				return 0, errors.New("a balance has an unexpected form")
			}
			has[i] = n
		}
	}
	return has[1] - has[0], nil
}

// key is one of a transaction's accounts: its own, or what it loaded from tables.
func (e *executed) key(t *transaction, i int) (key, bool) {
	if i < 0 {
		return key{}, false
	}
	if i < len(t.keys) {
		return t.keys[i], true
	}
	if i -= len(t.keys); e.Meta.Loaded != nil {
		for _, list := range [2][]string{e.Meta.Loaded.Writable, e.Meta.Loaded.Readonly} {
			if i < len(list) {
				k, err := parseKey(list[i])
				return k, err == nil
			}
			i -= len(list)
		}
	}
	return key{}, false
}
