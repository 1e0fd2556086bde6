// Package base58 writes base58 beside the decoder that it is tested with.
package base58

import (
	"math/big"
	"slices"
)

// Encode writes b in Bitcoin's alphabet, as Solana writes accounts and signatures; leading zero
// bytes become 1s.
func Encode(b []byte) string {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var digits []byte
	for n, base, digit := new(big.Int).SetBytes(b), big.NewInt(58), new(big.Int); n.Sign() > 0; {
		n.DivMod(n, base, digit)
		digits = append(digits, alphabet[digit.Int64()])
	}
	for i := 0; i < len(b) && b[i] == 0; i++ {
		digits = append(digits, alphabet[0])
	}
	slices.Reverse(digits)
	return string(digits)
}
