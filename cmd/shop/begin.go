package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/rail/solana"
)

// Beginning is what a keeper says of a new store.
type Beginning struct {
	BaseURL  string   // where it will be reached
	Networks []string // CAIP-2 ids, or names such as base
	PayTo    []string // the address for each network; one of the EVM stands for all of that family
	RPC      []string // a node for each network; none: a file of each network names them
	// CoinPrices is what one coin of each network is worth in USDC; none: nothing is offered until
	// the configuration says it.
	CoinPrices []string
	// Demo is the store of a demo whose chains the new one shares, nil for none. Its networks stand
	// in the place of those that are named, and PayTo in the place of where it is paid.
	Demo *Config
}

// CheckNetworks says what is wrong with the names of networks.
func CheckNetworks(names []string) error {
	if len(names) == 0 {
		return errors.New("name one network at least")
	}
	b := Beginning{PayTo: []string{ExampleAddress("eip155"), ExampleAddress("solana")}}
	for _, name := range names {
		if _, err := b.network(name); err != nil {
			return err
		}
	}
	return nil
}

// OnLoopback reports whether an address is for its own machine alone.
func OnLoopback(base string) bool {
	u, err := url.Parse(base)
	return err == nil && Loopback(u.Hostname())
}

// LocalURL is where a store is reached that is for its own machine alone.
const LocalURL = "http://127.0.0.1:4020"

// Begin is the configuration of a new store: what it uses and nothing else.
func Begin(b Beginning) (Config, error) {
	like := Example()
	c := Config{BaseURL: b.BaseURL, Listen: like.Listen, DebugListen: like.DebugListen, Ledger: like.Ledger,
		Content: like.Content, Stock: like.Stock, Public: like.Public, Record: like.Record, View: like.View,
		Sources: like.Sources, Twins: like.Twins, HighWater: like.HighWater, Keys: like.Keys}
	c.Keys.Older = nil
	if len(b.RPC) > 0 && len(b.RPC) != len(b.Networks) {
		return c, fmt.Errorf("%d nodes for %d networks: name one for each, in their order, or none", len(b.RPC),
			len(b.Networks))
	}
	if u, err := url.Parse(b.BaseURL); err == nil && Loopback(u.Hostname()) && u.Port() != "" {
		c.Listen = u.Host
		if port, err := strconv.Atoi(u.Port()); err == nil && port < 1<<16-2 {
			c.DebugListen = net.JoinHostPort(u.Hostname(), strconv.Itoa(port+1))
			if desk := net.JoinHostPort(u.Hostname(), strconv.Itoa(port+2)); desk != deskListen {
				c.Desk.Listen = desk
			}
		}
		if u.Scheme == "https" {
			c.TLS.Certificate, c.TLS.Key = "var/keys/tls.pem", "var/keys/tls.key"
		}
	}
	if len(b.CoinPrices) > 0 && len(b.CoinPrices) != len(b.Networks) {
		return c, fmt.Errorf("%d prices of coins for %d networks: name one for each, in their order, or none",
			len(b.CoinPrices), len(b.Networks))
	}
	if b.Demo != nil {
		return b.onDemo(c)
	}
	for i, name := range b.Networks {
		n, err := b.network(name)
		if err != nil {
			return c, err
		}
		if len(b.RPC) > 0 {
			n.RPC, n.RPCFile = []string{b.RPC[i]}, ""
		}
		if len(b.CoinPrices) > 0 {
			n.CoinPrice, n.PriceDate = b.CoinPrices[i], time.Now().UTC().Format(time.DateOnly)
		}
		c.Networks = append(c.Networks, n)
	}
	return c, c.check()
}

// onDemo adds the networks of a demo, with copies of its relayers among the store's own keys.
func (b Beginning) onDemo(c Config) (Config, error) {
	for _, n := range b.Demo.Networks {
		n.RelayerKey, n.RelayerKeys = "var/keys/"+filepath.Base(n.RelayerKey), nil
		for _, a := range b.PayTo {
			if strings.HasPrefix(a, "0x") == strings.HasPrefix(n.ID, "eip155:") {
				n.PayTo = a
			}
		}
		c.Networks = append(c.Networks, n)
	}
	return c, c.check()
}

