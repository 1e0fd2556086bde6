package shop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/rail/solana"
	"store.example/agentstore/dynamic/roster"
)

// ArrivalsConfig is a network on which nothing is sold and arrivals are counted.
type ArrivalsConfig struct {
	ID          string   `toml:"id" doc:"CAIP-2 id, such as eip155:480 for World Chain: of a network whose USDC this store knows."`
	RPC         []string `toml:"rpc" doc:"JSON-RPC addresses of its nodes, in order of preference."`
	RPCFile     string   `toml:"rpc_file" doc:"File (0600) with one JSON-RPC address a line, instead of rpc."`
	Depth       uint64   `toml:"depth" doc:"Blocks after which an arrival counts, its own included. 0 takes the known network's."`
	GenesisHash string   `toml:"genesis_hash" doc:"Block 0's hash, compared before anything is counted. Networks that are sold on bring theirs; of others you give it. 'any' compares nothing and is for local chains."`
	Poll        Duration `toml:"poll" doc:"How long is waited after a disturbance, doubled each time. 0s takes the known network's."`
}

// check says what is wrong with the table of a network, whose number it is.
func (a ArrivalsConfig) check(c *Config, i int) error {
	var known bool
	switch namespace, _, _ := strings.Cut(a.ID, ":"); namespace {
	case wallet.NamespaceEVM:
		var cfg evm.Config
		if cfg, known = evm.Observed(a.ID); known && cfg.GenesisHash == "" && a.GenesisHash == "" {
			return fmt.Errorf("arrivals %s has no genesis_hash, and none is known of it: give the hash that a node "+
				"which you believe answers to eth_getBlockByNumber with 0x0", a.ID)
		}
	case wallet.NamespaceSolana:
		_, known = solana.Preset(a.ID)
	}
	same := func(id string) bool { return id == a.ID }
	switch {
	case !known:
		return fmt.Errorf("arrivals %q is no network whose USDC this store knows, such as eip155:480 for World Chain",
			a.ID)
	case slices.ContainsFunc(c.Networks, func(n NetworkConfig) bool { return same(n.ID) }),
		slices.ContainsFunc(c.Arrivals[:i], func(b ArrivalsConfig) bool { return same(b.ID) }):
		return fmt.Errorf("arrivals %s stands twice, here or as a network that is sold on: name it in one table", a.ID)
	case len(a.RPC) == 0 && a.RPCFile == "":
		return fmt.Errorf("arrivals %s has neither rpc nor rpc_file: name a node", a.ID)
	case !genesisForm.MatchString(a.GenesisHash):
		return fmt.Errorf("arrivals %s: genesis_hash is 0x and 64 digits of hex, or any for a local chain", a.ID)
	case a.Depth > maxDepth:
		return fmt.Errorf("arrivals %s: depth is between 0 and %d", a.ID, maxDepth)
	}
	return nil
}

// arrivals are the networks whose arrivals are counted: those that are sold on, then the others.
func (c *Config) arrivals() []NetworkConfig {
	all := slices.Clone(c.Networks)
	for _, a := range c.Arrivals {
		all = append(all, NetworkConfig{ID: a.ID, RPC: a.RPC, RPCFile: a.RPCFile, Depth: a.Depth,
			GenesisHash: a.GenesisHash, Poll: a.Poll})
	}
	return all
}

// observing makes the observer of a network, by the namespace of CAIP-2.
var observing = map[string]func(NetworkConfig) (roster.Observer, error){
	wallet.NamespaceEVM: func(n NetworkConfig) (roster.Observer, error) {
		cfg, err := n.chain(evm.Observed)
		if err != nil {
			return nil, err
		}
		return evm.NewObserver(cfg)
	},
	wallet.NamespaceSolana: func(n NetworkConfig) (roster.Observer, error) {
		cfg, known := solana.Preset(n.ID)
		if !known {
			return nil, errors.New("is not a cluster this store knows; it is one row in the table of networks")
		}
		cfg.RPC, cfg.Poll, cfg.AnyGenesis = n.RPC, time.Duration(n.Poll), n.GenesisHash == "any"
		if n.RPCFile != "" {
			b, err := ReadSecret(n.RPCFile)
			if err != nil {
				return nil, fmt.Errorf("reading rpc_file: %w", err)
			}
			cfg.RPC = strings.Fields(string(b))
		}
		return solana.NewObserver(cfg)
	},
}

// OpenInflows makes an observer of each network whose arrivals are counted.
func OpenInflows(c *Config) (roster.Inflows, error) {
	in := roster.Inflows{}
	for _, n := range c.arrivals() {
		namespace, _, _ := strings.Cut(n.ID, ":")
		open, known := observing[namespace]
		if !known {
			return nil, fmt.Errorf("network %s: nothing is known of networks of its kind", n.ID)
		}
		o, err := open(n)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", n.ID, err)
		}
		in[n.ID] = o
	}
	return in, nil
}
