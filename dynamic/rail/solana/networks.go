package solana

import (
	"store.example/agentstore/corpus/networks"
)

// Preset is what is known of a cluster (CAIP-2) in advance, and whether it is one that a store can
// sell on. Names and USDC's mint come from package networks, which repeats the stock client's
// table, so that stock buyers pay them.
func Preset(network string) (Config, bool) {
	chain, known := networks.Find(network)
	token, ok := networks.USDC(network)
	if !known || !ok || token.Program != networks.ProgramToken {
		return Config{}, false
	}
	return Config{
		Network: network, Name: chain.Name, Asset: token.Address, Symbol: token.Symbol, Decimals: token.Decimals,
	}, true
}
