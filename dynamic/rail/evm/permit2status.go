package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// stateCall asks whether a payment's authorization is spent, which spentBy reads.
func (r *Rail) stateCall(p *rail.Payment, at any, out *hexutil.Bytes) *call {
	return r.stateOf(common.HexToAddress(p.Payer), p.Nonce, at, out)
}

// stateOf is stateCall by a payer and a nonce.
func (r *Rail) stateOf(payer common.Address, nonce string, at any, out *hexutil.Bytes) *call {
	if decimalNonce(nonce) {
		return bitmapOf(payer, nonce, at, out)
	}
	n := common.HexToHash(nonce)
	data := bytes.Join([][]byte{selAuthState, addressWord(payer), n[:]}, nil)
	return &call{method: "eth_call", params: []any{ethCall(common.Address{}, r.asset, data), at}, out: out}
}

// spentBy reads an answer of 32 bytes to stateOf.
func spentBy(nonce string, answer []byte) bool {
	if decimalNonce(nonce) {
		return bitOf(nonce, answer)
	}
	return common.BytesToHash(answer) != (common.Hash{})
}

// useIn finds among the logs of a transaction of our own what it did with a payment's
// authorization.
func (r *Rail) useIn(p *rail.Payment, logs []entry) (use, bool) {
	if endsHold(p) || p.Method == rail.MethodHoldPermit {
		return r.holdIn(p, logs)
	}
	if isOwn(p) {
		return use{}, false
	}
	if !byPermit(p) {
		u, ok := uses(r.asset, logs)[authorizationOf(p)]
		return u, ok
	}
	for _, l := range r.unannounced(logs) {
		if u := transferOf(l); u.pays(p) && common.BytesToAddress(l.Topics[1][:]) == common.HexToAddress(p.Payer) {
			return u, true
		}
	}
	return use{}, false
}

// unannounced are the asset's Transfers among the logs of one transaction with no AuthorizationUsed
// directly before, which would make them another payment's.
func (r *Rail) unannounced(logs []entry) (out []entry) {
	announced := map[uint64]bool{}
	for _, l := range logs {
		if l.Address == r.asset && len(l.Topics) == 3 && l.Topics[0] == topicUsed {
			announced[uint64(l.Index)+1] = true
		}
	}
	for _, l := range logs {
		if l.Address == r.asset && !l.Removed && len(l.Topics) == 3 && l.Topics[0] == topicTransfer &&
			len(l.Data) == 32 && !announced[uint64(l.Index)] {
			out = append(out, l)
		}
	}
	return out
}

// transferOf is a Transfer as what a payment's authorization was used for.
func transferOf(l entry) use {
	return use{tx: l.Tx, block: uint64(l.Block), blockHash: l.BlockHash, index: uint64(l.Index),
		to: common.BytesToAddress(l.Topics[2][:]), value: new(big.Int).SetBytes(l.Data)}
}

// input is what matters of a transaction that was looked up.
type input struct {
	To   *common.Address `json:"to"`
	Data hexutil.Bytes   `json:"input"`
}

// carries reports whether a transaction settles a payment by Permit2: a call of the proxy for it,
// or a call of another contract that hands its nonce and its payer on.
func (in input) carries(p *rail.Payment) bool {
	payer, nonce := common.HexToAddress(p.Payer), permitNonce(p.Nonce)
	if in.To != nil && *in.To == proxyAddress {
		owner, n, ok := settled(in.Data)
		return ok && owner == payer && n == nonce
	}
	return bytes.Contains(in.Data, nonce[:]) && bytes.Contains(in.Data, payer[:])
}

