package shop

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/corpus/accounts"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/rail/solana"
)

// kind is a family of networks.
type kind struct {
	// open makes the rail of a configured network.
	open func(*Shop, NetworkConfig) (rail.Rail, error)
	// check says what is wrong with keys that the family reads in its own way.
	check func(NetworkConfig) error
}

// kinds are the families by the namespace of their networks' ids (CAIP-2).
var kinds = map[string]kind{
	"eip155": {open: (*Shop).openEVM, check: NetworkConfig.checkEVM},
	"solana": {open: (*Shop).openSolana, check: NetworkConfig.checkSolana},
}

// errUnknownNetwork says that nobody knows how a network is sold on.
var errUnknownNetwork = errors.New("is not a network this store knows; it is one row in the table of networks")

// kind is the family of a network.
func (n NetworkConfig) kind() (kind, error) {
	namespace, _, _ := strings.Cut(n.ID, ":")
	k, ok := kinds[namespace]
	if !ok {
		return kind{}, errUnknownNetwork
	}
	return k, nil
}

// OpenRail makes the rail of one configured network.
func (s *Shop) OpenRail(n NetworkConfig) (rail.Rail, error) {
	k, err := n.kind()
	if err != nil {
		return nil, err
	}
	return k.open(s, n)
}

// askedOn notes each question to a network's nodes, where somebody measures.
func (s *Shop) askedOn(network string) func(rail.Asked) {
	return func(a rail.Asked) {
		if s.asked != nil {
			s.asked(network, a.Outcome, a.Took)
		}
	}
}

// Nodes are the addresses of a network's nodes.
func (n NetworkConfig) Nodes() ([]string, error) {
	if n.RPCFile == "" {
		return n.RPC, nil
	}
	b, err := ReadSecret(n.RPCFile)
	if err != nil {
		return nil, fmt.Errorf("reading rpc_file: %w", err)
	}
	return strings.Fields(string(b)), nil
}

// chain is how a configured network of the EVM is read; preset is what is known of it in advance.
func (n NetworkConfig) chain(preset func(string) (evm.Config, bool)) (cfg evm.Config, err error) {
	cfg, known := preset(n.ID)
	if !known {
		return cfg, errUnknownNetwork
	}
	if cfg.RPC, err = n.Nodes(); err != nil {
		return cfg, err
	}
	if n.Depth > 0 {
		cfg.Depth = n.Depth
	}
	if n.Finality > 0 {
		cfg.Finality = n.Finality
	}
	if n.Poll > 0 {
		cfg.Poll = time.Duration(n.Poll)
	}
	cfg.Together = n.Together
	switch n.GenesisHash {
	case "":
	case "any":
		cfg.GenesisHash = ""
	default:
		cfg.GenesisHash = n.GenesisHash
	}
	return cfg, nil
}

// openEVM makes the rail of a network of the EVM.
func (s *Shop) openEVM(n NetworkConfig) (rail.Rail, error) {
	cfg, err := n.chain(evm.Preset)
	if err != nil {
		return nil, err
	}
	costs, err := n.costs()
	if err != nil {
		return nil, err
	}
	cfg.PayTo, cfg.Factories, cfg.Transfer, cfg.Log = n.PayTo, n.Factories, n.Transfer, s.Log
	cfg.Asked = s.askedOn(n.ID)
	cfg.CoinPrice, cfg.SettleCost, cfg.GasAlarm = costs.coinPrice, costs.settleCost, costs.alarm
	if costs.maxFee != nil {
		cfg.MaxFee = costs.maxFee
	}
	if n.Facilitator != "" {
		f, err := facilitator.New(facilitator.Config{URL: n.Facilitator})
		if err != nil {
			return nil, err
		}
		cfg.Settler = f
		return evm.New(cfg)
	}
	for i, file := range append([]string{n.RelayerKey}, n.RelayerKeys...) {
		b, err := ReadSecret(file)
		if err != nil {
			return nil, relayerKey(n.ID, err)
		}
		key, err := crypto.HexToECDSA(strings.TrimPrefix(strings.TrimSpace(string(b)), "0x"))
		if err != nil {
			return nil, fmt.Errorf("relayer_key: %s does not hold 32 bytes of hex", file)
		}
		if i == 0 {
			cfg.Relayer = key
		} else {
			cfg.Relayers = append(cfg.Relayers, key)
		}
	}
	if v := s.Config.Vouchers; v.Key != "" && n.ID == s.Config.Networks[0].ID {
		a, err := v.amounts()
		if err != nil {
			return nil, err
		}
		cfg.Delay, cfg.MinDeposit = time.Duration(v.Delay), a.minDeposit
		if cfg.Authorizer, err = v.voucherKey(); err != nil {
			return nil, err
		}
	}
	return evm.New(cfg)
}

// relayerKey adds to the error of a relayer's key file what it is for, since nobody but the keeper
// can bring one.
func relayerKey(network string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("relayer_key: %w; hint: put there, with mode 0600, the key of an account that has coins of "+
			"%s for gas and nothing else", err, network)
	}
	return fmt.Errorf("relayer_key: %w", err)
}

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
