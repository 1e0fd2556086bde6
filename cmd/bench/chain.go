package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/token"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// wallets is how many buy, atOnce how many purchases are under way at once.
const (
	wallets = 128
	atOnce  = 32
)

// funds is what each buyer owns, in atomic units.
const funds = 1_000_000_000_000

// validity of a payment, from before the run to after it.
const validity = 5 * time.Minute

// people are the accounts of a row.
type people struct {
	relayer, payTo *ecdsa.PrivateKey
	buyers         []*ecdsa.PrivateKey
}

func newPeople() (*people, error) {
	p := &people{buyers: make([]*ecdsa.PrivateKey, wallets)}
	for _, k := range []**ecdsa.PrivateKey{&p.relayer, &p.payTo} {
		var err error
		if *k, err = crypto.GenerateKey(); err != nil {
			return nil, err
		}
	}
	for i := range p.buyers {
		var err error
		if p.buyers[i], err = crypto.GenerateKey(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func address(k *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(k.PublicKey) }

// network is the one that is bought on.
func network() chain.Network { return chain.Networks[0] }

// anvil starts a new chain on the loader's core and returns its address. It mines each transaction
// as it comes.
func (l *lab) anvil(ctx context.Context, p *people) (string, *process, error) {
	modules, err := npmtest.Modules(filepath.Join(l.root, "cmd/devnet"))
	if err != nil {
		return "", nil, err
	}
	dir, err := l.folder("anvil")
	if err != nil {
		return "", nil, err
	}
	opening := chain.Opening{Minter: address(p.relayer), Gas: []common.Address{address(p.relayer)},
		Dollars: map[common.Address]int64{}}
	for _, b := range p.buyers {
		opening.Dollars[address(b)] = funds
	}
	now := uint64(time.Now().Unix())
	genesis, err := json.Marshal(chain.Genesis(network().ChainID, now, network().Alloc(opening)))
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "genesis.json")
	if err := os.WriteFile(file, genesis, 0o600); err != nil {
		return "", nil, err
	}
	listen, err := free()
	if err != nil {
		return "", nil, err
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", nil, err
	}
	proc, err := l.start(ctx, loaderCore, dir, filepath.Join(modules, "@foundry-rs/anvil-linux-amd64/bin/anvil"),
		"--silent",
		"--host", host, "--port", port, "--accounts", "0", "--cache-path", dir, "--init", file,
		"--chain-id", strconv.FormatUint(network().ChainID, 10), "--timestamp", strconv.FormatUint(now, 10))
	if err != nil {
		return "", nil, err
	}
	url := "http://" + listen
	return url, proc, proc.until(ctx,
		func() bool { return rpc(ctx, http.DefaultClient, url, nil, "eth_chainId") == nil })
}

// rpc makes one JSON-RPC call.
func rpc(ctx context.Context, c *http.Client, url string, out any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, out)
}

// authorize makes and signs one transfer from a buyer to the seller.
func (p *people) authorize(buyer *ecdsa.PrivateKey, value int64, now time.Time) (token.Authorization, []byte, error) {
	a := token.Authorization{
		From: address(buyer), To: address(p.payTo), Value: big.NewInt(value),
		ValidAfter: uint64(now.Add(-validity).Unix()), ValidBefore: uint64(now.Add(validity).Unix()),
	}
	rand.Read(a.Nonce[:]) // never fails
	domain := token.Domain(chain.TokenName, chain.TokenVersion, network().ChainID, network().Asset)
	sig, err := crypto.Sign(a.Digest(token.TransferKind, domain).Bytes(), buyer)
	if err != nil {
		return a, nil, err
	}
	sig[64] += 27
	return a, sig, nil
}

// transfers signs the transactions that a settler would send for n payments, in the order of the
// relayer's nonces.
func (p *people) transfers(n int, value int64) ([]string, error) {
	asset, signer := network().Asset, types.LatestSignerForChainID(new(big.Int).SetUint64(network().ChainID))
	raws := make([]string, n)
	for i := range raws {
		a, sig, err := p.authorize(p.buyers[i%wallets], value, time.Now())
		if err != nil {
			return nil, err
		}
		tx, err := types.SignNewTx(p.relayer, signer, &types.DynamicFeeTx{
			ChainID: signer.ChainID(), Nonce: uint64(i), GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(100e9),
			Gas: 150_000, To: &asset, Data: token.TransferCall(a, sig),
		})
		if err != nil {
			return nil, err
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		raws[i] = hexutil.Encode(raw)
	}
	return raws, nil
}

// settled counts the authorizations of the buyers that a chain has seen used, each once.
func (p *people) settled(ctx context.Context, url string) (int, error) {
	var logs []struct {
		Topics []common.Hash `json:"topics"`
	}
	event := crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
	filter := map[string]any{"address": network().Asset, "fromBlock": "0x0", "topics": []common.Hash{event}}
	if err := rpc(ctx, http.DefaultClient, url, &logs, "eth_getLogs", filter); err != nil {
		return 0, err
	}
	used := make(map[[2]common.Hash]bool)
	for _, l := range logs {
		if len(l.Topics) == 3 {
			used[[2]common.Hash{l.Topics[1], l.Topics[2]}] = true
		}
	}
	return len(used), nil
}

// errNotMined says that a transfer has no receipt yet.
var errNotMined = errors.New("not mined")

// mine sends a transaction and waits for its receipt.
func mine(ctx context.Context, c *http.Client, url, raw string) error {
	var hash string
	if err := rpc(ctx, c, url, &hash, "eth_sendRawTransaction", raw); err != nil {
		return err
	}
	for {
		var receipt *struct {
			Status hexutil.Uint64 `json:"status"`
		}
		if err := rpc(ctx, c, url, &receipt, "eth_getTransactionReceipt", hash); err != nil {
			return err
		}
		if receipt != nil {
			if receipt.Status != 1 {
				return fmt.Errorf("transaction %s was reverted", hash)
			}
			return nil
		}
		select {
		case <-time.After(receiptPause):
		case <-ctx.Done():
			return errors.Join(errNotMined, context.Cause(ctx))
		}
	}
}

// receiptPause is how long the bare loader waits before it asks for a receipt again: a third of
// what 32 transfers take on a quiet machine. Asking more often keeps the chain busy with answering,
// and makes the peer slower.
const receiptPause = 40 * time.Millisecond
