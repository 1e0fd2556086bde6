package evm

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// relayer is one of the accounts that pay for gas.
type relayer struct {
	address common.Address
	name    string // the address as Signed.Account spells it
	key     *ecdsa.PrivateKey
}

// counts are transactions by account, as Signed.Account spells it.
type counts map[string]uint64

// keyOf is the key of an account of ours, nil for another's.
func (r *Rail) keyOf(account string) *ecdsa.PrivateKey {
	for _, a := range r.relayers {
		if a.name == account {
			return a.key
		}
	}
	return nil
}

// countCalls ask for the transactions of every account up to a block.
func (r *Rail) countCalls(at any) ([]*call, func() counts) {
	calls, out := make([]*call, len(r.relayers)), make([]hexutil.Uint64, len(r.relayers))
	for i, a := range r.relayers {
		calls[i] = &call{method: "eth_getTransactionCount", params: []any{a.name, at}, out: &out[i]}
	}
	return calls, func() counts {
		n := counts{}
		for i, a := range r.relayers {
			n[a.name] = uint64(out[i])
		}
		return n
	}
}

// balanceCalls ask for what every account has.
func (r *Rail) balanceCalls() ([]*call, func() map[string]*big.Int) {
	calls, out := make([]*call, len(r.relayers)), make([]hexutil.Big, len(r.relayers))
	for i, a := range r.relayers {
		calls[i] = &call{method: "eth_getBalance", params: []any{a.name, "latest"}, out: &out[i]}
	}
	return calls, func() map[string]*big.Int {
		has := map[string]*big.Int{}
		for i, a := range r.relayers {
			has[a.name] = (*big.Int)(&out[i])
		}
		return has
	}
}

// Accounts implements rail.Rail. While the watcher runs it asks nothing.
func (r *Rail) Accounts(ctx context.Context) ([]rail.Account, error) {
	if len(r.relayers) == 0 {
		return nil, nil
	}
	mined, err := r.mined(ctx)
	if err != nil {
		return nil, err
	}
	var out []rail.Account
	for _, a := range r.accounts {
		out = append(out, rail.Account{Address: a, Mined: mined[a]})
	}
	return out, nil
}

// mined are the accounts' transactions at the newest block.
func (r *Rail) mined(ctx context.Context) (counts, error) {
	if s, ok := r.index.state(time.Now(), r.patience()); ok {
		return s.mined, nil
	}
	calls, read := r.countCalls("latest")
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return nil, fmt.Errorf("reading the relayer's transactions: %w", err)
	}
	for _, k := range calls {
		if k.err != nil {
			return nil, fmt.Errorf("reading the relayer's transactions: %w", k.err)
		}
	}
	return read(), nil
}

// Fuel implements rail.Rail. With a Settler there is none and it is never low. Beside the alarm,
// what does not pay for a settlement at the present fees is low.
func (r *Rail) Fuel(ctx context.Context) (*big.Int, bool, error) {
	sum := new(big.Int)
	if len(r.relayers) == 0 {
		return sum, false, nil
	}
	calls, read := r.balanceCalls()
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return nil, false, fmt.Errorf("reading the relayer's balance: %w", err)
	}
	for _, k := range calls {
		if k.err != nil {
			return nil, false, fmt.Errorf("reading the relayer's balance: %w", k.err)
		}
	}
	r.mu.Lock()
	need := r.need
	r.mu.Unlock()
	low := false
	for _, b := range read() {
		sum.Add(sum, b)
		low = low || b.Cmp(need) < 0 || r.cfg.GasAlarm != nil && b.Cmp(r.cfg.GasAlarm) < 0
	}
	return sum, low, nil
}
