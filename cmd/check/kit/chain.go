package kit

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail/solana"
)

// How often and how long a node is asked again for a charge that must come: the answer may have
// been quicker than the block.
const (
	nodeEvery = 250 * time.Millisecond
	nodeWaits = 60
)

// A chain tells whether a payment was settled.
type chain interface {
	used(ctx context.Context, p payment) (bool, error)
	close()
}

// openChain opens a node of a network, before the payer has signed anything.
func openChain(ctx context.Context, network, payer, rpc string) chain {
	if !strings.HasPrefix(network, wallet.NamespaceSolana+":") {
		return node{rpc, &http.Client{Timeout: 15 * time.Second}}
	}
	l, err := solana.LandedSince(ctx, network, payer, []string{rpc})
	if err != nil {
		return silent{err}
	}
	return cluster{l}
}

// silent is a chain whose node cannot be asked.
type silent struct{ error }

func (s silent) used(context.Context, payment) (bool, error) { return false, s.error }
func (s silent) close()                                      {}

// A cluster is one of Solana, whose payments are known by the whole transaction.
type cluster struct{ *solana.Landed }

func (c cluster) used(ctx context.Context, p payment) (bool, error) { return c.Has(ctx, p.nonce) }
func (c cluster) close()                                            { c.Close() }

// used counts the payments that the chain has as settled, and waits some seconds for the least
// that there must be.
func (r *run) used(ctx context.Context, payments []payment, least int) (n int, err error) {
	for range nodeWaits {
		n = 0
		for _, p := range payments {
			used, err := r.chain.used(ctx, p)
			if err != nil {
				return 0, err
			}
			if used {
				n++
			}
		}
		if n >= least {
			return n, nil
		}
		select {
		case <-time.After(nodeEvery):
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
	return n, nil
}

// A node answers JSON-RPC of Ethereum.
type node struct {
	url    string
	client *http.Client
}

func (n node) close() { n.client.CloseIdleConnections() }

// used asks the token whether an authorization was used (EIP-3009, authorizationState).
func (n node) used(ctx context.Context, p payment) (bool, error) {
	chain, err := wallet.ParseChainID(p.network)
	if err != nil {
		return false, err
	}
	want, err := chain.EVM()
	if err != nil {
		return false, err
	}
	id, err := n.call(ctx, "eth_chainId")
	if err != nil {
		return false, err
	}
	if got, err := strconv.ParseUint(strings.TrimPrefix(id, "0x"), 16, 64); err != nil || got != want {
		return false, fmt.Errorf("the node of -rpc is of the chain %.20s, and the payment of %s", id, p.network)
	}
	from, err := wallet.ParseAddress(p.from)
	if err != nil {
		return false, err
	}
	selector := wallet.Keccak256([]byte("authorizationState(address,bytes32)"))
	data := "0x" + hex.EncodeToString(selector[:4]) + strings.Repeat("0", 24) + from.Lower()[2:] + p.nonce[2:]
	// The token is whatever the door named: it gets no more of the node than a look takes.
	ask := map[string]string{"to": p.asset, "data": data, "gas": "0x186a0"}
	word, err := n.call(ctx, "eth_call", ask, "latest")
	if err != nil {
		return false, err
	}
	if len(word) != 66 {
		return false, errors.New("the node of -rpc knows no authorization of this token")
	}
	return strings.HasSuffix(word, "1"), nil
}

// call makes one call whose result is a text.
func (n node) call(ctx context.Context, method string, params ...any) (string, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method,
		"params": append([]any{}, params...)})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return "", errors.New("-rpc is no address")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := n.client.Do(req)
	if err != nil { // whose text would repeat the address, which may hold a token
		return "", errors.New("the node of -rpc does not answer")
	}
	defer resp.Body.Close()
	var said struct {
		Result string `json:"result"`
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || json.Unmarshal(raw, &said) != nil || said.Result == "" {
		return "", fmt.Errorf("the node of -rpc gave no result of %s (status %d)", method, resp.StatusCode)
	}
	return said.Result, nil
}
