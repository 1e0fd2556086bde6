// Package networks is the one table of chains and of the tokens that x402 clients pay in:
// what a chain is called, whether its money is real, where its tokens are and under which EIP-712
// domain they are signed for. The batteries, the client's selection, the buyer, the archive and the
// rails derive from it; nobody keeps a second one.
//
// The rows are facts about other people's networks. Version names the state that they repeat.
package networks

import (
	"slices"
	"strings"
)

// Version names the state of the rows: the stock x402 packages whose tables they repeat (the
// default assets of @x402/evm and @x402/svm, in their order), and the date on which they were read
// and the tokens beside them were looked up.
const Version = "x402-2.27.0/2026-11-30"

// A Chain is a network known by its CAIP-2 name.
type Chain struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Testnet bool   `json:"testnet"`
	V1      string `json:"v1,omitzero"` // its short name in x402 version 1
}

// The Solana clusters, by the genesis reference that CAIP-2 uses, and the networks that are named
// in code.
const (
	Base          = "eip155:8453"
	Solana        = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	SolanaDevnet  = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
	SolanaTestnet = "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z"
)

// How a stock client pays in a token.
const (
	EIP3009  = "eip3009"
	Permit2  = "permit2"
	Transfer = "transfer" // a Solana token transfer
)

// The token programs of Solana.
const (
	ProgramToken     = "token"
	ProgramToken2022 = "token-2022"
)

// A Token is one that is known here.
type Token struct {
	Network  string `json:"network"`
	Symbol   string `json:"symbol"`
	Address  string `json:"asset"`            // contract in the case of EIP-55, or mint
	Name     string `json:"name,omitzero"`    // of its EIP-712 domain; empty on Solana
	Version  string `json:"version,omitzero"` // of the same domain
	Decimals int    `json:"decimals"`
	Method   string `json:"method"`
	Program  string `json:"program,omitzero"` // on Solana
}

// Chains returns the known chains. A chain that is not here is not judged by its name.
func Chains() []Chain { return slices.Clone(chains) }

// Find returns a chain by its CAIP-2 name.
func Find(id string) (Chain, bool) {
	i, ok := chainRows[id]
	if !ok {
		return Chain{}, false
	}
	return chains[i], true
}

// FindV1 returns a chain by its short name in x402 version 1.
func FindV1(name string) (Chain, bool) {
	i := slices.IndexFunc(chains, func(c Chain) bool { return name != "" && c.V1 == name })
	if i < 0 {
		return Chain{}, false
	}
	return chains[i], true
}

// Tokens returns the stock client's own table, in its order.
func Tokens() []Token { return slices.Clone(tokens) }

// Known returns the stock client's own table, and after it the tokens that other clients pay in and
// it refuses until it is told of them.
func Known() []Token { return slices.Clone(known) }

// FindToken returns the row of a known token: of an Ethereum address in any case, of a Solana mint
// in its own.
func FindToken(network, address string) (Token, bool) {
	i, ok := tokenRows[tokenKey(network, address)]
	if !ok {
		return Token{}, false
	}
	return known[i], true
}

// Stock reports whether the stock client pays in a token without being told to.
func (t Token) Stock() bool {
	i, ok := tokenRows[tokenKey(t.Network, t.Address)]
	return ok && i < len(tokens)
}

// IsToken reports whether an address is a token's of any network.
func IsToken(address string) bool {
	return slices.ContainsFunc(tokens, func(t Token) bool { return SameAddress(t.Network, t.Address, address) })
}

// USDC returns Circle's dollar coin of a network, as the stock client knows it.
func USDC(network string) (Token, bool) {
	i := slices.IndexFunc(tokens, func(t Token) bool { return t.Network == network && t.Symbol == "USDC" })
	if i < 0 {
		return Token{}, false
	}
	return tokens[i], true
}

// SameAddress reports whether two spellings name one account or token of a network.
func SameAddress(network, a, b string) bool { return tokenKey(network, a) == tokenKey(network, b) }

// tokenKey folds the case of an Ethereum address; a Solana mint keeps its own.
func tokenKey(network, address string) [2]string {
	if strings.HasPrefix(network, "eip155:") {
		address = strings.ToLower(address)
	}
	return [2]string{network, address}
}

// chainRows and tokenRows are the rows by key, made once: reading them is all that anybody does.
var (
	chainRows = rowsBy(chains, func(c Chain) string { return c.ID })
	known     = slices.Concat(tokens, beside)
	tokenRows = rowsBy(known, func(t Token) [2]string { return tokenKey(t.Network, t.Address) })
)

func rowsBy[T any, K comparable](rows []T, key func(T) K) map[K]int {
	m := make(map[K]int, len(rows))
	for i, r := range rows {
		m[key(r)] = i
	}
	return m
}
