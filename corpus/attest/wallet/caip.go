package wallet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	chainForm   = regexp.MustCompile(`^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$`)
	accountForm = regexp.MustCompile(`^[-.%a-zA-Z0-9]{1,128}$`)
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
	if !chainForm.MatchString(s) {
		return ChainID{}, fmt.Errorf("parsing chain id: %.64q is not CAIP-2", s)
	}
	namespace, reference, _ := strings.Cut(s, ":")
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

// AccountID is a CAIP-10 account: eip155:8453:0x….
type AccountID struct {
	Chain   ChainID
	Address string
}

// ParseAccountID reads a CAIP-10 account. Addresses of eip155 chains must be
// such (ParseAddress), and those of solana base58 of 32 bytes.
func ParseAccountID(s string) (AccountID, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || !accountForm.MatchString(s[i+1:]) {
		return AccountID{}, fmt.Errorf("parsing account id: %.200q is not CAIP-10", s)
	}
	chain, err := ParseChainID(s[:i])
	if err != nil {
		return AccountID{}, err
	}
	a := AccountID{chain, s[i+1:]}
	switch chain.Namespace {
	case NamespaceEVM:
		_, err = ParseAddress(a.Address)
	case NamespaceSolana:
		_, err = ParseSolanaAddress(a.Address)
	}
	if err != nil {
		return AccountID{}, fmt.Errorf("parsing account id: %w", err)
	}
	return a, nil
}

// String returns the CAIP-10 form.
func (a AccountID) String() string { return a.Chain.String() + ":" + a.Address }
