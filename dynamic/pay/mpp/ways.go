package mpp

import (
	"encoding/json/jsontext"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/rail"
)

// way is one way to pay terms: a method, and of a method with several its profile.
type way struct {
	method string
	kind   string // methodDetails.type, "" where the method has no types
	// asks is the request for terms, and whether they can be paid this way. order names the
	// purchase that the request is one of several offers of.
	asks func(a rail.Requirement, order string) (charge, bool)
	// network is the CAIP-2 name of the network that a request is for, "" for none.
	network func(details) string
	// read reads what was signed.
	read func(c *credential, payload jsontext.Value) error
	// pays compares what was signed with the terms, at a time, and says what else they ask.
	pays func(c *credential, want *rail.Requirement, now time.Time) error
}

// ways are the methods, in the order in which they are offered. Stock clients take the first that
// they know.
var ways = []way{
	{"evm", "", asksEVM, networkEVM, readAuthorization, paysEVM},
	{"usdc", "evm", asksUSDC, networkUSDC, readAuthorization, paysUSDC},
	{"usdc", "solana", asksSolana, networkSolana, readTransaction, paysSolana},
}

// What is paid by every method, and where method evm is.
const (
	networkOfEVM = networks.Base // of method evm, whose stock client knows no other
	decimals     = 6             // of USDC
)

func asksEVM(a rail.Requirement, _ string) (charge, bool) {
	id, ok := authorizes(a)
	return charge{Amount: a.Amount, Currency: a.Asset, Recipient: a.PayTo,
		MethodDetails: details{ChainID: id, CredentialTypes: []string{credType}, Decimals: decimals},
	}, ok && a.Network == networkOfEVM
}

func networkEVM(d details) string { return chainName(d.ChainID) }

// authorizes reports terms on an EVM network that an authorization of the token's own pays, and
// gives the network's number.
func authorizes(a rail.Requirement) (id uint64, ok bool) {
	reference, isEVM := strings.CutPrefix(a.Network, "eip155:")
	_, otherwise := a.Extra["assetTransferMethod"]
	id, err := strconv.ParseUint(reference, 10, 64)
	return id, isEVM && err == nil && !otherwise && a.Scheme == "exact"
}

// chainName is the CAIP-2 name of an EVM network.
func chainName(id uint64) string { return "eip155:" + strconv.FormatUint(id, 10) }

// way is the one that a request of a method was made for, nil for none.
func (r charge) way(method string) *way {
	d := r.MethodDetails
	for i, w := range ways {
		if w.method == method && w.kind == d.Type && (d.EVM != nil) == (d.Type == "evm") &&
			(d.Solana != nil) == (d.Type == "solana") {
			return &ways[i]
		}
	}
	return nil
}

// spoken reports whether a method is one of ours.
func spoken(method string) bool {
	return slices.ContainsFunc(ways, func(w way) bool { return w.method == method })
}

// methods are their names, each once.
func methods(between string) string {
	var all []string
	for _, w := range ways {
		all = append(all, w.method)
	}
	return strings.Join(slices.Compact(all), between)
}
