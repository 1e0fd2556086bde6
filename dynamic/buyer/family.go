package buyer

import (
	"slices"
	"strings"

	"store.example/agentstore/corpus/wallet"
)

// A family is how accounts of one namespace of CAIP-2 are read. Each has its row in families.
type family struct {
	namespace string
	wallet    string // what its wallets are called, for people
	// address brings an account to its one spelling.
	address func(string) (string, error)
	// payer is the address of the configured wallet, empty where there is none.
	payer func(*Config) string
}

var families = []family{
	{namespace: wallet.NamespaceEVM, wallet: "an Ethereum wallet", address: evmAddress, payer: evmPayer},
	{namespace: wallet.NamespaceSolana, wallet: "a Solana wallet", address: solanaAddress, payer: solanaPayer},
}

// familyOf is the family of a network; ok is false for one that is not known.
func familyOf(network string) (f family, ok bool) {
	namespace, _, _ := strings.Cut(network, ":")
	i := slices.IndexFunc(families, func(f family) bool { return f.namespace == namespace })
	if i < 0 {
		return family{}, false
	}
	return families[i], true
}

// hasWallet reports whether anything can be paid.
func (c *Config) hasWallet() bool {
	return slices.ContainsFunc(families, func(f family) bool { return f.payer(c) != "" })
}
