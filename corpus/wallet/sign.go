package wallet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// SignatureSize is the length of r, s and v.
const SignatureSize = 65

// ErrSignature is returned for bytes that are no signature, or not in the one
// spelling that is accepted.
var ErrSignature = errors.New("not an acceptable secp256k1 signature")

// Recover returns the account that signed digest. The signature is r, s and v
// with v 27 or 28 (see NormalizeV) and s in the lower half of the group order
// (EIP-2), so that none has a second spelling. A signature by another key or
// of another digest recovers to another address or to none.
func Recover(digest [32]byte, signature []byte) (Address, error) {
	if len(signature) != SignatureSize {
		return Address{}, fmt.Errorf("%w: %d bytes", ErrSignature, len(signature))
	}
	v := signature[64]
	if v != 27 && v != 28 {
		return Address{}, fmt.Errorf("%w: v is %d", ErrSignature, v)
	}
	var s secp256k1.ModNScalar
	if overflow := s.SetByteSlice(signature[32:64]); overflow || s.IsZero() || s.IsOverHalfOrder() {
		return Address{}, fmt.Errorf("%w: s is out of range", ErrSignature)
	}
	var compact [SignatureSize]byte
	compact[0] = v
	copy(compact[1:], signature[:64])
	pub, _, err := ecdsa.RecoverCompact(compact[:], digest[:])
	if err != nil {
		return Address{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return addressOf(pub), nil
}

// NormalizeV returns the signature with a v of 0 or 1, as some wallets and
// libraries write it, raised to 27 or 28. Everything else is returned as it is.
func NormalizeV(signature []byte) []byte {
	if len(signature) != SignatureSize || signature[64] > 1 {
		return signature
	}
	out := append([]byte(nil), signature...)
	out[64] += 27
	return out
}

// ParseSignature reads 0x and hexadecimal digits of either case into bytes of
// any length up to max.
func ParseSignature(s string, max int) ([]byte, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || len(digits) > 2*max {
		return nil, fmt.Errorf("%w: not 0x and at most %d bytes of hexadecimal", ErrSignature, max)
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return b, nil
}

func addressOf(pub *secp256k1.PublicKey) (a Address) {
	sum := Keccak256(pub.SerializeUncompressed()[1:])
	copy(a[:], sum[12:])
	return a
}

// Key is a secp256k1 private key, as the built-in buyer, the relayer and tests
// hold. It does not show itself when printed or logged.
type Key struct {
	private *secp256k1.PrivateKey
	address Address
}

// ParseKey reads 64 hexadecimal digits with or without 0x.
func ParseKey(s string) (*Key, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil || len(b) != 32 {
		return nil, errors.New("parsing wallet key: not 32 bytes of hexadecimal")
	}
	var n secp256k1.ModNScalar
	if overflow := n.SetByteSlice(b); overflow || n.IsZero() {
		return nil, errors.New("parsing wallet key: out of range")
	}
	p := secp256k1.NewPrivateKey(&n)
	return &Key{p, addressOf(p.PubKey())}, nil
}

// Address returns the key's account.
func (k *Key) Address() Address { return k.address }

// Secret returns the private key as 0x and 64 digits, for the one place that
// stores it.
func (k *Key) Secret() string { return "0x" + hex.EncodeToString(k.private.Serialize()) }

// Sign returns r, s and v (27 or 28) over digest; s is low, and the same digest
// always gives the same signature (RFC 6979).
func (k *Key) Sign(digest [32]byte) []byte {
	compact := ecdsa.SignCompact(k.private, digest[:], false)
	return append(compact[1:], compact[0])
}

// Format writes the account, whatever the verb, so that a private key cannot
// reach a log by accident.
func (k *Key) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "wallet key of %s", k.address) }

// LogValue is the account.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.address.String()) }

// PersonalHash is what a wallet signs for a text (EIP-191, version 0x45).
func PersonalHash(message string) [32]byte {
	return Keccak256([]byte("\x19Ethereum Signed Message:\n"+strconv.Itoa(len(message))), []byte(message))
}
