package record

import (
	"slices"

	"store.example/agentstore/corpus/networks"
)

// ShortNames are the names by which version 1 of x402 knows networks, sorted: a door may write one
// where a CAIP-2 name belongs, and an offer tells which. Package judge holds them to the table of
// networks.
var ShortNames = []string{
	"abstract", "abstract-testnet", "avalanche", "avalanche-fuji", "base", "base-sepolia", "celo",
	"educhain", "ethereum", "flare", "iotex", "megaeth", "monad", "peaq", "polygon", "polygon-amoy",
	"sei", "sei-testnet", "sepolia", "skale-base-sepolia", "solana", "solana-devnet", "solana-testnet",
	"stable", "stable-testnet", "story",
}

// isNetwork accepts a CAIP-2 name and the word for what is none.
func isNetwork(s string) bool { return networks.CAIP2Name(s) == s }

// isOffered accepts a network as an offer lists it.
func isOffered(s string) bool {
	if isNetwork(s) {
		return true
	}
	_, known := slices.BinarySearch(ShortNames, s)
	return known
}
