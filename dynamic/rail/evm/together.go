package evm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"store.example/agentstore/dynamic/rail"
)

// Several payments are settled by one transaction to Multicall3, which calls the token once for
// each and goes on where a call fails (package till, M11). It is the sender that the token sees,
// which transferWithAuthorization does not mind; receiveWithAuthorization would. Deposits into
// channels go together the same way, by calls to the escrow, and share no transaction with
// payments, which take half as much gas. Multicall3 hands each call
// all the gas that is left, but for a 64th: a payer that has code by the time of the block can burn
// what the others need. So payers with code share no transaction, and of one that ran out of gas
// nobody is blamed who is not shown to have had code in that block.

// MaxTogether is how many payments one transaction settles at most. Each takes 448 bytes of
// calldata.
const MaxTogether = 50

const (
	// multicall is where Multicall3 stands on all networks that have it.
	multicall = "0xcA11bde05977b3631167028862bE2a173976CA11"
	// lastsTogether is for how long a payment that shares a transaction has to be valid still.
	lastsTogether = 60 * time.Second
	// sharedGas is about what a transaction for several takes beside what each of them does.
	sharedGas = 30_000
)

var (
	multicallAddress = common.HexToAddress(multicall)
	selAggregate3    = selector("aggregate3((address,bool,bytes)[])")
	// results is what aggregate3 returns.
	results = abi.Arguments{{Type: mustTuple("tuple[]", "success", "bool", "returnData", "bytes")}}
)

// mustTuple is the ABI type of a tuple, or of several, of pairs of names and types.
func mustTuple(name string, parts ...string) abi.Type {
	var c []abi.ArgumentMarshaling
	for i := 0; i < len(parts); i += 2 {
		c = append(c, abi.ArgumentMarshaling{Name: parts[i], Type: parts[i+1]})
	}
	t, err := abi.NewType(name, "", c)
	if err != nil {
		panic(err)
	}
	return t
}

// call3 is one call by Multicall3.
type call3 struct {
	to      common.Address
	mayFail bool
	data    []byte
}

// aggregate3 is the calldata by which Multicall3 makes calls in their order. One that fails and may
// not fails all.
func aggregate3(calls ...call3) []byte {
	number := func(i int) []byte { return word(big.NewInt(int64(i))) }
	var items [][]byte
	for _, c := range calls {
		may := 0
		if c.mayFail {
			may = 1
		}
		item := append(addressWord(c.to), number(may)...)
		items = append(items, append(item, tail(3, c.data)...))
	}
	b := append(append(bytes.Clone(selAggregate3), number(32)...), number(len(items))...)
	at := 32 * len(items)
	for _, item := range items {
		b = append(b, number(at)...)
		at += len(item)
	}
	return append(b, bytes.Join(items, nil)...)
}

// aggregate3Call is the calldata by which Multicall3 settles payments in their order.
func (r *Rail) aggregate3Call(ps []*rail.Payment, mayFail bool) []byte {
	var calls []call3
	for _, p := range ps {
		to, data := r.plainCall(p)
		calls = append(calls, call3{to, mayFail, data})
	}
	return aggregate3(calls...)
}

// shared is how many payments a transaction of ours is for: as many as calls that may fail, which
// the one that pays for its wallet's deployment may not; 1 for one that is not to Multicall3.
func shared(s rail.Signed) int {
	var tx types.Transaction
	if err := tx.UnmarshalBinary(s.Raw); err != nil || tx.To() == nil || *tx.To() != multicallAddress ||
		len(tx.Data()) < 4+64 {
		return 1
	}
	data := tx.Data()[4+64:] // the offsets of the calls, then the calls
	n := int(binary.BigEndian.Uint32(tx.Data()[64:68]))
	if n == 0 || len(data) < 32*n {
		return 1
	}
	last := int(binary.BigEndian.Uint32(data[32*n-4:]))
	if len(data) < last+64 || data[last+63] == 0 {
		return 1
	}
	return n
}

