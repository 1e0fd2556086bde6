// This file reads and writes Bitcoin's base58, in which Solana writes accounts and signatures.
// It stands apart from package wallet, so that who only judges addresses links no signatures of
// chains.

package networks

import (
	"errors"
	"fmt"

	"github.com/mr-tron/base58"
)

// longest bounds what is decoded: enough for a 64-byte signature or a
// Solana transaction id, and short because the cost is quadratic.
const longest = 128

// ErrBase58 is returned for text that is not base58.
var ErrBase58 = errors.New("not base58")

// DecodeBase58 reads text in Bitcoin's alphabet, up to 128 characters; leading 1s are zero bytes.
func DecodeBase58(s string) ([]byte, error) {
	if len(s) > longest {
		return nil, fmt.Errorf("%w: longer than %d characters", ErrBase58, longest)
	}
	if s == "" {
		return nil, nil // which the library refuses
	}
	b, err := base58.Decode(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBase58, err)
	}
	return b, nil
}

// EncodeBase58 writes bytes in Bitcoin's alphabet, as Solana writes accounts and signatures;
// leading zero bytes become 1s. Like reading it, it takes the square of the length.
func EncodeBase58(b []byte) string { return base58.Encode(b) }

// ParseSolanaAccount reads the address of a Solana account: 32 bytes.
func ParseSolanaAccount(s string) ([32]byte, error) {
	b, err := DecodeBase58(s)
	if err != nil {
		return [32]byte{}, err
	}
	if len(b) != 32 {
		return [32]byte{}, fmt.Errorf("%w of a Solana address: %d bytes", ErrBase58, len(b))
	}
	return [32]byte(b), nil
}
