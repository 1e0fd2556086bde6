package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail/solana"
)

const (
	// slot is how often the cluster makes a block, as the real one does.
	slot = 400 * time.Millisecond
	// lamports is what the fee payer begins with: one coin.
	lamports = 1_000_000_000
)

// cluster is the Solana cluster of the run and the people on it.
type cluster struct {
	*svm.Cluster
	mint            string
	feePayer, payTo ed25519.PrivateKey
	buyers          []ed25519.PrivateKey
}

// openSolana starts the cluster behind the chains' ports. The error says why the run has none.
func (w *world) openSolana(rpc string) error {
	_, port, err := portOf(rpc)
	if err != nil {
		return err
	}
	c, err := svm.Open(slot, after(port, len(w.chains)))
	if err != nil {
		return err
	}
	if w.solana, err = people(c); err != nil {
		c.Close()
	}
	return err
}

// people puts a fee payer, payTo and buyers with dollars on a cluster, all with fresh keys.
func people(c *svm.Cluster) (*cluster, error) {
	token, ok := networks.USDC(networks.Solana)
	if !ok {
		return nil, errors.New("there is no USDC on Solana")
	}
	s := &cluster{Cluster: c, mint: token.Address}
	for _, k := range []*ed25519.PrivateKey{&s.feePayer, &s.payTo} {
		if err := freshSolana(k); err != nil {
			return nil, err
		}
	}
	if err := c.Call(nil, "dev_setLamports", address(s.feePayer), lamports); err != nil {
		return nil, err
	}
	if err := s.give(s.payTo, 0); err != nil {
		return nil, err
	}
	for range buyers {
		var b ed25519.PrivateKey
		if err := errors.Join(freshSolana(&b), s.give(b, funds)); err != nil {
			return nil, err
		}
		s.buyers = append(s.buyers, b)
	}
	return s, nil
}

func freshSolana(k *ed25519.PrivateKey) (err error) {
	_, *k, err = ed25519.GenerateKey(rand.Reader)
	return err
}

// address is the base58 of a key's public half.
func address(k ed25519.PrivateKey) string {
	return wallet.EncodeBase58(k.Public().(ed25519.PublicKey))
}

// give makes the token account of somebody with so much in it.
func (s *cluster) give(who ed25519.PrivateKey, amount int64) error {
	account, err := solana.TokenAccount(address(who), s.mint)
	if err != nil {
		return err
	}
	return s.Call(nil, "dev_setToken", account, s.mint, address(who), amount, false)
}

// balance is what somebody has, in atomic units.
func (s *cluster) balance(who ed25519.PrivateKey) (int64, error) {
	account, err := solana.TokenAccount(address(who), s.mint)
	if err != nil {
		return 0, err
	}
	var out struct {
		Value struct {
			Amount int64 `json:"amount,string"`
		}
	}
	err = s.Call(&out, "getTokenAccountBalance", account)
	return out.Value.Amount, err
}

// network writes the fee payer's key beside the others and is how the store sells on the cluster.
func (s *cluster) network(keys string) (shop.NetworkConfig, error) {
	list := make([]int, len(s.feePayer)) // as solana-keygen writes it
	for i, b := range s.feePayer {
		list[i] = int(b)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return shop.NetworkConfig{}, err
	}
	file := filepath.Join(keys, "fee-payer.json")
	if err := shop.WriteNew(file, append(text, '\n'), 0o600); err != nil {
		return shop.NetworkConfig{}, fmt.Errorf("writing the fee payer's key: %w", err)
	}
	return shop.NetworkConfig{
		ID: networks.Solana, RPC: []string{s.URL}, PayTo: address(s.payTo), RelayerKey: file, CoinPrice: "1",
		PriceDate: time.Now().UTC().Format(time.DateOnly), GenesisHash: "any",
		Poll: shop.Duration(100 * time.Millisecond),
	}, nil
}
