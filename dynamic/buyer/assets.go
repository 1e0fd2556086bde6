package buyer

import (
	"slices"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
)

// Asset is a token that is paid without asking further.
type Asset struct {
	Network string `json:"network"` // CAIP-2
	Chain   string `json:"chain"`   // for people
	Symbol  string `json:"symbol"`
	Address string `json:"address"` // EIP-55, or the mint in base58
	Name    string `json:"name"`    // of the EIP-712 domain, which Solana has none of
	Version string `json:"version"` // of the same
	Test    bool   `json:"test"`    // a test network, whose tokens are worth nothing
}

// assets are the rows of package networks that the buyer pays in: the US dollar coins of Circle and
// their bridged forms that are paid by EIP-3009, or by a transfer of Solana's classic token
// program, and have six decimals.
var assets = func() (list []Asset) {
	for _, t := range networks.Known() {
		paid := t.Method == networks.EIP3009 || t.Method == networks.Transfer && t.Program == networks.ProgramToken
		if !paid || t.Decimals != decimals || t.Symbol != "USDC" && t.Symbol != "USDC.e" {
			continue
		}
		chain, _ := networks.Find(t.Network) // every token is on a known chain
		list = append(list, Asset{t.Network, chain.Name, t.Symbol, t.Address, t.Name, t.Version, chain.Testnet})
	}
	return list
}()

// decimals are those of every asset.
const decimals = 6

func findAsset(network, address string) (Asset, bool) {
	i := slices.IndexFunc(assets, func(a Asset) bool {
		return a.Network == network && networks.SameAddress(network, a.Address, address)
	})
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
