package shop

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/walk"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/rpc"
	"store.example/agentstore/dynamic/rail/solana"
)

// openSolana makes the rail of a Solana cluster.
func (s *Shop) openSolana(n NetworkConfig) (rail.Rail, error) {
	cfg, known := solana.Preset(n.ID)
	if !known {
		return nil, errUnknownNetwork
	}
	costs, err := n.costs()
	if err != nil {
		return nil, err
	}
	if cfg.RPC, err = n.nodes(); err != nil {
		return nil, err
	}
	b, err := secretFile(n.RelayerKey)
	if err != nil {
		return nil, relayerKey(n.ID, err)
	}
	if cfg.FeePayer, err = parseSolanaKey(b); err != nil {
		return nil, fmt.Errorf("relayer_key: %w", err)
	}
	cfg.PayTo, cfg.Log, cfg.CoinPrice, cfg.GasAlarm = n.PayTo, s.Log, costs.coinPrice, costs.alarm
	cfg.Asked = s.askedOn(n.ID)
	cfg.Poll, cfg.AnyGenesis = time.Duration(n.Poll), n.GenesisHash == "any"
	return solana.New(cfg)
}

// accountNodes are the nodes of the configured clusters, which a reading asks for the accounts of
// whoever is to be paid at a stranger's door.
func (c *Config) accountNodes() (walk.Nodes, error) {
	const most = 64 << 10 // bytes of an answer
	nodes := walk.Nodes{}
	for _, n := range c.Networks {
		if _, known := solana.Preset(n.ID); !known {
			continue
		}
		urls, err := n.nodes()
		if err != nil {
			return nil, err
		}
		cluster, err := rpc.New(urls, most)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", n.ID, err)
		}
		nodes[n.ID] = func(ctx context.Context, question []byte) (answer []byte, err error) {
			err = cluster.Ask(ctx, question, func(said []byte) error {
				if !json.Valid(said) {
					return errors.New("the answer is no JSON")
				}
				answer = said
				return nil
			})
			return answer, err
		}
	}
	return nodes, nil
}

// checkSolana says which keys are of no use on Solana.
func (n NetworkConfig) checkSolana() error {
	var errs []error
	for _, k := range []struct {
		key string
		set bool
		why string
	}{
		{"relayer_keys", len(n.RelayerKeys) > 0, "transactions have no numbers there, so one account is enough"},
		{"facilitator", n.Facilitator != "", "the store settles there by itself, with relayer_key"},
		{"together", n.Together != 0, "each payment is a transaction of its buyer's"},
		{"factories", len(n.Factories) > 0, "no wallet has to be deployed there"},
		{"transfer", n.Transfer != "", "the buyer signs the transfer itself"},
		{"depth", n.Depth > 0, "a block counts once the cluster has confirmed it"},
		{"finality", n.Finality > 0, "the cluster says itself what is final"},
		{"max_fee_wei", n.MaxFee != "", "what the buyer signed says what the transaction costs, up to a limit"},
		{"genesis_hash", n.GenesisHash != "" && n.GenesisHash != "any", "the id is the genesis hash already; for a " +
			"local cluster say any"},
	} {
		if k.set {
			errs = append(errs, fmt.Errorf("network %s: %s is of no use on Solana: %s", n.ID, k.key, k.why))
		}
	}
	if cfg, known := solana.Preset(n.ID); known && n.PayTo == cfg.Asset {
		errs = append(errs, fmt.Errorf("network %s: pay_to is the mint of USDC: name a wallet of yours", n.ID))
	}
	return errors.Join(errs...)
}

// parseSolanaKey reads a key file as solana-keygen writes it: a JSON list of 64 numbers, the seed
// and the public key. Its errors tell nothing of what it holds.
func parseSolanaKey(b []byte) (ed25519.PrivateKey, error) {
	var list []uint16 // a list of bytes would be read from a string
	if err := json.Unmarshal(b, &list); err != nil || len(list) != ed25519.PrivateKeySize {
		return nil, errors.New("not a key file of solana-keygen, which is a list of 64 numbers")
	}
	raw := make([]byte, len(list))
	for i, v := range list {
		if v > 255 {
			return nil, errors.New("not a key file of solana-keygen: a number is above 255")
		}
		raw[i] = byte(v)
	}
	key := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	if !bytes.Equal(key, raw) {
		return nil, errors.New("the key file's public half is of another key")
	}
	return key, nil
}
