package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/json"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/token"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
)

// wallets is how many buy, few and many how many purchases are under way at once.
const (
	wallets   = 512
	few, many = 32, 512
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
	keys := []**ecdsa.PrivateKey{&p.relayer, &p.payTo}
	for i := range p.buyers {
		keys = append(keys, &p.buyers[i])
	}
	for _, k := range keys {
		var err error
		if *k, err = crypto.GenerateKey(); err != nil {
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
	return url, proc, proc.until(ctx, func() bool { return call(ctx, url, nil, "eth_chainId") == nil })
}

// call makes one JSON-RPC call.
func call(ctx context.Context, url string, out any, method string, params ...any) error {
	c, err := rpc.DialContext(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.CallContext(ctx, out, method, params...)
}

// authorize makes and signs one transfer from a buyer to the seller.
func (p *people) authorize(buyer *ecdsa.PrivateKey, now time.Time) (token.Authorization, []byte, error) {
	a := token.Authorization{
		From: address(buyer), To: address(p.payTo), Value: big.NewInt(price),
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

// settled counts the authorizations of the buyers that a chain has seen used, each once.
func (p *people) settled(ctx context.Context, url string) (int, error) {
	var logs []struct {
		Topics []common.Hash `json:"topics"`
	}
	event := crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))
	filter := map[string]any{"address": network().Asset, "fromBlock": "0x0", "topics": []common.Hash{event}}
	if err := call(ctx, url, &logs, "eth_getLogs", filter); err != nil {
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
