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

// Explain implements rail.Rail, by the state at the end of the block in which the settlement
// reverted, and by what the payer had at its place in the block: of a token that names every
// movement in a Transfer, that follows from the balance before the block. Where the token itself is
// well and the payer has code, or would have by this payment, that code refused its signature or
// took more gas than it was given: nothing else of a settlement is in anybody's hand. Where the
// same settlement would go through at the end of the block, what stood in its way was there in
// between: an allowance that was moved, by whoever handed in the payer's permits, or code that a
// payer who acted in that very block had in the middle of it. Of one among several that is not
// shown, and says nothing of the network either.
func (r *Rail) Explain(ctx context.Context, p *rail.Payment, v rail.Revert) (rail.Cause, error) {
	if isOwn(p) {
		// What the escrow refuses is the doing of some channel's payer, and is no word about the
		// network.
		return rail.Cause{Payer: true, Reason: "the escrow refused it"}, nil
	}
	fail := func(err error) (rail.Cause, error) {
		return rail.Cause{}, fmt.Errorf("finding out why %s reverted: %w", v.Tx, err)
	}
	at, prior := hexutil.EncodeUint64(v.Block), hexutil.EncodeUint64(v.Block-min(v.Block, 1))
	payer := common.HexToAddress(p.Payer)
	name := common.BytesToHash(payer[:]).Hex()
	var e evidence
	ask := func(at string, answer *hexutil.Bytes, parts ...[]byte) *call {
		return &call{method: "eth_call", out: answer,
			params: []any{ethCall(common.Address{}, r.asset, bytes.Join(parts, nil)), at}}
	}
	again, result, deploys, err := r.again(ctx, p, at)
	if err != nil {
		return fail(err)
	}
	must := []*call{
		{method: "eth_getCode", params: []any{payer.Hex(), at}, out: &e.code},
		ask(at, &e.balance, selBalanceOf, addressWord(payer)),
	}
	if byPermit(p) {
		must = append(must, ask(at, &e.allowed, selAllowance, addressWord(payer), addressWord(permit2Address)))
	}
	may := []*call{ask(at, &e.paused, selPaused), ask(at, &e.blocked, selBlocked, addressWord(r.payTo)),
		{method: "eth_getTransactionReceipt", params: []any{v.Tx}, out: &e.ours}}
	acts := []*call{
		{method: "eth_getTransactionCount", params: []any{payer.Hex(), prior}, out: &e.before},
		{method: "eth_getTransactionCount", params: []any{payer.Hex(), at}, out: &e.after},
		ask(prior, &e.had, selBalanceOf, addressWord(payer)),
		r.logsCall(v.Block, v.Block, &e.left, topicTransfer.Hex(), name),
		r.logsCall(v.Block, v.Block, &e.came, topicTransfer.Hex(), nil, name),
	}
	calls := slices.Concat(must, []*call{again}, may, acts)
	if err := errors.Join(r.rpc.batch(ctx, calls...), failed(must)); err != nil {
		return fail(err)
	}
	why, err := result()
	if err != nil {
		return fail(err)
	}
	yes := func(k *call, answer []byte) bool { return k.err == nil && len(answer) == 32 && answer[31] == 1 }
	e.deploys, e.out = deploys, yes(may[0], e.paused) || yes(may[1], e.blocked)
	e.placed, e.read = may[2].err == nil, failed(acts) == nil
	return e.cause(p, v, why), nil
}

// evidence is what was read about a settlement that reverted in a block.
type evidence struct {
	code, balance, allowed, had, paused, blocked hexutil.Bytes
	before, after                                hexutil.Uint64 // the payer's transactions
	left, came                                   []entry        // the payer's transfers in the block
	ours                                         receipt

	out          bool // the token is paused, or blocks payTo
	deploys      bool // the settlement would have deployed the payer's wallet
	placed, read bool // the receipt was read; and what the payer did
}

// cause judges a revert. why is what the same settlement fails with at the end of the block, empty
// where it does not.
func (e *evidence) cause(p *rail.Payment, v rail.Revert, why string) rail.Cause {
	goes, acted := why == "", !e.read || e.before != e.after
	if goes {
		why = "reverted without a reason"
	}
	short := func(balance []byte) bool { return short(balance, p) }
	switch {
	case e.out:
		return rail.Cause{Reason: why}
	case settledMeanwhile(why):
		// Somebody else was first, or it came too late: what the chain says of the authorization
		// tells which.
		return rail.Cause{}
	case short(e.balance), short(e.allowed), e.deploys, len(e.code) > 0,
		e.placed && e.read && short(heldAt(e.ours.Place, e.had, e.left, e.came)):
		return rail.Cause{Payer: true, Reason: why}
	case acquitted(v, e.code, acted, len(e.left) > 0 || len(e.came) > 0, goes):
		return rail.Cause{Others: true}
	case goes && v.Of <= 1 && e.placed && e.read && (byPermit(p) || acted):
		return rail.Cause{Payer: true, Reason: why}
	case acted, len(e.left) > 0, len(e.came) > 0 && !e.placed:
		return rail.Cause{}
	}
	return rail.Cause{Reason: why}
}

// again tries the settlement of a payment once more at a block. The function that is returned reads
// why it would fail, empty where it would not; deploys says that the payer's wallet is not there,
// and would be deployed by it.
func (r *Rail) again(ctx context.Context, p *rail.Payment, at string) (k *call, result func() (string, error),
	deploys bool, err error) {
	to, data := r.plainCall(p)
	try := ethCall(r.senderOf(p), to, data)
	gas := gasCap(p, true)
	if e, is := unfold(p.Signature); is && (isHold(p) || !byPermit(p)) {
		var code hexutil.Bytes
		if err := r.rpc.one(ctx, &code, "eth_getCode", common.HexToAddress(p.Payer).Hex(), at); err != nil {
			return nil, nil, false, err
		}
		if deploys = len(code) == 0; deploys && isHold(p) {
			gas = gasCap(p, false)
		} else if deploys {
			try = ethCall(r.relayer, multicallAddress, r.trial(p, e, r.separator))
			gas = gasCap(p, false) + trialGas
		}
	}
	try["gas"] = hexutil.EncodeUint64(gas)
	var out hexutil.Bytes
	k = &call{method: "eth_call", params: []any{try, at}, out: &out}
	return k, func() (string, error) {
		if !deploys || isHold(p) {
			return triedCall(k, nil)
		}
		return triedCall(k, append([]byte{}, out...)) // not nil, whatever the node says
	}, deploys, nil
}

// short reports a balance that does not cover a payment. One that was not read covers all.
func short(balance []byte, p *rail.Payment) bool {
	return len(balance) == 32 && new(big.Int).SetBytes(balance).Cmp(p.Amount) < 0
}

// heldAt is the balance before the transaction at a place in a block, by the one before the block
// and the transfers in it. It is nil where that was not read, or where the transfers do not add up
// to a balance.
func heldAt(place hexutil.Uint64, had []byte, out, in []entry) []byte {
	if len(had) != 32 {
		return nil
	}
	sum := new(big.Int).SetBytes(had)
	for _, l := range out {
		if l.Place < place {
			sum.Sub(sum, new(big.Int).SetBytes(l.Data))
		}
	}
	for _, l := range in {
		if l.Place < place {
			sum.Add(sum, new(big.Int).SetBytes(l.Data))
		}
	}
	if sum.Sign() < 0 || sum.BitLen() > 256 {
		return nil
	}
	return sum.FillBytes(make([]byte, 32))
}
