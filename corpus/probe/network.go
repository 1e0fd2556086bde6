package probe

import (
	"math/big"
	"strings"

	"agentstore/corpus/exchange"
)

// NetworkTable names the state of the rows in this file: the stock x402 packages whose tables they repeat, and the date
// on which they were read.
const NetworkTable = "x402-2.27.0/2026-11-20"

// A Network is a chain known by its CAIP-2 name.
type Network struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Testnet bool   `json:"testnet"`
	V1      string `json:"v1,omitzero"` // its short name in x402 version 1
}

// The Solana clusters, by the genesis reference that CAIP-2 uses.
const (
	SolanaMainnet = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	SolanaDevnet  = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
	SolanaTestnet = "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z"
)

// Networks returns the known chains. A chain that is not here is not judged by its name.
func Networks() []Network {
	return []Network{
		{"eip155:1", "Ethereum", false, "ethereum"},
		{"eip155:10", "OP Mainnet", false, ""},
		{"eip155:14", "Flare", false, "flare"},
		{"eip155:50", "XDC", false, ""},
		{"eip155:51", "XDC Apothem", true, ""},
		{"eip155:56", "BNB Smart Chain", false, ""},
		{"eip155:97", "BNB Smart Chain testnet", true, ""},
		{"eip155:100", "Gnosis", false, ""},
		{"eip155:137", "Polygon", false, "polygon"},
		{"eip155:143", "Monad", false, "monad"},
		{"eip155:300", "zkSync Sepolia", true, ""},
		{"eip155:324", "zkSync Era", false, ""},
		{"eip155:480", "World Chain", false, ""},
		{"eip155:988", "Stable", false, "stable"},
		{"eip155:1301", "Unichain Sepolia", true, ""},
		{"eip155:1328", "Sei testnet", true, "sei-testnet"},
		{"eip155:1329", "Sei", false, "sei"},
		{"eip155:1337", "local development chain", true, ""},
		{"eip155:1514", "Story", false, "story"},
		{"eip155:2201", "Stable testnet", true, "stable-testnet"},
		{"eip155:2741", "Abstract", false, "abstract"},
		{"eip155:3338", "peaq", false, "peaq"},
		{"eip155:4326", "MegaETH", false, "megaeth"},
		{"eip155:4689", "IoTeX", false, "iotex"},
		{"eip155:4801", "World Chain Sepolia", true, ""},
		{"eip155:8453", "Base", false, "base"},
		{"eip155:10143", "Monad testnet", true, ""},
		{"eip155:11124", "Abstract testnet", true, "abstract-testnet"},
		{"eip155:17000", "Holesky", true, ""},
		{"eip155:31337", "local development chain", true, ""},
		{"eip155:31611", "Mezo testnet", true, ""},
		{"eip155:31612", "Mezo", false, ""},
		{"eip155:36900", "ADI", false, ""},
		{"eip155:38833", "Igra", false, ""},
		{"eip155:41923", "EDU Chain", false, "educhain"},
		{"eip155:42161", "Arbitrum One", false, ""},
		{"eip155:42220", "Celo", false, "celo"},
		{"eip155:43113", "Avalanche Fuji", true, "avalanche-fuji"},
		{"eip155:43114", "Avalanche C-Chain", false, "avalanche"},
		{"eip155:59141", "Linea Sepolia", true, ""},
		{"eip155:59144", "Linea", false, ""},
		{"eip155:72344", "Radius testnet", true, ""},
		{"eip155:80002", "Polygon Amoy", true, "polygon-amoy"},
		{"eip155:84532", "Base Sepolia", true, "base-sepolia"},
		{"eip155:181228", "HPP Sepolia", true, ""},
		{"eip155:190415", "HPP", false, ""},
		{"eip155:421614", "Arbitrum Sepolia", true, ""},
		{"eip155:534351", "Scroll Sepolia", true, ""},
		{"eip155:534352", "Scroll", false, ""},
		{"eip155:560048", "Hoodi", true, ""},
		{"eip155:723487", "Radius", false, ""},
		{"eip155:11142220", "Celo Sepolia", true, ""},
		{"eip155:11155111", "Sepolia", true, "sepolia"},
		{"eip155:11155420", "OP Sepolia", true, ""},
		{"eip155:324705682", "SKALE Base Sepolia", true, "skale-base-sepolia"},
		{SolanaMainnet, "Solana", false, "solana"},
		{SolanaDevnet, "Solana devnet", true, "solana-devnet"},
		{SolanaTestnet, "Solana testnet", true, "solana-testnet"},
	}
}