// network is the table of one network.
func (b Beginning) network(name string) (NetworkConfig, error) {
	all := sellable()
	i := slices.IndexFunc(all, func(c networks.Chain) bool {
		return c.ID == name || label(c) == strings.ToLower(name)
	})
	if i < 0 {
		var labels []string
		for _, c := range all {
			labels = append(labels, label(c))
		}
		return NetworkConfig{}, fmt.Errorf("network %q is none this store sells on: name some of %s", name,
			strings.Join(labels, ", "))
	}
	id := all[i].ID
	n := NetworkConfig{ID: id, RelayerKey: "var/keys/relayer.key", RPCFile: "var/keys/" + label(all[i]) + ".rpc"}
	namespace, _, _ := strings.Cut(id, ":")
	if namespace == "solana" {
		n.RelayerKey = "var/keys/fee-payer.json"
	}
	for _, a := range b.PayTo {
		if strings.HasPrefix(a, "0x") != (namespace == "eip155") {
			continue
		}
		if n.PayTo != "" {
			return n, fmt.Errorf("network %s: %s and %s: name one address for networks of its kind, and change single "+
				"ones in store.toml", id, n.PayTo, a)
		}
		n.PayTo = a
	}
	if n.PayTo == "" {
		return n, fmt.Errorf("network %s: no address to be paid at was given, such as %s", id,
			ExampleAddress(namespace))
	}
	return n, nil
}

// label is a network's name as a word: base, arbitrum-one.
func label(c networks.Chain) string { return strings.ReplaceAll(strings.ToLower(c.Name), " ", "-") }

// sellable are the networks that a store may sell on.
func sellable() []networks.Chain {
	return slices.DeleteFunc(networks.Chains(), func(c networks.Chain) bool {
		_, on := evm.Preset(c.ID)
		if !on {
			_, on = solana.Preset(c.ID)
		}
		return !on
	})
}

// ExampleAddress is the address of nobody that the example of a configuration has.
func ExampleAddress(namespace string) string {
	for _, n := range Example().Networks {
		if strings.HasPrefix(n.ID, namespace+":") {
			return n.PayTo
		}
	}
	return ""
}

// ErrNobody refuses payments to the example's address, of which nobody has the key.
var ErrNobody = errors.New("pay_to is the address of the example, of which nobody has the key: name your own wallet")

// paysSomebody refuses to sell to strangers into the example's address.
func (s *Shop) paysSomebody() error {
	if here, err := Local(&s.Config); err != nil || here {
		return err
	}
	for _, n := range s.Config.Networks {
		namespace, _, _ := strings.Cut(n.ID, ":")
		if strings.EqualFold(n.PayTo, ExampleAddress(namespace)) {
			return fmt.Errorf("network %s: %w", n.ID, ErrNobody)
		}
	}
	return nil
}

// DoorsHere are the doors of the keeper's list that are on this machine, for a shop that is there
// itself: a census refuses all of them.
func DoorsHere(ctx context.Context, c *Config) ([]string, error) {
	switch {
	case !onLoopback(c.BaseURL):
		return nil, errors.New("a store with a public base_url walks public doors alone: store census -dry-run says " +
			"which, and store check -local URL reads one of your own on this machine")
	case c.Census.List == "":
		return nil, errors.New("census.list names no file: write the doors into one, a URL a line, and name it there")
	}
	var doors []string
	list := census.List(sourceList, os.DirFS(filepath.Dir(c.Census.List)), filepath.Base(c.Census.List))
	if err := list.Read(ctx, census.Reading{}, func(n census.Named) {
		if onLoopback(n.URL) {
			doors = append(doors, n.URL)
		}
	}); err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.Census.List, err)
	}
	if len(doors) == 0 {
		return nil, fmt.Errorf("%s names no door on this machine, such as http://127.0.0.1:4021/api/buy/tea",
			c.Census.List)
	}
	return doors, nil
}

// onLoopback reports whether an address is of this machine alone.
func onLoopback(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && Loopback(u.Hostname())
}
