package chain

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"

	"store.example/agentstore/cmd/devnet/token"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// A Network is a real network that a chain here stands in for.
type Network struct {
	Name    string // a short name for people
	ChainID uint64
	Asset   common.Address // its dollar token
	Domain  string         // first eight hex digits of the token's DOMAIN_SEPARATOR, from public records
}

// Names in the token's EIP-712 domain, the same on all four networks.
const (
	TokenName    = "USD Coin"
	TokenVersion = "2"
	TokenSymbol  = "USDC"
)

// Networks lists the networks that have a chain here, first network first.
var Networks = []Network{
	{"Base", 8453, common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"), "02fa7265"},
	{"Polygon", 137, common.HexToAddress("0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"), "caa2ce1a"},
	{"Arbitrum One", 42161, common.HexToAddress("0xaf88d065e77c8cC2239327C5EDb3A432268e5831"), "08d11903"},
	{"Avalanche C-Chain", 43114, common.HexToAddress("0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"), "bbea2003"},
}

// unsold are networks on which nothing is sold. Their token here has the name of the others, so it
// is one to count transfers of, and not to sign for.
var unsold = []Network{
	{"World Chain", 480, common.HexToAddress("0x79A02482A880bCE3F13e09Da970dC34db4CD24d1"), "936533d5"},
}

// ByID returns the network with the given chain id, also one on which nothing is sold.
func ByID(chainID uint64) (Network, bool) {
	all := slices.Concat(Networks, unsold)
	i := slices.IndexFunc(all, func(n Network) bool { return n.ChainID == chainID })
	if i < 0 {
		return Network{}, false
	}
	return all[i], true
}

// ID returns the CAIP-2 id, such as eip155:8453.
func (n Network) ID() string { return fmt.Sprintf("eip155:%d", n.ChainID) }

// Addresses of the contracts beside the token. Multicall, and Permit2 with its proxy and the
// escrows with their collectors (token), are where real chains have them; the others are our own
// choice.
var (
	Multicall = common.HexToAddress("0xcA11bde05977b3631167028862bE2a173976CA11")
	Delegate  = common.HexToAddress("0x00000000000000000000000000000000DE1E6A7E")
	Factory   = common.HexToAddress("0x00000000000000000000000000000000Fac70121")
	Spender   = common.HexToAddress("0x000000000000000000000000000000005Be4de12")
)

// An Opening says who holds what when a chain is born.
type Opening struct {
	Minter  common.Address                    // keeper of the token: mints, pauses, blacklists
	Gas     []common.Address                  // accounts with a thousand coins for gas
	Dollars map[common.Address]int64          // token balances in atomic units
	Wallets map[common.Address]common.Address // EIP-1271 wallets, address to owner
	Code    map[common.Address][]byte         // further contracts
	Permit2 []common.Address                  // accounts that allow Permit2 to move their dollars
}

// Alloc returns the genesis accounts of network n: the token at its asset address, the contracts
// beside it, gas, wallets.
func (n Network) Alloc(o Opening) types.GenesisAlloc {
	dollar := token.Dollar{Name: TokenName, Version: TokenVersion, Symbol: TokenSymbol, Minter: o.Minter,
		Balances: o.Dollars, Approved: o.Permit2}
	alloc := types.GenesisAlloc{
		n.Asset:   dollar.Account(),
		Multicall: token.Plain(token.MulticallContract),
		Delegate:  token.Plain(token.DelegateContract),
		Factory:   token.Plain(token.FactoryContract),
		Spender:   token.Plain(token.SpenderContract),

		token.Permit2Address: token.Plain(token.Permit2Contract),
		token.ProxyAddress:   token.Plain(token.ProxyContract),

		token.EscrowAddress:         token.Plain(token.EscrowContract),
		token.DepositAddress:        token.Plain(token.DepositContract),
		token.DepositPermit2Address: token.Plain(token.DepositPermit2Contract),

		token.CaptureAddress:        token.Plain(token.CaptureContract),
		token.CapturePayAddress:     token.Plain(token.CapturePayContract),
		token.CapturePermit2Address: token.Plain(token.CapturePermit2Contract),
		token.CaptureRefundAddress:  token.Plain(token.CaptureRefundContract),
	}
	for wallet, owner := range o.Wallets {
		alloc[wallet] = token.Wallet(owner)
	}
	for a, code := range o.Code {
		alloc[a] = types.Account{Nonce: 1, Balance: new(big.Int), Code: code}
	}
	for _, a := range o.Gas {
		alloc[a] = types.Account{Balance: new(big.Int).Mul(big.NewInt(1000), big.NewInt(params.Ether))}
	}
	return alloc
}

// WriteGenesis writes the chain's genesis.json, from which another node makes the same block 0
// contents.
func (c *Chain) WriteGenesis(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(Genesis(c.cfg.ChainID, c.cfg.GenesisTime, c.cfg.Alloc)); err != nil {
		return fmt.Errorf("writing genesis: %w", err)
	}
	return nil
}

// rules are the rules of a chain that starts on every live fork. The future fork that go-ethereum's
// own developer chain turns on (Bogota) is left off: it changes what gas costs.
func rules(chainID uint64) *params.ChainConfig {
	conf := *params.AllDevChainProtocolChanges
	conf.ChainID = new(big.Int).SetUint64(chainID)
	conf.BogotaTime = nil
	return &conf
}
