package buyer

import (
	"context"
	"slices"
	"strings"

	"store.example/agentstore/corpus/wallet"
)

// A family is how the payments of one namespace of CAIP-2 are judged and made. Each has its row in
// families.
type family struct {
	namespace string
	wallet    string // what its wallets are called, for people
	// address brings an account to its one spelling.
	address func(string) (string, error)
	// payer is the address of the configured wallet, empty where there is none.
	payer func(*Config) string
	// judge says why an entry's extra cannot be paid, empty where it can.
	judge func(e *Entry, x wireExtra) string
	// able says why this buyer cannot pay an entry that could be paid, empty where it can.
	able func(c *Config, e *Entry) string
	// seconds is for how long a signature that may be valid for so many is valid.
	seconds func(allowed int64) int64
	// draft decides on all that will be signed; it signs nothing.
	draft func(ctx context.Context, b *Buyer, p *purchase, e Entry) error
	// sign gives the scheme's payload, signed.
	sign func(b *Buyer, p *purchase, e Entry) (any, error)
}

var families = []family{
	{
		namespace: wallet.NamespaceEVM, wallet: "an Ethereum wallet", address: evmAddress, payer: evmPayer,
		judge: evmJudge, able: func(*Config, *Entry) string { return "" },
		seconds: func(allowed int64) int64 { return allowed }, draft: evmDraft, sign: evmSign,
	},
	{
		namespace: wallet.NamespaceSolana, wallet: "a Solana wallet", address: solanaAddress, payer: solanaPayer,
		judge: solanaJudge, able: solanaAble,
		seconds: func(int64) int64 { return solanaSeconds }, draft: solanaDraft, sign: solanaSign,
	},
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
