package buyer

import (
	"context"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

const (
	// maxNodeAnswer bounds one answer of a node.
	maxNodeAnswer = 1 << 20
	// waitMined is how long the transaction of a call is waited for.
	waitMined = 3 * time.Minute
	// maxCallGas bounds the gas of a call: each of the escrows' takes less than a third of it.
	maxCallGas = 300_000
)

// evmNode reads contracts on one EVM network, and calls them with the wallet that pays.
type evmNode struct {
	*rail.Nodes
	network string
	chain   uint64
}

// node is the one that is configured for a network. Its chain is read once it is first asked.
func (b *Buyer) node(ctx context.Context, network string) (*evmNode, error) {
	url := b.cfg.Nodes[network]
	if url == "" {
		return nil, fmt.Errorf("no node of %s is configured (store buy -rpc %s=URL)", network, network)
	}
	id, err := chainOf(network)
	if err != nil {
		return nil, err
	}
	nodes, err := rail.NewNodes([]string{url}, maxNodeAnswer)
	if err != nil {
		return nil, err
	}
	n := &evmNode{nodes, network, id}
	var is quantity
	if err := n.ask(ctx, &is, "eth_chainId"); err != nil {
		n.Close()
		return nil, fmt.Errorf("asking a node of %s: %w", network, err)
	}
	if !is.of.IsUint64() || is.of.Uint64() != id {
		n.Close()
		return nil, fmt.Errorf("the node that is configured for %s is of chain %s", network, &is.of)
	}
	return n, nil
}

// chainOf is the chain id of an EVM network.
func chainOf(network string) (uint64, error) {
	chain, err := wallet.ParseChainID(network)
	if err != nil {
		return 0, err
	}
	return chain.EVM()
}

// quantity is a number as nodes write it: 0x and hex digits.
type quantity struct{ of big.Int }

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *quantity) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), "0x")
	if !ok || digits == "" || len(digits) > 64 || strings.Trim(strings.ToLower(digits), "0123456789abcdef") != "" {
		return errors.New("not a number in hex")
	}
	q.of.SetString(digits, 16)
	return nil
}

