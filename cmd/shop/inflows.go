package shop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/rail/solana"
)

// Inflows counts what arrived at advertised addresses on the configured networks. Close it.
type Inflows struct {
	observers map[string]observer
}

var _ census.Inflows = (*Inflows)(nil)

// observer reads one network.
type observer interface {
	// Arrivals counts what came in at addresses in [from, to); it is an error where that has not
	// been seen whole.
	Arrivals(ctx context.Context, addresses []string, from, to time.Time) (rail.Arrivals, error)
	Close()
}

// observing makes the observer of a network, by the namespace of CAIP-2.
var observing = map[string]func(NetworkConfig) (observer, error){
	wallet.NamespaceEVM: func(n NetworkConfig) (observer, error) {
		cfg, err := n.chain()
		if err != nil {
			return nil, err
		}
		return evm.NewObserver(cfg)
	},
	wallet.NamespaceSolana: func(n NetworkConfig) (observer, error) {
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

// maxUnread bounds how many networks without an RPC are named: doors write down whatever they like.
const maxUnread = 50

var networkForm = regexp.MustCompile(`^[a-z0-9-]{3,8}:[-_a-zA-Z0-9]{1,32}$`) // CAIP-2

// OpenInflows makes an observer of each configured network.
func OpenInflows(c *Config) (*Inflows, error) {
	in := &Inflows{observers: map[string]observer{}}
	for _, n := range c.Networks {
		namespace, _, _ := strings.Cut(n.ID, ":")
		open, known := observing[namespace]
		if !known {
			return nil, fmt.Errorf("network %s: nothing is known of networks of its kind", n.ID)
		}
		o, err := open(n)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", n.ID, err)
		}
		in.observers[n.ID] = o
	}
	return in, nil
}

// Close lets go of idle connections.
func (in *Inflows) Close() {
	for _, o := range in.observers {
		o.Close()
	}
}

// Count implements census.Inflows: each configured network, and each further one on which an
// address was advertised, by name. One that could not be read says why, and counts nothing.
func (in *Inflows) Count(ctx context.Context, from, to time.Time,
	addresses map[string][]string) ([]record.NetworkInflow, error) {
	out := make([]record.NetworkInflow, 0, len(in.observers))
	var mu sync.Mutex // guards out
	var wg sync.WaitGroup
	for network, o := range in.observers {
		wg.Go(func() {
			n := record.NetworkInflow{Network: network, USDC: "0"}
			got, err := o.Arrivals(ctx, addresses[network], from, to)
			switch {
			case err == nil && !got.Total.IsInt64():
				n.Reason = "more arrived than can be"
			case err != nil:
				n.Reason = ReasonOf(err)
			default:
				n.Read, n.Transfers, n.Addresses, n.AddressesLeftOut, n.USDC = true, got.Transfers, got.Addresses,
					got.LeftOut, content.FormatUSDC(got.Total.Int64())
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, n)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	unread := 0
	for _, network := range slices.Sorted(maps.Keys(addresses)) {
		if in.observers[network] != nil || len(addresses[network]) == 0 || !networkForm.MatchString(network) {
			continue
		}
		if unread++; unread > maxUnread {
			break
		}
		out = append(out, record.NetworkInflow{Network: network, USDC: "0",
			Reason: "no RPC of this network is configured"})
	}
	slices.SortFunc(out, func(a, b record.NetworkInflow) int { return strings.Compare(a.Network, b.Network) })
	return out, nil
}

// nodeNames are where errors name our nodes, which are nobody's business.
var nodeNames = regexp.MustCompile(`\brpc [^ ]+: |\b(dial|lookup|read|write) (tcp|udp)?[^ ]* ?[^ ]+: `)

// ReasonOf is an error as a signed round may say it: one line, bounded, without our nodes.
func ReasonOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it could not be read within the time"
	}
	text := nodeNames.ReplaceAllString(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " "), "")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "")
	}
	return text
}
