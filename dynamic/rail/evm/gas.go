package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/dynamic/rail"
)

// gasCaps is how much gas one settlement may take at most, by what pays. A wallet that is deployed
// by its own payment takes more.
var gasCaps = []struct {
	undeployed bool
	gas        uint64
}{
	{false, 300_000},
	{true, 600_000},
}

// gasCap is the row of gasCaps for a payment, whose payer has code or has none.
func gasCap(p *rail.Payment, coded bool) uint64 {
	if isOwn(p) {
		return claimsGas(p)
	}
	_, wrapped := unwrap(p.Signature)
	wrapped = wrapped && (isHold(p) || !byPermit(p))
	for _, c := range gasCaps {
		if c.undeployed == (wrapped && !coded) {
			return c.gas
		}
	}
	panic("evm: no cap of gas")
}

// txBytes is about what a settlement is long beside its calldata.
const txBytes = 200

// codeHash names code; none has no name.
func codeHash(code []byte) string {
	if len(code) == 0 {
		return ""
	}
	return crypto.Keccak256Hash(code).Hex()
}

func payers(ref *rail.Refusal) *rail.Refusal {
	ref.Payer = true
	return ref
}

// tooLittle refuses a payment for want of money or of an allowance, which is its payer's doing;
// signed says that the payer is shown to have signed.
func tooLittle(reason string, signed bool, format string, args ...any) *rail.Refusal {
	ref := payers(refuse(reason, format, args...))
	ref.Short = signed
	return ref
}

