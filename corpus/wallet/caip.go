package wallet

import (
	"fmt"
	"strconv"

	"store.example/agentstore/corpus/networks"
)

// ChainID is a CAIP-2 chain: eip155:8453.
type ChainID struct{ Namespace, Reference string }

// The namespaces of CAIP-2 known here.
const (
	NamespaceEVM    = "eip155"
	NamespaceSolana = "solana"
)

// ParseChainID reads a CAIP-2 chain id.
func ParseChainID(s string) (ChainID, error) {
	namespace, reference, ok := networks.SplitCAIP2(s)
	if !ok {
		return ChainID{}, fmt.Errorf("parsing chain id: %.64q is not CAIP-2", s)
	}
	return ChainID{namespace, reference}, nil
}

// String returns the CAIP-2 form.
func (c ChainID) String() string { return c.Namespace + ":" + c.Reference }

// EVM returns the number of an eip155 chain, which has one spelling.
func (c ChainID) EVM() (uint64, error) {
	n, err := strconv.ParseUint(c.Reference, 10, 64)
	if c.Namespace != NamespaceEVM || err != nil || strconv.FormatUint(n, 10) != c.Reference || n == 0 {
		return 0, fmt.Errorf("reading chain id: %s is no EVM chain", c)
	}
	return n, nil
}

// Account is a CAIP-10 account: an address, in the one spelling of its namespace, on a chain.
type Account struct {
	Chain   ChainID
	Address string
}

// String returns the CAIP-10 form.
func (a Account) String() string { return a.Chain.String() + ":" + a.Address }

// NewAccount brings an address of a chain to its one spelling: of Ethereum's it takes any case, and
// writes that of EIP-55; base58 has one spelling, in which case matters.
func NewAccount(chain ChainID, address string) (Account, error) {
	switch chain.Namespace {
	case NamespaceEVM:
		a, err := ParseAddressAnyCase(address)
		return Account{chain, a.String()}, err
	case NamespaceSolana:
		a, err := ParseSolanaAddress(address)
		return Account{chain, EncodeBase58(a[:])}, err
	}
	return Account{}, fmt.Errorf("reading an account: no addresses of namespace %.8q are known", chain.Namespace)
}
