package solana

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/rpc"
)

const (
	pageSignatures = 1000 // in one request, the most that nodes give
	// maxPages bounds one reading. Anybody can write a transaction that names an account.
	maxPages = 200
)

// entry is a transaction in the list of an account's.
type entry struct {
	Signature string         `json:"signature"`
	Slot      uint64         `json:"slot"`
	Err       jsontext.Value `json:"err"`
}

// Incoming implements rail.Rail: what changed the store's token account. One of ours is known by
// its form and its fee payer; any other transfer to the account is listed without a nonce.
func (r *Rail) Incoming(ctx context.Context, from, to uint64) iter.Seq2[rail.Transfer, error] {
	return func(yield func(rail.Transfer, error) bool) {
		head, err := r.Head(ctx)
		if err == nil && head.Block < to {
			err = errBehind // what such a node knows nothing of is not empty
		}
		var list []entry
		if err == nil {
			if to == 0 {
				to = head.Block
			}
			list, err = r.entries(ctx, from, to)
		}
		if err != nil {
			yield(rail.Transfer{}, fmt.Errorf("listing transfers: %w", err))
			return
		}
		for _, e := range slices.Backward(list) {
			t, ok, err := r.transfer(ctx, e)
			if err != nil {
				yield(rail.Transfer{}, fmt.Errorf("reading transfer %s: %w", e.Signature, err))
				return
			}
			if ok && !yield(t, nil) {
				return
			}
		}
	}
}

// entries lists the successful transactions of the store's token account between two slots, the
// newest first.
func (r *Rail) entries(ctx context.Context, from, to uint64) (list []entry, err error) {
	if from > 0 {
		if err := r.reaches(ctx, from); err != nil {
			return nil, err
		}
	}
	before := ""
	for range maxPages {
		o := map[string]any{"commitment": confirmed, "limit": pageSignatures}
		if before != "" {
			o["before"] = before
		}
		var page []entry
		if err := r.rpc.call(ctx, &page, "getSignaturesForAddress", r.account.String(), o); err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Slot < from {
				return list, nil
			}
			if e.Slot <= to && (len(e.Err) == 0 || e.Err.Kind() == 'n') {
				list = append(list, e)
			}
		}
		if len(page) < pageSignatures {
			return list, nil
		}
		before = page[len(page)-1].Signature
	}
	return nil, fmt.Errorf("the account has more than %d transactions since slot %d", maxPages*pageSignatures, from)
}

// transfer reads what a transaction brought; ok is false where it brought nothing.
func (r *Rail) transfer(ctx context.Context, e entry) (out rail.Transfer, ok bool, err error) {
	x, err := r.executed(ctx, e.Signature, confirmed)
	if said, is := errors.AsType[*rpc.Error](err); is && said.Code == codeVersion {
		return r.unreadable(e)
	}
	if err != nil {
		return out, false, err
	}
	if x.Slot != e.Slot || x.Time == nil {
		return out, false, errBehind
	}
	wire, err := x.wire()
	if err != nil {
		return out, false, err
	}
	t, err := parseTransaction(wire)
	if err != nil {
		return r.unreadable(e)
	}
	moved, err := x.arrived(t, r.account, r.mint)
	if err != nil || moved <= 0 {
		return out, false, err
	}
	out = rail.Transfer{
		Network: r.cfg.Network, Tx: e.Signature, LogIndex: transferIndex,
		Block: x.Slot, Time: time.Unix(*x.Time, 0).UTC(),
		Payer: t.keys[0].String(), Amount: big.NewInt(moved),
	}
	o, ref := r.read(t, true)
	if ref == nil && t.keys[0] == r.feePayer && o.to == r.account && o.mint == r.mint && o.amount == uint64(moved) {
		out.Payer, out.Nonce, out.Method = o.payer.String(), t.hash(), method
	}
	return out, true, nil
}

// unreadable passes over a transaction of a form that is not known here. It is none of ours, and
// anybody can write one: what it brought must not hold up the reading of the others.
func (r *Rail) unreadable(e entry) (out rail.Transfer, ok bool, err error) {
	r.log.Warn("a transfer cannot be read", "network", r.cfg.Network, "tx", e.Signature)
	return out, false, nil
}