// draftTogether prepares one transaction for several payments. The whole of it is simulated as it
// will be sent, which tells those that would fail; and, where nobody has asked a moment ago what
// one takes among several, with no failure allowed, which tells the gas it takes when none fails.
func (r *Rail) draftTogether(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if len(ps) > r.Info().Together {
		return nil, rail.ErrTogether
	}
	head, f, err := r.offers(ctx, nil)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if apart := unfit(ps, now, head.Time); apart != nil {
		return nil, apart
	}
	d := &draft{r: r, to: multicallAddress, data: r.aggregate3Call(ps, true), fees: f}
	overrides := []any{}
	if slices.ContainsFunc(ps, func(p *rail.Payment) bool { return stale(p, now, head.Time) }) {
		overrides = []any{map[string]string{}, blockTime(now)}
	}
	var gas hexutil.Uint64
	var out, data hexutil.Bytes
	codes := make([]hexutil.Bytes, len(ps))
	as := ethCall(r.relayer, d.to, d.data)
	known, most := r.knownTogether(ps), uint64(len(ps))*gasCap(ps[0], false)
	as["gas"] = hexutil.EncodeUint64(most)
	if known > 0 {
		as["gas"] = hexutil.EncodeUint64(margined(known))
	}
	sim := &call{method: "eth_call", params: append([]any{as, "latest"}, overrides...), out: &out}
	all := ethCall(r.relayer, d.to, r.aggregate3Call(ps, false))
	all["gas"] = hexutil.EncodeUint64(most)
	estimate := &call{method: "eth_estimateGas", params: append([]any{all, "latest"}, overrides...), out: &gas}
	counted, pending := r.countCalls("pending")
	balances, has := r.balanceCalls()
	must := append(append([]*call{sim}, counted...), balances...)
	if fee := r.dataFeeCall(len(d.data), &data); fee != nil {
		must = append(must, fee)
	}
	for i, p := range ps {
		must = append(must, &call{method: "eth_getCode", params: []any{common.HexToAddress(p.Payer).Hex(), "latest"},
			out: &codes[i]})
	}
	calls := append(must, estimate)
	if known > 0 {
		calls, gas = must, hexutil.Uint64(known)
	}
	err = r.rpc.batch(ctx, calls...)
	if apart := withCode(codes); err == nil && sim.err != nil && apart != nil {
		return nil, apart // one of them burns all that a simulation is given
	}
	if err := errors.Join(err, failed(must)); err != nil {
		return nil, fmt.Errorf("preparing a settlement of %d payments: %w", len(ps), err)
	}
	switch err := fails(out, codes); {
	case err != nil:
		r.learnTogether(0, ps) // perhaps it was the gas
		return nil, err
	case estimate.err != nil, uint64(gas) > most: // it is another block
		return nil, fmt.Errorf("%w: %d gas, %w", rail.ErrTogether, uint64(gas), errors.Join(estimate.err))
	case known == 0:
		r.learnTogether(uint64(gas), ps)
	}
	d.gas = min(margined(uint64(gas)), most)
	d.price = r.priced(uint64(gas), d.gas, head, f, dataFee(data))
	return d, r.choose(ctx, d, pending(), has())
}

// margined is a limit for what is expected to take some gas.
func margined(gas uint64) uint64 { return gas + gas/5 }

// An estimate of many payments runs them many times over, which is most of what their settlement
// asks of a node, so what one of them takes is believed for a while.
type estimate struct {
	at  time.Time
	gas uint64
}

const estimateFresh = 5 * time.Second

// knownTogether is what payments of one method take together by the newest estimate, 0 where that
// is not fresh.
func (r *Rail) knownTogether(ps []*rail.Payment) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	each := r.each[ps[0].Method]
	if each.gas == 0 || time.Since(each.at) > estimateFresh {
		return 0
	}
	return sharedGas + uint64(len(ps))*each.gas
}

// learnTogether keeps what payments were estimated to take together; nothing forgets it.
func (r *Rail) learnTogether(gas uint64, ps []*rail.Payment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.each, ps[0].Method)
	if gas > sharedGas {
		r.each[ps[0].Method] = estimate{at: time.Now(), gas: (gas-sharedGas)/uint64(len(ps)) + 1}
	}
}

// failed is the error of the first call that has one.
func failed(calls []*call) error {
	for _, k := range calls {
		if k.err != nil {
			return fmt.Errorf("%s: %w", k.method, k.err)
		}
	}
	return nil
}

