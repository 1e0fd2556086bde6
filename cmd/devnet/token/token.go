// Package token holds the contracts that the local chains are born with and the calls to them,
// packed by hand.
//
// The dollar (sol/DevDollar.sol) answers the public interface of the dollar token it stands in for:
// ERC-20, EIP-3009, EIP-2612 and EIP-1271 signatures, with the same event order and error texts. It
// has no constructor, so a genesis account with code and a few storage slots is a working token:
//
//	alloc[asset] = token.Dollar{Name: "USD Coin", Version: "2", Symbol: "USDC", Minter: minter, Balances: balances}.Account()
//
// The artifact contracts.json is committed; build/ holds its recipe, and a test compiles again and
// compares. Nothing here is for use outside local chains.
package token

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

//go:embed contracts.json
var artifact []byte

// Names of the contracts, as in their sources.
const (
	DollarContract    = "DevDollar"         // the token
	MulticallContract = "Multicall"         // many calls in one
	WalletContract    = "SmartWallet"       // an EIP-1271 wallet with one owner key
	DelegateContract  = "Delegate"          // a target for EIP-7702 delegation that signs with the account's own key
	FactoryContract   = "WalletFactory"     // deploys SmartWallets by CREATE2
	Permit2Contract   = "Permit2"           // transfers by signature
	ProxyContract     = "ExactPermit2Proxy" // settles x402 payments by Permit2
	EscrowContract    = "BatchSettlement"   // keeps channels, out of which vouchers are paid

	DepositContract        = "ERC3009DepositCollector" // fetches deposits for the escrow
	DepositPermit2Contract = "Permit2DepositCollector" // the same by Permit2

	CaptureContract        = "AuthCaptureEscrow"       // keeps payments that are authorized until they are captured
	CapturePayContract     = "ERC3009PaymentCollector" // fetches them
	CapturePermit2Contract = "Permit2PaymentCollector" // the same by Permit2
	CaptureRefundContract  = "OperatorRefundCollector" // fetches refunds from an operator
	CaptureStoreContract   = "TokenStore"              // holds what an operator authorized; the escrow deploys it

	SpenderContract = "Spender" // makes many calls in one transaction, forges events
)

// A Contract is one compiled contract.
type Contract struct {
	Source  string            `json:"source"`  // file under sol
	Runtime string            `json:"runtime"` // code as it stands on chain, 0x hex
	Methods map[string]string `json:"methods"` // signature to selector, 8 hex digits
}

var contracts = sync.OnceValue(func() map[string]Contract {
	var a struct {
		Contracts map[string]Contract `json:"contracts"`
	}
	if err := json.Unmarshal(artifact, &a); err != nil {
		panic(fmt.Sprintf("token: contracts.json: %v", err))
	}
	return a.Contracts
})

// Code returns the runtime code of the contract called name, one of the constants above. It panics
// on another name.
func Code(name string) []byte {
	c, ok := contracts()[name]
	if !ok {
		panic("token: no contract " + name)
	}
	return common.FromHex(c.Runtime)
}

// Storage slots of the dollar, in the order of its state variables.
const (
	slotName = iota
	slotVersion
	slotSymbol
	slotMinter
	slotSupply
	slotBalances
	slotAllowances
	slotUsed
	slotNonces
	slotBlacklist
)

// Dollar describes a token as it stands at genesis. Balances are atomic units (six decimals).
// Name, Version and Symbol must be shorter than 32 bytes.
type Dollar struct {
	Name, Version, Symbol string
	Minter                common.Address // may mint, pause and blacklist
	Paused                bool
	Balances              map[common.Address]int64
	Blacklist             []common.Address
	Approved              []common.Address // accounts that allow Permit2 to move whatever they have
}

// Account returns the genesis account that is this token.
func (d Dollar) Account() types.Account {
	minter := common.BytesToHash(d.Minter[:])
	minter[10] = 6 // decimals lie above paused, which lies above the address
	if d.Paused {
		minter[11] = 1
	}
	storage := map[common.Hash]common.Hash{
		slot(slotName):    short(d.Name),
		slot(slotVersion): short(d.Version),
		slot(slotSymbol):  short(d.Symbol),
		slot(slotMinter):  minter,
	}
	var supply int64
	for owner, amount := range d.Balances {
		storage[BalanceSlot(owner)] = common.BigToHash(big.NewInt(amount))
		supply += amount
	}
	storage[slot(slotSupply)] = common.BigToHash(big.NewInt(supply))
	for _, account := range d.Approved {
		at := crypto.Keccak256Hash(common.BytesToHash(Permit2Address[:]).Bytes(),
			inMapping(common.BytesToHash(account[:]), slotAllowances).Bytes())
		storage[at] = common.MaxHash
	}
	for _, account := range d.Blacklist {
		storage[inMapping(common.BytesToHash(account[:]), slotBlacklist)] = slot(1)
	}
	return types.Account{Nonce: 1, Balance: new(big.Int), Code: Code(DollarContract), Storage: storage}
}

// BalanceSlot returns the storage slot that holds owner's balance.
func BalanceSlot(owner common.Address) common.Hash {
	return inMapping(common.BytesToHash(owner[:]), slotBalances)
}

// Plain returns the genesis account of a contract without state, or one that begins with none:
// Multicall, Delegate, WalletFactory, Permit2, ExactPermit2Proxy or Spender.
func Plain(name string) types.Account {
	return types.Account{Nonce: 1, Balance: new(big.Int), Code: Code(name)}
}

// Wallet returns the genesis account of an EIP-1271 wallet owned by owner.
func Wallet(owner common.Address) types.Account {
	a := Plain(WalletContract)
	a.Storage = map[common.Hash]common.Hash{slot(0): common.BytesToHash(owner[:])}
	return a
}

func slot(n uint64) (h common.Hash) {
	binary.BigEndian.PutUint64(h[24:], n)
	return h
}

// inMapping is Solidity's place of mapping[key] for a mapping at the given slot.
func inMapping(key common.Hash, at uint64) common.Hash {
	return crypto.Keccak256Hash(key[:], slot(at).Bytes())
}

// short is Solidity's storage form of a string under 32 bytes: the text, and twice its length in
// the last byte.
func short(s string) (h common.Hash) {
	if len(s) > 31 {
		panic("token: string too long for one slot: " + s)
	}
	copy(h[:], s)
	h[31] = byte(2 * len(s))
	return h
}