// searchPermit finds what spent the nonce of a Permit2 payment, which is known to be spent: the
// Transfer in a transaction that carries it, its cancellation, or something that left no trace
// here.
func (r *Rail) searchPermit(ctx context.Context, p *rail.Payment, from uint64, v view) (*use, error) {
	payer, payTo := common.HexToAddress(p.Payer), common.HexToAddress(p.PayTo)
	for w, err := range r.windows(ctx, from, v.head.Number, topicTransfer.Hex(),
		common.BytesToHash(payer[:]).Hex(), common.BytesToHash(payTo[:]).Hex()) {
		if err != nil {
			return nil, err
		}
		u, err := r.carrier(ctx, p, w.logs)
		if u != nil || err != nil {
			return u, err
		}
	}
	nonce := permitNonce(p.Nonce)
	slot := new(big.Int).Rsh(nonce.Big(), 8)
	for w, err := range r.windowsAt(ctx, permit2Address, from, v.head.Number, topicInvalidated.Hex(),
		common.BytesToHash(payer[:]).Hex()) {
		if err != nil {
			return nil, err
		}
		for _, l := range w.logs {
			if len(l.Data) == 64 && !l.Removed && new(big.Int).SetBytes(l.Data[:32]).Cmp(slot) == 0 &&
				bitOf(p.Nonce, l.Data[32:]) {
				return r.dated(ctx, use{canceled: true, tx: l.Tx, block: uint64(l.Block), blockHash: l.BlockHash})
			}
		}
	}
	return r.elsewhere(ctx, p, v)
}

// carrier is the first of some Transfers that pays, in a transaction that carries the payment.
func (r *Rail) carrier(ctx context.Context, p *rail.Payment, transfers []entry) (*use, error) {
	var calls []*call
	inputs, receipts := make([]input, len(transfers)), make([]receipt, len(transfers))
	for i, l := range transfers {
		if len(l.Topics) != 3 || len(l.Data) != 32 {
			return nil, errors.New("a node returned a log that was not asked for")
		}
		if u := transferOf(l); !u.pays(p) {
			continue
		}
		calls = append(calls,
			&call{method: "eth_getTransactionByHash", params: []any{l.Tx.Hex()}, out: &inputs[i]},
			&call{method: "eth_getTransactionReceipt", params: []any{l.Tx.Hex()}, out: &receipts[i]})
	}
	for some := range slices.Chunk(calls, 100) {
		if err := errors.Join(r.rpc.batch(ctx, some...), failed(some)); err != nil {
			return nil, err
		}
	}
	for i, l := range transfers {
		for _, own := range r.unannounced(receipts[i].Logs) {
			if own.Index == l.Index && inputs[i].carries(p) {
				return r.dated(ctx, transferOf(l))
			}
		}
	}
	return nil, nil
}

// elsewhere is the use of a nonce that neither paid nor was cancelled by an event: it was spent on
// another permit. Nothing tells where; it is as deep as the oldest of three blocks at which it was
// spent.
func (r *Rail) elsewhere(ctx context.Context, p *rail.Payment, v view) (*use, error) {
	u := &use{block: v.head.Number, time: v.head.Time}
	blocks := []uint64{v.final}
	if v.deep != nil {
		blocks = append(blocks, v.deep.Number)
	}
	for _, n := range blocks {
		var state hexutil.Bytes
		k := r.stateCall(p, hexutil.EncodeUint64(n), &state)
		if err := errors.Join(r.rpc.batch(ctx, k), k.err); err != nil {
			return nil, fmt.Errorf("asking since when a nonce is spent: %w", err)
		}
		if n > 0 && n < u.block && spentBy(p.Nonce, state) {
			u.block = n
		}
	}
	return u, nil
}

// permitsOf finds which Transfers are payments by Permit2, by the calls of the proxy that made
// them: the nonce of each, by its transaction.
func (r *Rail) permitsOf(ctx context.Context, transfers []rail.Transfer) error {
	var calls []*call
	inputs := make([]input, len(transfers))
	for i, t := range transfers {
		if t.Nonce == "" {
			calls = append(calls, &call{method: "eth_getTransactionByHash", params: []any{t.Tx}, out: &inputs[i]})
		}
	}
	for some := range slices.Chunk(calls, 100) {
		if err := errors.Join(r.rpc.batch(ctx, some...), failed(some)); err != nil {
			return err
		}
	}
	for i := range transfers {
		t, in := &transfers[i], inputs[i]
		if t.Nonce != "" || in.To == nil || *in.To != proxyAddress {
			continue
		}
		if owner, nonce, ok := settled(in.Data); ok && owner.Hex() == t.Payer {
			t.Nonce, t.Method = nonce.Big().String(), methodPermit2
		}
	}
	return nil
}