// worth is an amount of wei in atomic units of the asset, rounded up.
func (r *Rail) worth(wei *big.Int) int64 {
	n := new(big.Int).Mul(wei, big.NewInt(r.cfg.CoinPrice))
	n.Add(n, big.NewInt(1e18-1)).Div(n, big.NewInt(1e18))
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

// priced is the price of a settlement that is expected to take some gas and may take a limit.
func (r *Rail) priced(expected, limit uint64, head block, f fees, data *big.Int) rail.Price {
	fee := new(big.Int).Set(f.tip)
	if head.BaseFee != nil {
		fee.Add(fee, head.BaseFee)
	}
	of := func(gas uint64) int64 {
		wei := new(big.Int).Mul(new(big.Int).SetUint64(gas), fee)
		return r.worth(wei.Add(wei, data))
	}
	return rail.Price{Gas: limit, Cost: of(expected), Most: of(limit)}
}

// dataFeeCall asks what the layer below takes for a transaction with so much calldata; nil where
// nothing is taken.
func (r *Rail) dataFeeCall(calldata int, out *hexutil.Bytes) *call {
	if r.cfg.DataFee == "" {
		return nil
	}
	data := append(append([]byte{}, selDataFee...), word(big.NewInt(int64(calldata+txBytes)))...)
	return &call{method: "eth_call", params: []any{ethCall(common.Address{}, common.HexToAddress(r.cfg.DataFee), data),
		"latest"}, out: out}
}

// dataFee reads the answer to dataFeeCall. A local chain, which has no such contract, answers
// nothing at all.
func dataFee(out []byte) *big.Int {
	if len(out) != 32 {
		return new(big.Int)
	}
	return new(big.Int).SetBytes(out)
}

// transferBytes is the calldata of a settlement with a signature of 65 bytes.
const transferBytes = 4 + 9*32

// Standing implements rail.Rail, in one round trip.
func (r *Rail) Standing(ctx context.Context) (rail.Standing, error) {
	var head block
	var tip hexutil.Big
	var paused, blocked, data hexutil.Bytes
	ask := func(out *hexutil.Bytes, data []byte) *call {
		return &call{method: "eth_call", params: []any{ethCall(common.Address{}, r.asset, data), "latest"}, out: out}
	}
	must := []*call{headCall(&head)}
	balances, has := r.balanceCalls()
	if r.cfg.Settler == nil {
		must = append(append(must, &call{method: "eth_maxPriorityFeePerGas", out: &tip}), balances...)
		if fee := r.dataFeeCall(transferBytes, &data); fee != nil {
			must = append(must, fee)
		}
	}
	// A token that knows neither pause nor blocked accounts reverts or answers nothing.
	may := []*call{ask(&paused, selPaused),
		ask(&blocked, append(append([]byte{}, selBlocked...), addressWord(r.payTo)...))}
	if err := r.rpc.batch(ctx, append(must, may...)...); err != nil {
		return rail.Standing{}, fmt.Errorf("reading whether %s settles: %w", r.cfg.Network, err)
	}
	for _, k := range must {
		if k.err != nil {
			return rail.Standing{}, fmt.Errorf("reading whether %s settles: %s: %w", r.cfg.Network, k.method, k.err)
		}
	}
	yes := func(k *call, answer []byte) bool { return k.err == nil && len(answer) == 32 && answer[31] == 1 }
	s := rail.Standing{Head: head.Time}
	switch {
	case yes(may[0], paused):
		s.Out = "its " + r.cfg.Symbol + " is paused"
	case yes(may[1], blocked):
		s.Out = "its " + r.cfg.Symbol + " does not move to this store's account"
	}
	if r.cfg.Settler != nil {
		s.Cost, s.Priced = r.cfg.SettleCost, true
		return s, nil
	}
	f := offer(head.BaseFee, (*big.Int)(&tip))
	gas := r.usual()
	p := r.priced(gas, gas, head, f, dataFee(data))
	s.Cost, s.Priced = p.Cost, r.cfg.CoinPrice > 0
	if f.cap.Cmp(r.cfg.MaxFee) > 0 {
		f.cap = r.cfg.MaxFee
	}
	s.Need = new(big.Int).Mul(new(big.Int).SetUint64(gas+gas/2), f.cap)
	s.Need.Add(s.Need, dataFee(data))
	s.Balance = new(big.Int)
	for _, b := range has() {
		if b.Cmp(s.Need) >= 0 || len(r.relayers) == 1 {
			s.Balance.Add(s.Balance, b)
		}
	}
	r.mu.Lock()
	r.need = s.Need
	r.mu.Unlock()
	switch {
	case s.Out != "":
	case r.tooDear(head):
		s.Out = "its gas costs more than this store pays"
	case s.Balance.Cmp(s.Need) < 0:
		s.Out = "the store's account that pays for gas there is empty"
	}
	return s, nil
}

// tooDear reports whether a block asks for more than the ceiling, so that no transaction of ours
// would be in it.
func (r *Rail) tooDear(head block) bool {
	return head.BaseFee != nil && head.BaseFee.Cmp(r.cfg.MaxFee) >= 0
}

// usual is what a settlement takes: what the newest estimate said, else what is expected.
func (r *Rail) usual() uint64 {
	return cmp.Or(r.alone.Load(), r.cfg.Gas)
}

// reverts lists the settlements among signed that are in a block and did not move a payment. A
// number that another transaction took has no receipt of ours; a node that cannot say is an error.
func (r *Rail) reverts(ctx context.Context, p *rail.Payment, signed []rail.Signed, mined counts) ([]rail.Revert,
	error) {
	var calls []*call
	var receipts []*receipt
	var of []int
	for _, s := range signed[max(0, len(signed)-maxOwn):] {
		if s.ID != "" && !s.Fill && r.mine(s) && s.Sequence < mined[s.Account] {
			c := new(receipt)
			receipts, of = append(receipts, c), append(of, shared(s))
			calls = append(calls, &call{method: "eth_getTransactionReceipt", params: []any{s.ID}, out: c})
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	// A node that is indexing a new block, which takes it some milliseconds, says so of what is not
	// in it.
	for tries := 0; ; tries++ {
		if err := r.rpc.batch(ctx, calls...); err != nil {
			return nil, err
		}
		busy := slices.ContainsFunc(calls, func(k *call) bool {
			return k.err != nil && strings.Contains(k.err.Error(), "indexing is in progress")
		})
		if !busy || tries == 10 {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var list []rail.Revert
	for i, k := range calls {
		switch {
		case errors.Is(k.err, rail.ErrNodeNull):
		case k.err != nil:
			return nil, fmt.Errorf("%s: %w", k.method, k.err)
		default:
			logs := receipts[i].Logs
			if _, moved := r.useIn(p, logs); !moved && (receipts[i].Status == 0 || of[i] > 1) {
				list = append(list, r.revert(receipts[i], of[i], len(uses(r.asset, logs))))
			}
		}
	}
	return list, nil
}

// revert is what a receipt says of a payment that its transaction did not move, which was for so
// many and moved others.
func (r *Rail) revert(c *receipt, of, moved int) rail.Revert {
	wei := new(big.Int)
	if c.GasPrice != nil {
		wei.Mul((*big.Int)(c.GasPrice), new(big.Int).SetUint64(uint64(c.GasUsed)))
	}
	if c.DataFee != nil {
		wei.Add(wei, (*big.Int)(c.DataFee))
	}
	v := rail.Revert{Tx: c.Tx.Hex(), Block: uint64(c.Block), Gas: uint64(c.GasUsed), Cost: r.worth(wei)}
	if of > 1 {
		v.Of, v.Moved, v.Gas = of, moved, part(v.Gas, of, moved, r.usual())
		// Rounded up, so that the parts are no less than the whole.
		wei.Mul(wei, new(big.Int).SetUint64(v.Gas)).Div(wei, new(big.Int).SetUint64(max(1, uint64(c.GasUsed))))
		v.Cost = r.worth(wei.Add(wei, common.Big1))
	}
	return v
}

// acquitted reports whether a payment that a transaction for several did not move lacked gas that
// another of them took, and neither its payer's code nor its payer had a hand in it. Where the
// transaction moved nothing at all it ran out of gas, as it fails in no other way: then only who
// may have had code in that block could have done it.
func acquitted(v rail.Revert, code []byte, acted, moved, goes bool) bool {
	return v.Of > 1 && len(code) == 0 && !acted && (v.Moved == 0 || goes && !moved)
}

// settledMeanwhile reports the text of a token that refuses an authorization for what became of it,
// or for its time.
func settledMeanwhile(why string) bool {
	switch refuseRevert(why).Reason {
	case reasonUsed, reasonValidBefore, reasonValidAfter, reasonPermitNonce, reasonPermitExpired, reasonPermitTooEarly:
		return true
	}
	return false
}