// unfit are the payments that share no transaction whatever the chain says: those that are not
// plain transfers by a signature of 65 bytes, or deposits like the first, those that are about to
// expire, and a payer's second.
func unfit(ps []*rail.Payment, now, head time.Time) error {
	if head.After(now) {
		now = head
	}
	apart := &rail.Apart{Err: errors.New("its form, its time, or another payment of its payer's")}
	seen := map[common.Address]bool{}
	for i, p := range ps {
		payer := common.HexToAddress(p.Payer)
		_, plain := normal(p.Signature)
		if !plain || !announced(p) || p.Method != ps[0].Method || p.ValidBefore < now.Add(lastsTogether).Unix() ||
			seen[payer] {
			apart.Which = append(apart.Which, i)
		}
		seen[payer] = true
	}
	if len(apart.Which) == 0 {
		return nil
	}
	return apart
}

// result is what aggregate3 says of one call.
type result = struct {
	Success    bool
	ReturnData []byte
}

// resultsOf reads what aggregate3 returned.
func resultsOf(out []byte) ([]result, error) {
	vs, err := results.Unpack(out)
	if err != nil {
		return nil, errNoMulticall
	}
	return *abi.ConvertType(vs[0], new([]result)).(*[]result), nil
}

// fails reads what a simulation of aggregate3 returned and the payers' code: an *rail.Apart names
// the payments that would fail and those whose payer has code. What is no such answer comes from an
// address without the contract.
func fails(out []byte, codes []hexutil.Bytes) error {
	list, err := resultsOf(out)
	if err != nil {
		return fmt.Errorf("%w: %w", rail.ErrTogether, err)
	}
	if len(list) != len(codes) {
		return fmt.Errorf("%w: %d results of %d calls", rail.ErrTogether, len(list), len(codes))
	}
	apart := &rail.Apart{Err: errors.New("it would fail, or its payer has code")}
	for i, v := range list {
		if !v.Success || len(codes[i]) > 0 {
			apart.Which = append(apart.Which, i)
		}
	}
	if len(apart.Which) == 0 {
		return nil
	}
	return apart
}

// withCode names the payments whose payer has code.
func withCode(codes []hexutil.Bytes) error {
	apart := &rail.Apart{Err: errors.New("its payer has code")}
	for i, code := range codes {
		if len(code) > 0 {
			apart.Which = append(apart.Which, i)
		}
	}
	if len(apart.Which) == 0 {
		return nil
	}
	return apart
}

// renew prepares a replacement of a transaction for several payments: the same call with the same
// gas, whatever has become of some of them meanwhile.
func (r *Rail) renew(ctx context.Context, ps []*rail.Payment, d *draft, tx *types.Transaction, least *fees) (rail.Draft,
	error) {
	if tx.To() == nil || *tx.To() != multicallAddress || !bytes.Equal(tx.Data(), r.aggregate3Call(ps, true)) {
		return nil, fmt.Errorf("%w: the transaction to replace is for others", rail.ErrTogether)
	}
	head, f, err := r.offers(ctx, least)
	if err != nil {
		return nil, err
	}
	counted, pending := r.countCalls("pending")
	balances, has := r.balanceCalls()
	calls := append(counted, balances...)
	if err := errors.Join(r.rpc.batch(ctx, calls...), failed(calls)); err != nil {
		return nil, fmt.Errorf("preparing a replacement: %w", err)
	}
	d.to, d.data, d.gas, d.fees = multicallAddress, tx.Data(), tx.Gas(), f
	d.price = r.priced(d.gas, d.gas, head, f, new(big.Int))
	return d, r.choose(ctx, d, pending(), has())
}

// part is what a payment that a transaction for several did not move has of what that burnt: an
// equal part of all of it, or of what is left when those that it moved have theirs, whichever is
// more.
func part(burnt uint64, of, moved int, usual uint64) uint64 {
	up := func(n uint64, parts int) uint64 { return (n + uint64(parts) - 1) / uint64(parts) }
	rest := burnt - min(burnt, uint64(moved)*usual)
	return max(up(burnt, of), up(rest, max(1, of-moved)))
}
