package wallet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Address is an Ethereum account.
type Address [20]byte

// ErrAddress is returned for text that is not an address.
var ErrAddress = errors.New("not an Ethereum address")

// ErrChecksum is returned for an address in mixed case whose case is not its
// EIP-55 checksum.
var ErrChecksum = errors.New("the address's case is not its EIP-55 checksum")

// ParseAddress reads 0x and 40 hexadecimal digits, either all in lower case or
// in the case of EIP-55.
func ParseAddress(s string) (Address, error) {
	a, err := ParseAddressAnyCase(s)
	if err != nil {
		return Address{}, err
	}
	if s != strings.ToLower(s) && s != a.String() {
		return Address{}, fmt.Errorf("%w: %s", ErrChecksum, s)
	}
	return a, nil
}

// ParseChecksummed reads an address in the case of EIP-55 and no other.
func ParseChecksummed(s string) (Address, error) {
	a, err := ParseAddressAnyCase(s)
	if err != nil {
		return Address{}, err
	}
	if s != a.String() {
		return Address{}, fmt.Errorf("%w: %s", ErrChecksum, s)
	}
	return a, nil
}

// ParseAddressAnyCase reads 0x and 40 hexadecimal digits without regard to
// their case, for judging what others publish.
func ParseAddressAnyCase(s string) (a Address, err error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || len(digits) != 2*len(a) {
		return Address{}, fmt.Errorf("%w: %.64q", ErrAddress, s)
	}
	if _, err := hex.Decode(a[:], []byte(digits)); err != nil {
		return Address{}, fmt.Errorf("%w: %.64q", ErrAddress, s)
	}
	return a, nil
}

// String returns the address in the case of EIP-55.
func (a Address) String() string {
	out := []byte("0x" + hex.EncodeToString(a[:]))
	sum := Keccak256(out[2:])
	for i := range 2 * len(a) {
		nibble := sum[i/2] >> 4
		if i%2 == 1 {
			nibble = sum[i/2] & 0xf
		}
		if c := out[2+i]; c >= 'a' && nibble >= 8 {
			out[2+i] = c - 'a' + 'A'
		}
	}
	return string(out)
}

// Lower returns the address in lower case, the form for keys and digests.
func (a Address) Lower() string { return "0x" + hex.EncodeToString(a[:]) }

// IsZero reports whether a is the zero address, which nobody can pay to.
func (a Address) IsZero() bool { return a == Address{} }

// MarshalText writes the EIP-55 form.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what ParseAddress reads.
func (a *Address) UnmarshalText(text []byte) error {
	parsed, err := ParseAddress(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}
