package shop

import (
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/rail"

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
	if cfg.RPC, err = n.Nodes(); err != nil {
		return nil, err
	}
	b, err := ReadSecret(n.RelayerKey)
	if err != nil {
		return nil, relayerKey(n.ID, err)
	}
	if cfg.FeePayer, err = solana.ParseKey(b); err != nil {
		return nil, fmt.Errorf("relayer_key: %w", err)
	}
	cfg.PayTo, cfg.Log, cfg.CoinPrice, cfg.GasAlarm = n.PayTo, s.Log, costs.coinPrice, costs.alarm
	cfg.Asked = s.askedOn(n.ID)
	cfg.Poll, cfg.AnyGenesis = time.Duration(n.Poll), n.GenesisHash == "any"
	return solana.New(cfg)
}

// accountNodes are the nodes of the configured clusters, which a reading asks for the accounts of
// whoever is to be paid at a stranger's door.
func (c *Config) accountNodes() (fetch.Nodes, error) {
	nodes := fetch.Nodes{}
	for _, n := range c.Networks {
		if _, known := solana.Preset(n.ID); !known {
			continue
		}
		urls, err := n.Nodes()
		if err != nil {
			return nil, err
		}
		cluster, err := rail.NewNodes(urls, accounts.MaxAnswer)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", n.ID, err)
		}
		nodes[n.ID] = cluster.Raw
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