// An Asset is a token that the stock client pays in without being told to.
type Asset struct {
	Network  string `json:"network"`
	Symbol   string `json:"symbol"`
	Address  string `json:"asset"`
	Name     string `json:"name,omitzero"`    // of its EIP-712 domain
	Version  string `json:"version,omitzero"` // of its EIP-712 domain
	Decimals int    `json:"decimals"`
	Method   string `json:"method"` // eip3009, permit2, or the Solana token program
}

// DefaultAssets returns the stock client's own table, in its order.
func DefaultAssets() []Asset {
	const solanaDev = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
	return []Asset{
		{"eip155:8453", "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2", 6, "eip3009"},
		{"eip155:84532", "USDC", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2", 6, "eip3009"},
		{"eip155:1", "USDC", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin", "2", 6, "eip3009"},
		{"eip155:43114", "USDC", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "USD Coin", "2", 6, "eip3009"},
		{"eip155:4326", "MegaUSD", "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7", "MegaUSD", "1", 18, "permit2"},
		{"eip155:143", "USDC", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC", "2", 6, "eip3009"},
		{"eip155:988", "USDT0", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "USDT0", "1", 6, "eip3009"},
		{"eip155:2201", "USDT0", "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9", "USDT0", "1", 6, "eip3009"},
		{"eip155:137", "USDC", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin", "2", 6, "eip3009"},
		{"eip155:42161", "USDC", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USD Coin", "2", 6, "eip3009"},
		{"eip155:421614", "USDC", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", "USD Coin", "2", 6, "eip3009"},
		{"eip155:31612", "mUSD", "0xdD468A1DDc392dcdbEf6db6e34E89AA338F9F186", "Mezo USD", "1", 18, "permit2"},
		{"eip155:31611", "mUSD", "0x118917a40FAF1CD7a13dB0Ef56C86De7973Ac503", "Mezo USD", "1", 18, "permit2"},
		{"eip155:723487", "SBC", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "Stable Coin", "1", 6, "permit2"},
		{"eip155:72344", "SBC", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb", "Stable Coin", "1", 6, "permit2"},
		{"eip155:36900", "USDC.e", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2", "USDC.e", "2", 6, "eip3009"},
		{"eip155:190415", "USDC.e", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", 6, "eip3009"},
		{"eip155:181228", "USDC.e", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", 6, "eip3009"},
		{"eip155:50", "USDC", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC", "2", 6, "eip3009"},
		{"eip155:51", "USDC", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC", "2", 6, "eip3009"},
		{"eip155:38833", "USDC", "0xA5b8BF902b2844dA17d4506cc827F7F1681735E7", "USDC", "1", 6, "permit2"},
		{"eip155:14", "USDT0", "0xe7cd86e13AC4309349F30B3435a9d337750fC82D", "USD₮0", "1", 6, "eip3009"},
		{"eip155:42220", "USDC", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC", "2", 6, "eip3009"},
		{"eip155:42220", "USDT", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e", "Tether USD", "1", 6, "eip3009"},
		{"eip155:42220", "USAT", "0xD2ab3C9A02DBBAB236BfEC45D1d755DF4267F771", "Tether America USD", "1", 6, "eip3009"},
		{"eip155:11142220", "USDC", "0x01C5C0122039549AD1493B8220cABEdD739BC44E", "USDC", "2", 6, "eip3009"},
		{"eip155:1329", "USDC", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC", "2", 6, "eip3009"},
		{"eip155:1328", "USDC", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC", "2", 6, "eip3009"},
		{SolanaMainnet, "USDC", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "", "", 6, "token"},
		{SolanaMainnet, "USDT", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "", "", 6, "token"},
		{SolanaMainnet, "USDG", "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", "", "", 6, "token-2022"},
		{SolanaMainnet, "PYUSD", "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", "", "", 6, "token-2022"},
		{SolanaMainnet, "CASH", "CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH", "", "", 6, "token-2022"},
		{SolanaDevnet, "USDC", solanaDev, "", "", 6, "token"},
		{SolanaDevnet, "USDG", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "", "", 6, "token-2022"},
		{SolanaDevnet, "PYUSD", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "", "", 6, "token-2022"},
		{SolanaTestnet, "USDC", solanaDev, "", "", 6, "token"},
		{SolanaTestnet, "USDG", "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7", "", "", 6, "token-2022"},
		{SolanaTestnet, "PYUSD", "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM", "", "", 6, "token-2022"},
	}
}

// tables are the rows by key, built once: reading them is all that anybody does.
var networksByID = func() map[string]Network {
	m := map[string]Network{}
	for _, n := range Networks() {
		m[n.ID] = n
	}
	return m
}()

// shortNames are the names of networks in x402 version 1.
var shortNames = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range Networks() {
		if n.V1 != "" {
			m[n.V1] = true
		}
	}
	return m
}()

// IsShortName reports whether a text is the name of a known network in x402 version 1.
func IsShortName(network string) bool { return shortNames[network] }

var assetsByKey = func() map[string]Asset {
	m := map[string]Asset{}
	for _, a := range DefaultAssets() {
		m[assetKey(a.Network, a.Address)] = a
	}
	return m
}()

// assetKey folds the case of an Ethereum address; a Solana mint keeps its own.
func assetKey(network, address string) string {
	if strings.HasPrefix(network, "eip155:") {
		address = strings.ToLower(address)
	}
	return network + "|" + address
}

// DefaultAsset returns the row of a token that the stock client pays in unasked.
func DefaultAsset(network, address string) (Asset, bool) {
	a, ok := assetsByKey[assetKey(network, address)]
	return a, ok
}

// capUSD is the most that an unattended stock client pays at once, in dollars.
const capUSD = 1

// withinCap reports whether an amount of digits is at most the stock client's ceiling in a token of so many decimals.
func withinCap(amount string, decimals int) bool {
	n, ok := new(big.Int).SetString(amount, 10)
	if !ok {
		return false
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	return n.Cmp(limit.Mul(limit, big.NewInt(capUSD))) <= 0
}

// The families of networks that the battery knows how to judge.
const (
	familyEVM    = "eip155"
	familySolana = "solana"
)

// family is the namespace of a CAIP-2 name, "" for a name of another form.
func family(network string) string {
	namespace, reference, ok := strings.Cut(network, ":")
	if !ok || len(namespace) < 3 || len(namespace) > 8 || reference == "" || len(reference) > 32 ||
		strings.Trim(namespace, "-0123456789abcdefghijklmnopqrstuvwxyz") != "" ||
		strings.Trim(reference, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	return namespace
}

// isChainID accepts what the stock client accepts: eip155 and digits.
func isChainID(network string) bool {
	digits, ok := strings.CutPrefix(network, familyEVM+":")
	return ok && isDigits(digits)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isEVMForm tells whether a form is one of an Ethereum address, payable or not.
func isEVMForm(form string) bool {
	return form == exchange.FormEVM || form == exchange.FormEVMBadChecksum || form == exchange.FormEVMZero
}

// USDC returns an entry's amount in atomic units of USDC, six decimals, without leading zeros: only where the asset is
// the stock client's USDC on a network that is no test network and the amount is a whole number that fits.
func (r Requirement) USDC() (atomic string, ok bool) {
	a, ok := DefaultAsset(r.Network, r.Asset)
	if !ok || a.Symbol != "USDC" || a.Decimals != 6 || networksByID[r.Network].Testnet || r.amountProblem() != "" {
		return "", false
	}
	atomic = strings.TrimLeft(r.Amount, "0")
	if atomic == "" {
		atomic = "0"
	}
	return atomic, true
}
