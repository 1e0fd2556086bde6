package buyer

import (
	"slices"
	"strings"

	"agentstore/corpus/attest/wallet"
)

// AssetsVersion names the table that Assets follows: the default assets of the stock x402 packages of that version,
// of which it holds the US dollar coins of Circle and their bridged forms that are paid by EIP-3009 and have six
// decimals.
const AssetsVersion = "2.27.0"

// Asset is a token that is paid without asking further.
type Asset struct {
	Network string `json:"network"` // CAIP-2
	Chain   string `json:"chain"`   // for people
	Symbol  string `json:"symbol"`
	Address string `json:"address"` // EIP-55
	Name    string `json:"name"`    // of the EIP-712 domain
	Version string `json:"version"` // of the EIP-712 domain
	Test    bool   `json:"test"`    // a test network, whose tokens are worth nothing
}

var assets = []Asset{
	{"eip155:8453", "Base", "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2", false},
	{"eip155:84532", "Base Sepolia", "USDC", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2", true},
	{"eip155:1", "Ethereum", "USDC", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin", "2", false},
	{"eip155:43114", "Avalanche C-Chain", "USDC", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", "USD Coin", "2", false},
	{"eip155:143", "Monad", "USDC", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC", "2", false},
	{"eip155:137", "Polygon", "USDC", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", "USD Coin", "2", false},
	{"eip155:42161", "Arbitrum One", "USDC", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "USD Coin", "2", false},
	{"eip155:421614", "Arbitrum Sepolia", "USDC", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", "USD Coin", "2", true},
	{"eip155:36900", "ADI", "USDC.e", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2", "USDC.e", "2", false},
	{"eip155:190415", "HPP", "USDC.e", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", false},
	{"eip155:181228", "HPP Sepolia", "USDC.e", "0x401eCb1D350407f13ba348573E5630B83638E30D", "Bridged USDC", "2", true},
	{"eip155:50", "XDC", "USDC", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC", "2", false},
	{"eip155:51", "XDC Apothem", "USDC", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC", "2", true},
	{"eip155:42220", "Celo", "USDC", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC", "2", false},
	{"eip155:11142220", "Celo Sepolia", "USDC", "0x01C5C0122039549AD1493B8220cABEdD739BC44E", "USDC", "2", true},
	{"eip155:1329", "Sei", "USDC", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC", "2", false},
	{"eip155:1328", "Sei testnet", "USDC", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC", "2", true},
}

// Assets returns the table of tokens that are paid, AssetsVersion.
func Assets() []Asset { return slices.Clone(assets) }

func findAsset(network, address string) (Asset, bool) {
	i := slices.IndexFunc(assets, func(a Asset) bool { return a.Network == network && strings.EqualFold(a.Address, address) })
	if i < 0 {
		return Asset{}, false
	}
	return assets[i], true
}

func chainName(network string) string {
	i := slices.IndexFunc(assets, func(a Asset) bool { return a.Network == network })
	if i < 0 {
		return ""
	}
	return assets[i].Chain
}

// domain is what a payment in the token is signed under. The table is tested to parse.
func (a Asset) domain() (wallet.Domain, error) {
	chain, err := wallet.ParseChainID(a.Network)
	if err != nil {
		return wallet.Domain{}, err
	}
	id, err := chain.EVM()
	if err != nil {
		return wallet.Domain{}, err
	}
	address, err := wallet.ParseChecksummed(a.Address)
	if err != nil {
		return wallet.Domain{}, err
	}
	return wallet.Domain{Name: a.Name, Version: a.Version, ChainID: id, VerifyingContract: address}, nil
}