// ask makes one call of JSON-RPC. A node that knows no answer says null: the error is
// rail.ErrNodeNull.
func (n *evmNode) ask(ctx context.Context, out any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	question, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	var said struct {
		ID     uint64          `json:"id"`
		Result jsontext.Value  `json:"result"`
		Error  *rail.NodeError `json:"error"`
	}
	err = n.Ask(ctx, question, func(answer []byte) error {
		if json.Unmarshal(answer, &said) != nil || said.ID != 1 {
			return errors.New("the answer is not JSON-RPC")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case said.Error != nil:
		return fmt.Errorf("%s: %w", method, said.Error)
	case len(said.Result) == 0 || said.Result.Kind() == 'n':
		return rail.ErrNodeNull
	}
	if json.Unmarshal(said.Result, out) != nil {
		return fmt.Errorf("%s: the answer has an unexpected form", method)
	}
	return nil
}

// calldata is a call whose arguments are whole words.
func calldata(signature string, words ...[32]byte) []byte {
	sum := wallet.Keccak256([]byte(signature))
	data := slices.Clone(sum[:4])
	for _, w := range words {
		data = append(data, w[:]...)
	}
	return data
}

// view calls a contract that changes nothing, and demands so many words.
func (n *evmNode) view(ctx context.Context, to wallet.Address, data []byte, words int) ([]*big.Int, error) {
	var text string
	call := map[string]string{"to": to.String(), "data": "0x" + hex.EncodeToString(data)}
	if err := n.ask(ctx, &text, "eth_call", call, "latest"); err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil || len(raw) != 32*words {
		return nil, fmt.Errorf("no contract of that kind is at %s on %s", to, n.network)
	}
	var out []*big.Int
	for at := 0; at < len(raw); at += 32 {
		out = append(out, new(big.Int).SetBytes(raw[at:at+32]))
	}
	return out, nil
}

// header is the head of the chain.
type header struct {
	Timestamp quantity `json:"timestamp"`
	BaseFee   quantity `json:"baseFeePerGas"`
}

func (n *evmNode) head(ctx context.Context) (h header, err error) {
	err = n.ask(ctx, &h, "eth_getBlockByNumber", "latest", false)
	return h, err
}

// now is the time of the newest block.
func (n *evmNode) now(ctx context.Context) (time.Time, error) {
	h, err := n.head(ctx)
	return time.Unix(rail.Atomic(&h.Timestamp.of), 0).UTC(), err
}

// channel reads a channel at the newest block; one that nobody funded is all zero.
func (n *evmNode) channel(ctx context.Context, id [32]byte) (s rail.ChannelState, err error) {
	c, err := n.view(ctx, wallet.BatchEscrow, calldata("channels(bytes32)", id), 2)
	if err != nil {
		return s, fmt.Errorf("reading the channel: %w", err)
	}
	w, err := n.view(ctx, wallet.BatchEscrow, calldata("pendingWithdrawals(bytes32)", id), 2)
	if err != nil {
		return s, fmt.Errorf("reading the channel: %w", err)
	}
	s = rail.ChannelState{ID: nonceText(id), Balance: rail.Atomic(c[0]), Claimed: rail.Atomic(c[1])}
	if w[1].Sign() > 0 {
		s.Withdrawing, s.Asked = rail.Atomic(w[0]), time.Unix(rail.Atomic(w[1]), 0).UTC()
	}
	return s, nil
}

// hold reads a hold at the newest block.
func (n *evmNode) hold(ctx context.Context, hash [32]byte) (s rail.HoldState, err error) {
	w, err := n.view(ctx, wallet.CaptureEscrow, calldata("paymentState(bytes32)", hash), 3)
	if err != nil {
		return s, fmt.Errorf("reading the hold: %w", err)
	}
	return rail.HoldState{Collected: w[0].Sign() > 0, Capturable: rail.Atomic(w[1]), Refundable: rail.Atomic(w[2])}, nil
}

// send calls a contract with a transaction of the wallet's own, and waits until it is in a block.
// It is tried before: what would revert is not sent.
func (n *evmNode) send(ctx context.Context, key *wallet.Key, to wallet.Address, data []byte) (hash string, err error) {
	from := key.Address().String()
	call := map[string]string{"from": from, "to": to.String(), "data": "0x" + hex.EncodeToString(data)}
	var gas, nonce, tip quantity
	if err := n.ask(ctx, &gas, "eth_estimateGas", call); err != nil {
		return "", fmt.Errorf("trying it: %w", err)
	}
	if !gas.of.IsUint64() || gas.of.Uint64() > maxCallGas {
		return "", fmt.Errorf("it would take %s gas, which is more than such a call needs", &gas.of)
	}
	h, err := n.head(ctx)
	if err == nil {
		err = n.ask(ctx, &nonce, "eth_getTransactionCount", from, "pending")
	}
	if err == nil {
		err = n.ask(ctx, &tip, "eth_maxPriorityFeePerGas")
	}
	if err != nil {
		return "", err
	}
	fee := new(big.Int).Lsh(&h.BaseFee.of, 1)
	raw, id := key.SignTransaction(wallet.Transaction{ChainID: n.chain, Nonce: nonce.of.Uint64(),
		Gas: gas.of.Uint64() + gas.of.Uint64()/5, Tip: &tip.of, MaxFee: fee.Add(fee, &tip.of), To: to, Data: data})
	var sent string
	if err := n.ask(ctx, &sent, "eth_sendRawTransaction", "0x"+hex.EncodeToString(raw)); err != nil {
		return "", fmt.Errorf("sending it: %w", err)
	}
	hash = nonceText(id)
	if err := n.await(ctx, hash); err != nil {
		return hash, fmt.Errorf("transaction %s: %w", hash, err)
	}
	return hash, nil
}

// errReverted is a transaction that is in a block and did nothing.
var errReverted = errors.New("it reverted")

// mined is nil for a transaction that is in a block and did what it says.
func (n *evmNode) mined(ctx context.Context, hash string) error {
	var r struct {
		Status quantity `json:"status"`
	}
	err := n.ask(ctx, &r, "eth_getTransactionReceipt", hash)
	if err == nil && r.Status.of.Sign() == 0 {
		err = errReverted
	}
	return err
}

// await waits until a transaction is in a block, and is an error where it reverted there.
func (n *evmNode) await(ctx context.Context, hash string) error {
	ctx, cancel := context.WithTimeout(ctx, waitMined)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		err := n.mined(ctx, hash)
		if err == nil || errors.Is(err, errReverted) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it was sent and is in no block yet: %w", ctx.Err())
		}
	}
}
