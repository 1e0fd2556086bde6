package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

const (
	// channelsAtOnce is how many channels one call reads.
	channelsAtOnce = 100
	// pieceOfEvents is how many blocks a piece of ChannelEvents has.
	pieceOfEvents = 10_000
)

// ReadChannels implements rail.Channels, by Multicall3 at one block. A node that has not got to
// that block refuses.
func (r *Rail) ReadChannels(ctx context.Context, ids []string, final bool) ([]rail.ChannelState, error) {
	head, err := r.newest(ctx)
	if final {
		head, err = r.Final(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(r.witnesses) == 0 {
		return r.channelsAt(ctx, ids, head)
	}
	var out []rail.ChannelState
	now := time.Now()
	for _, w := range r.witnesses {
		own, err := w.channelsAt(ctx, ids, head)
		silent := r.heard(w, err, now)
		if err != nil && now.Sub(silent) < r.cfg.Silence {
			return nil, err
		}
		if err == nil {
			out = lesser(out, own)
		}
	}
	if out == nil && len(ids) > 0 {
		return nil, errors.New("no node tells of channels")
	}
	return out, nil
}

// lesser is the less of what two nodes say of channels at one block: less in them, and more of it
// gone.
func lesser(a, b []rail.ChannelState) []rail.ChannelState {
	if a == nil {
		return b
	}
	for i := range a {
		x, y := &a[i], b[i]
		x.Balance, x.Claimed = min(x.Balance, y.Balance), max(x.Claimed, y.Claimed)
		x.RefundNonce = max(x.RefundNonce, y.RefundNonce)
		if y.Withdrawing > x.Withdrawing {
			x.Withdrawing, x.Asked = y.Withdrawing, y.Asked
		}
	}
	return a
}

// channelsAt reads channels at a block by the word of whichever node answers.
func (r *Rail) channelsAt(ctx context.Context, ids []string, head rail.Head) ([]rail.ChannelState, error) {
	out := make([]rail.ChannelState, 0, len(ids))
	for len(out) < len(ids) {
		some := ids[len(out):min(len(ids), len(out)+channelsAtOnce)]
		var calls []call3
		for _, id := range some {
			h := common.HexToHash(id)
			for _, sel := range [][]byte{selChannel, selWithdrawal, selRefunds} {
				calls = append(calls, call3{escrowAddress, false, append(bytes.Clone(sel), h[:]...)})
			}
		}
		var answer hexutil.Bytes
		if err := r.rpc.one(ctx, &answer, "eth_call", ethCall(common.Address{}, multicallAddress, aggregate3(calls...)),
			hexutil.EncodeUint64(head.Block)); err != nil {
			return nil, fmt.Errorf("reading channels: %w", err)
		}
		words, err := wordsOf(answer, len(calls))
		if err != nil {
			return nil, fmt.Errorf("reading channels: %w", err)
		}
		for i, id := range some {
			c, w, n := words[3*i], words[3*i+1], words[3*i+2]
			if len(c) != 2 || len(w) != 2 || len(n) != 1 {
				return nil, errors.New("reading channels: an answer has an unexpected form")
			}
			s := rail.ChannelState{ID: id, Block: head.Block, Time: head.Time, Balance: rail.Atomic(c[0]),
				Claimed: rail.Atomic(c[1]), RefundNonce: uint64(rail.Atomic(n[0]))}
			if w[1].Sign() > 0 {
				s.Withdrawing, s.Asked = rail.Atomic(w[0]), time.Unix(rail.Atomic(w[1]), 0).UTC()
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// wordsOf are the answers of aggregate3 to so many calls that all succeeded, as whole words.
func wordsOf(answer []byte, calls int) ([][]*big.Int, error) {
	unpacked, err := results.Unpack(answer)
	if err != nil || len(unpacked) != 1 {
		return nil, errors.New("an answer has an unexpected form")
	}
	list, ok := unpacked[0].([]struct {
		Success    bool   `json:"success"`
		ReturnData []byte `json:"returnData"`
	})
	if !ok || len(list) != calls {
		return nil, errors.New("an answer has an unexpected form")
	}
	out := make([][]*big.Int, calls)
	for i, one := range list {
		if !one.Success || len(one.ReturnData)%32 != 0 {
			return nil, errors.New("an answer has an unexpected form")
		}
		for at := 0; at < len(one.ReturnData); at += 32 {
			out[i] = append(out[i], new(big.Int).SetBytes(one.ReturnData[at:at+32]))
		}
	}
	return out, nil
}

// ChannelEvents implements rail.Channels.
func (r *Rail) ChannelEvents(ctx context.Context, s rail.Span,
	kinds ...rail.EventKind) iter.Seq2[rail.ChannelEvents, error] {
	var topics []string
	for _, k := range kinds {
		topics = append(topics, topicsOfEscrow[k].Hex())
	}
	return func(yield func(rail.ChannelEvents, error) bool) {
		head, err := r.Head(ctx)
		if err == nil && head.Block < s.To {
			err = errBehind // what such a node knows no logs of is not empty
		}
		if s.To == 0 {
			s.To = head.Block
		}
		for err == nil && !s.Read() {
			to := min(s.To, s.From+pieceOfEvents-1)
			piece := rail.ChannelEvents{Rest: rail.Span{From: to + 1, To: s.To}}
			for w, failed := range r.windowsAt(ctx, escrowAddress, s.From, to, topics) {
				if err = failed; err != nil {
					break
				}
				for _, l := range w.logs {
					if e, ok := r.channelEvent(l, kinds); ok {
						piece.Events = append(piece.Events, e)
					}
				}
			}
			if err == nil && !yield(piece, nil) {
				return
			}
			s.From = to + 1
		}
		if err != nil {
			yield(rail.ChannelEvents{}, fmt.Errorf("reading events of channels: %w", err))
		}
	}
}

// channelEvent reads an event of the escrow. A channel that was funded is one of this store's only
// if its id says so.
func (r *Rail) channelEvent(l entry, kinds []rail.EventKind) (e rail.ChannelEvent, ok bool) {
	if len(l.Topics) < 2 || l.Removed || l.Address != escrowAddress {
		return e, false
	}
	i := slices.IndexFunc(kinds, func(k rail.EventKind) bool { return topicsOfEscrow[k] == l.Topics[0] })
	if i < 0 {
		return e, false
	}
	e = rail.ChannelEvent{Kind: kinds[i], ID: l.Topics[1].Hex(), Tx: l.Tx.Hex(), Block: uint64(l.Block)}
	var words []*big.Int
	for at := 0; at+32 <= len(l.Data); at += 32 {
		words = append(words, new(big.Int).SetBytes(l.Data[at:at+32]))
	}
	switch e.Kind {
	case rail.ChannelClaimed:
		if len(words) != 2 {
			return e, false
		}
		e.Total = rail.Atomic(words[1])
	case rail.ChannelFunded:
		if len(words) != 7 {
			return e, false
		}
		a := func(i int) string { return common.BigToAddress(words[i]).Hex() }
		e.Channel = rail.Channel{ID: e.ID, Payer: a(0), Signer: a(1), Receiver: a(2), Authorizer: a(3), Token: a(4),
			Delay: rail.Atomic(words[5]), Salt: common.BigToHash(words[6]).Hex()}
		if words[1].Sign() == 0 {
			e.Channel.Signer = ""
		}
		want := rail.Requirement{Scheme: rail.SchemeVouchers, Network: r.cfg.Network, PayTo: r.cfg.PayTo,
			Asset: r.cfg.Asset}
		return e, r.channelID(&e.Channel).Hex() == e.ID && r.checkChannel(&e.Channel, want) == nil
	}
	return e, true
}

// Claimed implements rail.Channels.
func (r *Rail) Claimed(ctx context.Context) (claimed, moved int64, err error) {
	var out hexutil.Bytes
	data := bytes.Join([][]byte{selReceiver, addressWord(r.payTo), addressWord(r.asset)}, nil)
	if err := r.rpc.one(ctx, &out, "eth_call", ethCall(common.Address{}, escrowAddress, data), "latest"); err != nil {
		return 0, 0, fmt.Errorf("reading what was claimed: %w", err)
	}
	if len(out) != 64 {
		return 0, 0, errors.New("reading what was claimed: the answer has an unexpected form")
	}
	return rail.Atomic(new(big.Int).SetBytes(out[:32])), rail.Atomic(new(big.Int).SetBytes(out[32:])), nil
}

// Simulate implements rail.Channels. Each row is tried with as much gas as it is given in a claim.
func (r *Rail) Simulate(ctx context.Context, rows []rail.VoucherClaim) ([]error, error) {
	failing := make([]error, len(rows))
	calls := make([]*call, len(rows))
	for i := range rows {
		data, err := r.claims(rows[i : i+1])
		if err != nil {
			return nil, err
		}
		try := ethCall(r.relayer, escrowAddress, data)
		try["gas"] = hexutil.EncodeUint64(gasOfClaims + gasOfClaim)
		calls[i] = &call{method: "eth_call", params: []any{try, "latest"}}
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return nil, fmt.Errorf("trying claims: %w", err)
	}
	for i, k := range calls {
		why, err := triedCall(k, nil)
		if err != nil {
			return nil, fmt.Errorf("trying a claim: %w", err)
		}
		if why != "" {
			failing[i] = batch("claim_simulation_failed", "%s", why)
		}
	}
	return failing, nil
}
