package evm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/dynamic/rail"
)

const (
	firstWindow = 2000 // blocks in one request for logs, halved while a node finds it too much
	maxPayers   = 100  // payers in one request for authorizations
)

// window is the logs of a range of blocks.
type window struct {
	from, to uint64
	logs     []entry
}

// windows reads logs range by range, in order. Nodes limit the blocks or the results of one
// request, each in its own words; whatever a node refuses is asked again in halves, down to one
// block.
func (r *Rail) windows(ctx context.Context, from, to uint64, topics ...any) iter.Seq2[window, error] {
	return r.windowsAt(ctx, r.asset, from, to, topics...)
}

// windowsAt is windows of another contract's logs.
func (r *Rail) windowsAt(ctx context.Context, contract common.Address, from, to uint64,
	topics ...any) iter.Seq2[window, error] {
	return func(yield func(window, error) bool) {
		for size := uint64(firstWindow); from <= to; {
			w := window{from: from, to: min(to, from+size-1)}
			k := logsCall(contract, w.from, w.to, &w.logs, topics...)
			if err := r.rpc.batch(ctx, k); err != nil {
				yield(window{}, err)
				return
			}
			if k.err != nil {
				if _, refused := errors.AsType[*rail.NodeError](k.err); refused && w.to > w.from {
					size = max(1, (w.to-w.from+1)/2)
					continue
				}
				yield(window{}, fmt.Errorf("reading logs of blocks %d to %d: %w", w.from, w.to, k.err))
				return
			}
			if !yield(w, nil) {
				return
			}
			from, size = w.to+1, min(2*size, firstWindow)
		}
	}
}

// Incoming implements rail.Rail. A piece is of at most 10,000 blocks.
func (r *Rail) Incoming(ctx context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return func(yield func(rail.Piece, error) bool) {
		head, err := r.Head(ctx)
		if err == nil && head.Block < s.To {
			err = errBehind // what such a node knows no logs of is not empty
		}
		if err != nil {
			yield(rail.Piece{}, err)
			return
		}
		if s.To == 0 {
			s.To = head.Block
		}
		rail.Ascending(s, func(from, to uint64) iter.Seq2[rail.Transfer, error] {
			return r.listed(ctx, from, to)
		})(yield)
	}
}

// listed are the transfers in the blocks from one to another.
func (r *Rail) listed(ctx context.Context, from, to uint64) iter.Seq2[rail.Transfer, error] {
	return func(yield func(rail.Transfer, error) bool) {
		for w, err := range r.windows(ctx, from, to, topicTransfer.Hex(), nil, common.BytesToHash(r.payTo[:]).Hex()) {
			var ts []rail.Transfer
			if err == nil {
				ts, err = r.transfers(ctx, w)
			}
			if err != nil {
				yield(rail.Transfer{}, fmt.Errorf("listing transfers: %w", err))
				return
			}
			for _, t := range ts {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// transfers turns a window's Transfer logs into transfers, with the nonce of the AuthorizationUsed
// directly before and the time of the block.
func (r *Rail) transfers(ctx context.Context, w window) ([]rail.Transfer, error) {
	type place struct {
		block common.Hash
		index uint64
	}
	payers := map[common.Hash]bool{}
	times := map[uint64]*block{}
	for _, l := range w.logs {
		if len(l.Topics) != 3 || len(l.Data) != 32 || l.Removed {
			return nil, errors.New("a node returned a log that was not asked for")
		}
		payers[l.Topics[1]] = true
		times[uint64(l.Block)] = &block{}
	}
	if len(payers) == 0 {
		return nil, nil
	}
	var names []string
	for h := range payers {
		names = append(names, h.Hex())
	}
	used := map[place]entry{}
	for len(names) > 0 {
		n := min(len(names), maxPayers)
		for v, err := range r.windows(ctx, w.from, w.to, topicUsed.Hex(), names[:n]) {
			if err != nil {
				return nil, err
			}
			for _, l := range v.logs {
				used[place{l.BlockHash, uint64(l.Index)}] = l
			}
		}
		names = names[n:]
	}
	var calls []*call
	for number, b := range times {
		calls = append(calls, blockCall(number, b))
	}
	for len(calls) > 0 {
		n := min(len(calls), 100)
		if err := r.rpc.batch(ctx, calls[:n]...); err != nil {
			return nil, err
		}
		for _, k := range calls[:n] {
			if k.err != nil {
				return nil, k.err
			}
		}
		calls = calls[n:]
	}
	ts := make([]rail.Transfer, 0, len(w.logs))
	for _, l := range w.logs {
		t := rail.Transfer{
			Network: r.cfg.Network, Tx: l.Tx.Hex(), LogIndex: uint64(l.Index), Block: uint64(l.Block),
			Time:  times[uint64(l.Block)].Time,
			Payer: common.BytesToAddress(l.Topics[1][:]).Hex(), Amount: new(big.Int).SetBytes(l.Data),
		}
		u, ok := used[place{l.BlockHash, uint64(l.Index) - 1}]
		if ok && u.Tx == l.Tx && len(u.Topics) == 3 && u.Topics[1] == l.Topics[1] {
			t.Nonce, t.Method = u.Topics[2].Hex(), method
		}
		ts = append(ts, t)
	}
	return ts, r.permitsOf(ctx, ts)
}
