package evm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// maxFunds bounds the memory of what payers had.
const maxFunds = 4096

// purse is what was read of a payer at one block.
type purse struct {
	block   uint64
	balance *big.Int
	spent   map[string]bool // nonce → whether it was spent by then
}

// Funds implements rail.Rail, in one round trip a payer and block. All is read of the block by its
// number, since "latest" may be two blocks to two calls, and a payment that left one of them and
// not the other would count twice or not at all.
func (r *Rail) Funds(ctx context.Context, payer string, nonces []string) (rail.Funds, error) {
	head, err := r.newest(ctx)
	r.mu.Lock()
	looked := r.looked
	r.mu.Unlock()
	if err == nil && head.Block < looked {
		// The watcher is behind what a look has seen: a payment that is credited already would be
		// in the balance still.
		head, err = r.Head(ctx)
	}
	if err != nil {
		return rail.Funds{}, err
	}
	who := common.HexToAddress(payer)
	r.mu.Lock()
	known, ok := r.purses[who]
	r.mu.Unlock()
	if !ok || known.block != head.Block {
		known = purse{block: head.Block}
	}
	var missing []string
	for _, n := range nonces {
		if _, ok := known.spent[n]; !ok {
			missing = append(missing, n)
		}
	}
	if known.balance == nil || len(missing) > 0 {
		if known, err = r.readPurse(ctx, who, known, missing); err != nil {
			return rail.Funds{}, fmt.Errorf("reading what %s has: %w", payer, err)
		}
		r.mu.Lock()
		if len(r.purses) >= maxFunds {
			clear(r.purses)
		}
		r.purses[who] = known
		r.mu.Unlock()
	}
	f := rail.Funds{Balance: new(big.Int).Set(known.balance), Spent: map[string]bool{}}
	for _, n := range nonces {
		if known.spent[n] {
			f.Spent[n] = true
		}
	}
	return f, nil
}

// readPurse reads a payer's balance and the state of some nonces, beside what was known of the same
// block.
func (r *Rail) readPurse(ctx context.Context, who common.Address, known purse, nonces []string) (purse, error) {
	at := hexutil.EncodeUint64(known.block)
	var balance hexutil.Bytes
	states := make([]hexutil.Bytes, len(nonces))
	ask := func(data []byte, out *hexutil.Bytes) *call {
		return &call{method: "eth_call", params: []any{ethCall(common.Address{}, r.asset, data), at}, out: out}
	}
	payer := addressWord(who)
	calls := []*call{ask(append(append([]byte{}, selBalanceOf...), payer...), &balance)}
	for i, n := range nonces {
		calls = append(calls, r.stateOf(who, n, at, &states[i]))
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return purse{}, err
	}
	next := purse{block: known.block, spent: map[string]bool{}}
	maps.Copy(next.spent, known.spent)
	for i, k := range calls {
		out := balance
		if i > 0 {
			out = states[i-1]
		}
		if k.err != nil {
			return purse{}, k.err
		}
		if len(out) != 32 {
			return purse{}, errors.New("the token's answer has an unexpected form")
		}
		if i > 0 {
			next.spent[nonces[i-1]] = spentBy(nonces[i-1], out)
		}
	}
	next.balance = new(big.Int).SetBytes(balance)
	return next, nil
}

// Final implements rail.Rail. A node that has no final block yet is an error.
func (r *Rail) Final(ctx context.Context) (rail.Head, error) {
	var final, head block
	k := finalCall(&final)
	if r.cfg.Finality > 0 {
		h := headCall(&head)
		if err := errors.Join(r.rpc.batch(ctx, h), h.err); err != nil {
			return rail.Head{}, fmt.Errorf("reading the newest block: %w", err)
		}
		k = blockCall(r.finalAt(head, final), &final)
	}
	if err := errors.Join(r.rpc.batch(ctx, k), k.err); err != nil {
		return rail.Head{}, fmt.Errorf("reading the newest final block: %w", err)
	}
	return rail.Head{Block: final.Number, Time: final.Time}, nil
}
