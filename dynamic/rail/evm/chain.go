package evm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// errBehind is returned while answers contradict each other, because a node is behind or a
// reorganisation is under way.
var errBehind = errors.New("the node's answers do not belong to one chain")

// block is what matters of a block.
type block struct {
	Number       uint64
	Hash, Parent common.Hash
	Time         time.Time
	BaseFee      *big.Int // nil before London
}

// UnmarshalJSON reads a node's block object.
func (b *block) UnmarshalJSON(data []byte) error {
	var w struct {
		Number  *hexutil.Uint64 `json:"number"`
		Hash    *common.Hash    `json:"hash"`
		Parent  common.Hash     `json:"parentHash"`
		Time    hexutil.Uint64  `json:"timestamp"`
		BaseFee *hexutil.Big    `json:"baseFeePerGas"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.Number == nil || w.Hash == nil || w.Time > 1<<40 {
		return errors.New("not a sealed block")
	}
	*b = block{uint64(*w.Number), *w.Hash, w.Parent, time.Unix(int64(w.Time), 0).UTC(), (*big.Int)(w.BaseFee)}
	return nil
}

// entry is a log.
type entry struct {
	Address   common.Address `json:"address"`
	Topics    []common.Hash  `json:"topics"`
	Data      hexutil.Bytes  `json:"data"`
	Block     hexutil.Uint64 `json:"blockNumber"`
	BlockHash common.Hash    `json:"blockHash"`
	Tx        common.Hash    `json:"transactionHash"`
	Place     hexutil.Uint64 `json:"transactionIndex"` // of Tx in the block
	Index     hexutil.Uint64 `json:"logIndex"`
	Removed   bool           `json:"removed"`
}

// receipt is what matters of a transaction's receipt.
type receipt struct {
	Tx        common.Hash    `json:"transactionHash"`
	Place     hexutil.Uint64 `json:"transactionIndex"`
	Status    hexutil.Uint64 `json:"status"`
	GasUsed   hexutil.Uint64 `json:"gasUsed"`
	GasPrice  *hexutil.Big   `json:"effectiveGasPrice"`
	DataFee   *hexutil.Big   `json:"l1Fee"` // of a rollup that takes it beside gas
	Block     hexutil.Uint64 `json:"blockNumber"`
	BlockHash common.Hash    `json:"blockHash"`
	Logs      []entry        `json:"logs"`
}

// authorization identifies an authorization within one token.
type authorization struct {
	payer common.Address
	nonce common.Hash
}

func authorizationOf(p *rail.Payment) authorization {
	return authorization{common.HexToAddress(p.Payer), common.HexToHash(p.Nonce)}
}

// use is one event that spent an authorization.
type use struct {
	canceled  bool
	end       string // of a hold, by which it ended; empty for anything else
	tx        common.Hash
	block     uint64
	blockHash common.Hash
	time      time.Time // zero until its block is read
	// The Transfer at the log directly after, where it is from the payer; value nil without.
	to    common.Address
	value *big.Int
	index uint64 // its log index
}

// uses pairs every AuthorizationUsed among the logs with the Transfer at the very next log index of
// the same transaction (package till, M3), and lists every AuthorizationCanceled. The logs may come
// in any order.
func uses(asset common.Address, logs []entry) map[authorization]use {
	type place struct {
		block common.Hash
		index uint64
	}
	transfers := map[place]*entry{}
	for i := range logs {
		l := &logs[i]
		if l.Address == asset && !l.Removed && len(l.Topics) == 3 && l.Topics[0] == topicTransfer && len(l.Data) == 32 {
			transfers[place{l.BlockHash, uint64(l.Index)}] = l
		}
	}
	found := map[authorization]use{}
	for _, l := range logs {
		if l.Address != asset || l.Removed || len(l.Topics) != 3 || l.Topics[0] != topicUsed &&
			l.Topics[0] != topicCanceled {
			continue
		}
		a := authorization{common.BytesToAddress(l.Topics[1][:]), l.Topics[2]}
		u := use{canceled: l.Topics[0] == topicCanceled, tx: l.Tx, block: uint64(l.Block), blockHash: l.BlockHash}
		if t := transfers[place{l.BlockHash, uint64(l.Index) + 1}]; t != nil && !u.canceled && t.Tx == l.Tx &&
			t.Topics[1] == l.Topics[1] {
			u.to, u.value, u.index = common.BytesToAddress(t.Topics[2][:]), new(big.Int).SetBytes(t.Data),
				uint64(t.Index)
		}
		found[a] = u
	}
	return found
}

// pays reports whether a use is the payment. A void gives back what is left, however much that is.
func (u *use) pays(p *rail.Payment) bool {
	return u.value != nil && u.to == common.HexToAddress(p.PayTo) &&
		(u.value.Cmp(p.Amount) == 0 || p.Method == rail.MethodVoid)
}

// headCall reads the newest block.
func headCall(out *block) *call {
	return &call{method: "eth_getBlockByNumber", params: []any{"latest", false}, out: out}
}

// blockCall reads a block by number.
func blockCall(number uint64, out *block) *call {
	return &call{method: "eth_getBlockByNumber", params: []any{hexutil.EncodeUint64(number), false}, out: out}
}

// finalCall reads the newest finalized block; a node that has none yet answers null or an error.
func finalCall(out *block) *call {
	return &call{method: "eth_getBlockByNumber", params: []any{"finalized", false}, out: out}
}

// logsCall asks for the token's logs between two blocks. A nil topic matches anything.
func (r *Rail) logsCall(from, to uint64, out *[]entry, topics ...any) *call {
	return logsCall(r.asset, from, to, out, topics...)
}

func logsCall(asset common.Address, from, to uint64, out *[]entry, topics ...any) *call {
	return &call{method: "eth_getLogs", params: []any{map[string]any{
		"address": asset.Hex(), "fromBlock": hexutil.EncodeUint64(from), "toBlock": hexutil.EncodeUint64(to),
		"topics": topics,
	}}, out: out}
}

// Head implements rail.Rail.
func (r *Rail) Head(ctx context.Context) (rail.Head, error) {
	var b block
	k := headCall(&b)
	if err := errors.Join(r.rpc.batch(ctx, k), k.err); err != nil {
		return rail.Head{}, fmt.Errorf("reading the newest block: %w", err)
	}
	return rail.Head{Block: b.Number, Time: b.Time}, nil
}

// newest is a head that was read before this call or during it.
func (r *Rail) newest(ctx context.Context) (rail.Head, error) {
	if s, ok := r.index.state(time.Now(), r.patience()); ok {
		return rail.Head{Block: s.head.Number, Time: s.head.Time}, nil
	}
	return r.Head(ctx)
}

// patience is how long after its last answer the watcher still counts as following the chain.
func (r *Rail) patience() time.Duration { return 3*r.cfg.Poll + 2*time.Second }

// Check implements rail.Rail.
func (r *Rail) Check(ctx context.Context) error {
	var id hexutil.Uint64
	var first block
	var sep, code, several, proxy, escrow, collector, captures, holds hexutil.Bytes
	calls := []*call{
		{method: "eth_chainId", out: &id}, blockCall(0, &first),
		{method: "eth_getCode", params: []any{r.asset.Hex(), "latest"}, out: &code},
		{method: "eth_call", params: []any{ethCall(common.Address{}, r.asset, selSeparator), "latest"}, out: &sep},
		{method: "eth_getCode", params: []any{multicall, "latest"}, out: &several},
		{method: "eth_getCode", params: []any{proxyAddress.Hex(), "latest"}, out: &proxy},
		{method: "eth_getCode", params: []any{escrowAddress.Hex(), "latest"}, out: &escrow},
		{method: "eth_getCode", params: []any{r.collector().Hex(), "latest"}, out: &collector},
		{method: "eth_getCode", params: []any{captureAddress.Hex(), "latest"}, out: &captures},
		{method: "eth_getCode", params: []any{r.holdCollector().Hex(), "latest"}, out: &holds},
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return fmt.Errorf("checking %s: %w", r.cfg.Network, err)
	}
	for _, k := range calls {
		if _, is := reverted(k.err); k.err != nil && !is { // a token need not know a domain
			return fmt.Errorf("checking %s: %s: %w", r.cfg.Network, k.method, k.err)
		}
	}
	switch {
	case uint64(id) != r.cfg.ChainID:
		return wrong("%s: the node is on chain %d", r.cfg.Network, uint64(id))
	case r.cfg.GenesisHash != "" && first.Hash != common.HexToHash(r.cfg.GenesisHash):
		return wrong("%s: the chain's first block is %s, not %s: another chain with the same number",
			r.cfg.Network, first.Hash, r.cfg.GenesisHash)
	case len(code) == 0:
		return wrong("%s: no contract at %s", r.cfg.Network, r.cfg.Asset)
	case r.cfg.Transfer == methodPermit2:
		if len(proxy) == 0 {
			return wrong("%s: no Permit2 proxy at %s", r.cfg.Network, proxyAddress)
		}
	case len(sep) != 32 || common.BytesToHash(sep) != r.separator:
		return wrong("%s: the token's DOMAIN_SEPARATOR is not that of %q version %q: no signature would be valid",
			r.cfg.Network, r.cfg.AssetName, r.cfg.AssetVersion)
	case r.cfg.DomainSeparator != "" && r.separator != common.HexToHash(r.cfg.DomainSeparator):
		return wrong("%s: the token's DOMAIN_SEPARATOR is not the configured one", r.cfg.Network)
	}
	r.several.Store(len(several) > 0)
	r.escrow.Store(len(several) > 0 && len(escrow) > 0 && len(collector) > 0)
	r.holds.Store(len(several) > 0 && len(captures) > 0 && len(holds) > 0)
	r.holdless.Store(!r.holds.Load())
	return r.checkWitnesses(ctx)
}

// wrong is an error that is a rail.ErrWrongChain.
func wrong(format string, args ...any) error {
	return fmt.Errorf("%s (%w)", fmt.Sprintf(format, args...), rail.ErrWrongChain)
}
