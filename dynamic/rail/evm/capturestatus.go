package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// holdCall asks for the state of a hold, three words.
func holdCall(hash common.Hash, at any, out *hexutil.Bytes) *call {
	data := append(bytes.Clone(selHold), hash[:]...)
	return &call{method: "eth_call", params: []any{ethCall(common.Address{}, captureAddress, data), at}, out: out}
}

// holdState reads an answer to holdCall.
func holdState(answer []byte) (rail.HoldState, error) {
	if len(answer) != 3*32 {
		return rail.HoldState{}, errors.New("the state of a hold has an unexpected form")
	}
	n := func(i int) int64 { return rail.Atomic(new(big.Int).SetBytes(answer[32*i : 32*(i+1)])) }
	return rail.HoldState{Collected: n(0) != 0, Capturable: n(1), Refundable: n(2)}, nil
}

// ReadHold implements rail.Captures. A node that has not got to the block refuses.
func (r *Rail) ReadHold(ctx context.Context, hash string, final bool) (rail.HoldState, error) {
	head, err := r.newest(ctx)
	if final {
		head, err = r.Final(ctx)
	}
	if err != nil {
		return rail.HoldState{}, err
	}
	asked := []*Rail{r}
	if len(r.witnesses) > 0 {
		asked = nil
		for _, w := range r.witnesses {
			asked = append(asked, w.Rail)
		}
	}
	least, heard := rail.HoldState{}, false
	now := time.Now()
	for i, one := range asked {
		var answer hexutil.Bytes
		k := holdCall(common.HexToHash(hash), hexutil.EncodeUint64(head.Block), &answer)
		err := errors.Join(one.rpc.batch(ctx, k), k.err)
		s := rail.HoldState{}
		if err == nil {
			s, err = holdState(answer)
		}
		if err != nil {
			err = fmt.Errorf("reading a hold: %w", err)
		}
		if len(r.witnesses) > 0 {
			silent := r.heard(r.witnesses[i], err, now)
			if err != nil && now.Sub(silent) >= r.cfg.Silence {
				continue // the other's word decides alone
			}
		}
		switch {
		case err != nil:
			return rail.HoldState{}, err
		case !heard:
			least, heard = s, true
		default:
			least.Collected = least.Collected && s.Collected
			least.Capturable = min(least.Capturable, s.Capturable)
			least.Refundable = min(least.Refundable, s.Refundable)
		}
	}
	if !heard {
		return rail.HoldState{}, errors.New("no node tells of holds")
	}
	least.Block, least.Time = head.Block, head.Time
	return least, nil
}

// ended finds what ended a hold, for a payment that would. It is nil where answer says that nothing
// has at the view's head: the money is there, or not there yet.
func (r *Rail) ended(ctx context.Context, s sought, v *view, answer []byte) (*use, error) {
	state, err := holdState(answer)
	if err != nil {
		return nil, err
	}
	over := state.Capturable == 0
	expects, ordered := expected(s.payment)
	if ordered { // one of several, perhaps
		over = state.Capturable != expects.Capturable || state.Refundable != expects.Refundable
	}
	var u *use
	if state.Collected && over {
		if u, err = r.own(ctx, s.payment, s.signed); u == nil && err == nil {
			u, err = r.searchHold(ctx, s, v.head.Number, topicCaptured, topicVoided, topicReclaimed)
		}
		if u != nil && ordered && !ours(s.signed, u.tx) {
			u.value = nil // another order's, be it of the same amount
		}
		if err == nil && u == nil {
			err = errors.New("a hold is over, but no event says how")
		}
	}
	if err == nil && (u == nil || !ours(s.signed, u.tx)) {
		v.reverts, err = r.reverts(ctx, s.payment, s.signed, v.mined)
	}
	return u, err
}

// searchHold finds the last event of a hold among some, or rather one of a transaction that was
// signed for the payment, and what it did by the receipt that has it.
func (r *Rail) searchHold(ctx context.Context, s sought, to uint64, kinds ...common.Hash) (*use, error) {
	p, from := s.payment, s.since.Block-min(s.since.Block, lookBack)
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Hex()
	}
	var last *entry
	for w, err := range r.windowsAt(ctx, captureAddress, from, to, names, r.hashOf(p).Hex()) {
		if err != nil {
			return nil, err
		}
		for i := range w.logs {
			if !w.logs[i].Removed && (last == nil || !ours(s.signed, last.Tx)) {
				last = &w.logs[i]
			}
		}
	}
	if last == nil {
		return nil, nil
	}
	var c receipt
	if err := r.rpc.one(ctx, &c, "eth_getTransactionReceipt", last.Tx.Hex()); err != nil {
		return nil, err
	}
	u, ok := r.useIn(p, c.Logs)
	if !ok || c.BlockHash != last.BlockHash {
		return nil, errBehind // reorganised between two questions
	}
	return r.dated(ctx, u)
}

// holdIn finds among the logs of a transaction what it did with a hold: by Permit2, that it was
// fetched; of a payment that ends it, how it ended, with the Transfer that followed.
func (r *Rail) holdIn(p *rail.Payment, logs []entry) (use, bool) {
	hash := r.hashOf(p)
	for _, l := range logs {
		if l.Address != captureAddress || l.Removed || len(l.Topics) != 2 || l.Topics[1] != hash || len(l.Data) < 32 {
			continue
		}
		u := use{tx: l.Tx, block: uint64(l.Block), blockHash: l.BlockHash, index: uint64(l.Index)}
		switch amount := new(big.Int).SetBytes(l.Data[:32]); {
		case l.Topics[0] == topicHeld && isHold(p) && len(l.Data) == infoBytes+2*32:
			u.to, u.value = captureAddress, new(big.Int).SetBytes(l.Data[infoBytes:infoBytes+32])
			return u, true
		case l.Topics[0] == topicReclaimed && endsHold(p):
			u.end = rail.EndReclaimed // whoever asks, it is no doing of ours
			return u, true
		case l.Topics[0] == topicCaptured && endsHold(p):
			u.end = rail.EndCaptured
			return r.moved(u, logs, amount, p), true
		case l.Topics[0] == topicVoided && endsHold(p):
			u.end = rail.EndVoided
			return r.moved(u, logs, amount, p), true
		}
	}
	return use{}, false
}

// moved adds to the end of a hold the Transfer behind it, where the payment is for that end.
func (r *Rail) moved(u use, logs []entry, amount *big.Int, p *rail.Payment) use {
	if (u.end == rail.EndCaptured) != (p.Method == rail.MethodCapture) {
		return u
	}
	for _, l := range logs {
		if l.Address != r.asset || l.Removed || l.Tx != u.tx || uint64(l.Index) <= u.index || len(l.Topics) != 3 ||
			l.Topics[0] != topicTransfer || len(l.Data) != 32 {
			continue
		}
		if t := transferOf(l); t.to == common.HexToAddress(p.PayTo) && t.value.Cmp(amount) == 0 {
			u.to, u.value, u.index = t.to, t.value, t.index
			return u
		}
	}
	return u
}
