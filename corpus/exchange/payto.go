package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"golang.org/x/crypto/sha3"

	"store.example/agentstore/corpus/networks"
)

// PayToDigest is how an advertised address is published: the SHA-256, in
// lower-case hexadecimal, of store-pay-to/v1|<network>|<address>. The network
// is written as in CAIP-2, and is networks.OtherNetwork for what is no such name, so that
// an address can be looked up whatever a door writes beside it. An Ethereum
// address counts in lower case, so that its digest does not depend on how a door
// spells it. The digest hides nothing from someone who tries addresses.
func PayToDigest(network, address string) string {
	sum := sha256.Sum256([]byte("store-pay-to/v1|" + networks.CAIP2Name(network) + "|" + addressKey(address)))
	return hex.EncodeToString(sum[:])
}

// The forms of an advertised address, which is all that a check needs of it.
const (
	FormEVM            = "evm"              // 0x and 40 digits, its case plain or a right checksum
	FormEVMBadChecksum = "evm-bad-checksum" // mixed case that is no EIP-55 checksum
	FormEVMZero        = "evm-zero"         // the zero address
	FormSolana         = "solana"           // base58 of 32 bytes
	FormName           = "name"             // such as shop.eth
	FormEmpty          = "empty"
	FormNotAString     = "not-a-string"
	FormOther          = "other"
)

// PayToForm tells which form an advertised address has.
func PayToForm(address string) string {
	switch {
	case address == "":
		return FormEmpty
	case isHexAddress(address):
		digits := address[2:]
		switch {
		case strings.Trim(digits, "0") == "":
			return FormEVMZero
		case digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) && digits != checksum(digits):
			return FormEVMBadChecksum
		}
		return FormEVM
	case isSolanaAddress(address):
		return FormSolana
	case strings.Contains(strings.Trim(address, "."), ".") && !strings.ContainsAny(address, " \t\r\n/"):
		return FormName
	}
	return FormOther
}

func isHexAddress(s string) bool {
	return len(s) == 42 && strings.HasPrefix(s, "0x") && strings.Trim(s[2:], "0123456789abcdefABCDEF") == ""
}

// checksum is the case of EIP-55 for 40 digits.
func checksum(digits string) string {
	out := []byte(strings.ToLower(digits))
	h := sha3.NewLegacyKeccak256()
	h.Write(out)
	sum := h.Sum(nil)
	for i, c := range out {
		nibble := sum[i/2] >> 4
		if i%2 == 1 {
			nibble = sum[i/2] & 0xf
		}
		if c >= 'a' && nibble >= 8 {
			out[i] = c - 'a' + 'A'
		}
	}
	return string(out)
}

// isSolanaAddress reports whether s is base58 of 32 bytes.
func isSolanaAddress(s string) bool {
	const longest = 44 // characters
	if len(s) > longest {
		return false
	}
	_, err := networks.ParseSolanaAccount(s)
	return err == nil
}
