// Package base58 reads and writes Bitcoin's base58, in which Solana writes accounts and signatures.
// It stands apart from package wallet, so that who only judges addresses links no signatures of
// chains.
package base58

import (
	"errors"
	"fmt"
	"slices"
)

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// longest bounds what is decoded: enough for a 64-byte signature or a
// Solana transaction id, and short because the cost is quadratic.
const longest = 128

// Err is returned for text that is not base58.
var Err = errors.New("not base58")

// Decode reads text in Bitcoin's alphabet, up to 128 characters; leading 1s are zero bytes.
func Decode(s string) ([]byte, error) {
	if len(s) > longest {
		return nil, fmt.Errorf("%w: longer than %d characters", Err, longest)
	}
	zeros := 0
	for zeros < len(s) && s[zeros] == alphabet[0] {
		zeros++
	}
	var bytes []byte // little-endian
	for i := zeros; i < len(s); i++ {
		carry := index(s[i])
		if carry < 0 {
			return nil, fmt.Errorf("%w: %q", Err, s[i])
		}
		for j := range bytes {
			carry += int(bytes[j]) * 58
			bytes[j] = byte(carry)
			carry >>= 8
		}
		for ; carry > 0; carry >>= 8 {
			bytes = append(bytes, byte(carry))
		}
	}
	out := make([]byte, zeros, zeros+len(bytes))
	for i := len(bytes) - 1; i >= 0; i-- {
		out = append(out, bytes[i])
	}
	return out, nil
}

// Encode writes bytes in Bitcoin's alphabet, as Solana writes accounts and signatures;
// leading zero bytes become 1s. Like reading it, it takes the square of the length.
func Encode(b []byte) string {
	zeros := 0
	for zeros < len(b) && b[zeros] == 0 {
		zeros++
	}
	var digits []byte // little-endian
	for _, c := range b[zeros:] {
		carry := int(c)
		for j := range digits {
			carry += int(digits[j]) << 8
			digits[j] = byte(carry % 58)
			carry /= 58
		}
		for ; carry > 0; carry /= 58 {
			digits = append(digits, byte(carry%58))
		}
	}
	out := make([]byte, 0, zeros+len(digits))
	for range zeros {
		out = append(out, alphabet[0])
	}
	for _, d := range slices.Backward(digits) {
		out = append(out, alphabet[d])
	}
	return string(out)
}

func index(c byte) int {
	for i := range len(alphabet) {
		if alphabet[i] == c {
			return i
		}
	}
	return -1
}

// ParseAccount reads the address of a Solana account: 32 bytes.
func ParseAccount(s string) ([32]byte, error) {
	b, err := Decode(s)
	if err != nil {
		return [32]byte{}, err
	}
	if len(b) != 32 {
		return [32]byte{}, fmt.Errorf("%w of a Solana address: %d bytes", Err, len(b))
	}
	return [32]byte(b), nil
}
