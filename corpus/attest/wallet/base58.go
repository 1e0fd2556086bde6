package wallet

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// maxBase58 bounds what is decoded: enough for a 64-byte signature or a
// Solana transaction id, and short because the cost is quadratic.
const maxBase58 = 128

// ErrBase58 is returned for text that is not base58.
var ErrBase58 = errors.New("not base58")

// DecodeBase58 reads text in Bitcoin's alphabet, up to 128 characters; leading 1s are zero bytes.
func DecodeBase58(s string) ([]byte, error) {
	if len(s) > maxBase58 {
		return nil, fmt.Errorf("%w: longer than %d characters", ErrBase58, maxBase58)
	}
	zeros := 0
	for zeros < len(s) && s[zeros] == base58Alphabet[0] {
		zeros++
	}
	var bytes []byte // little-endian
	for i := zeros; i < len(s); i++ {
		carry := indexBase58(s[i])
		if carry < 0 {
			return nil, fmt.Errorf("%w: %q", ErrBase58, s[i])
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

// EncodeBase58 writes bytes in Bitcoin's alphabet, as Solana writes accounts and signatures;
// leading zero bytes become 1s. Like reading it, it takes the square of the length.
func EncodeBase58(b []byte) string {
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
		out = append(out, base58Alphabet[0])
	}
	for _, d := range slices.Backward(digits) {
		out = append(out, base58Alphabet[d])
	}
	return string(out)
}

func indexBase58(c byte) int {
	for i := range len(base58Alphabet) {
		if base58Alphabet[i] == c {
			return i
		}
	}
	return -1
}

// ParseSolanaAddress reads a base58 address of 32 bytes.
func ParseSolanaAddress(s string) ([32]byte, error) {
	b, err := DecodeBase58(s)
	if err != nil {
		return [32]byte{}, err
	}
	if len(b) != 32 {
		return [32]byte{}, fmt.Errorf("%w of a Solana address: %d bytes", ErrBase58, len(b))
	}
	return [32]byte(b), nil
}

// smallOrder lists the y coordinates of the eight points of small order on
// Curve25519, in each of their encodings, without the sign bit. A key among
// them verifies signatures that nobody made.
var smallOrder = [...]string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

// VerifySolana reports whether a Solana wallet signed message: ed25519 over
// its bytes as they are. Like Solana's own nodes it refuses keys of small
// order, and signatures whose point R is of small order.
func VerifySolana(pub [32]byte, message string, signature []byte) bool {
	return len(signature) == ed25519.SignatureSize && !isSmallOrder(pub) && !isSmallOrder([32]byte(signature)) &&
		ed25519.Verify(pub[:], []byte(message), signature)
}

func isSmallOrder(point [32]byte) bool {
	point[31] &= 0x7f
	return slices.Contains(smallOrder[:], hex.EncodeToString(point[:]))
}
