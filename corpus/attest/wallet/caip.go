package wallet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var chainForm = regexp.MustCompile(`^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$`)

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
