package did

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"agentstore/corpus/attest/wallet"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrSignature is returned for a signature that does not verify.
var ErrSignature = errors.New("signature does not verify")

// ErrUnsupported is returned for a key or an algorithm that is not known here, which says nothing against it.
var ErrUnsupported = errors.New("not a supported kind of key or algorithm")

// The curves.
const (
	Ed25519   = "Ed25519"
	P256      = "P-256"
	Secp256k1 = "secp256k1"
)

// Key is a public key. Bytes is 32 bytes for Ed25519, and X and Y of 32 bytes each for the other two.
type Key struct {
	Curve string
	Bytes []byte
}

// Algorithms returns the JOSE algorithms that the key can verify.
func (k Key) Algorithms() []string {
	switch k.Curve {
	case Ed25519:
		return []string{"EdDSA", "Ed25519"} // RFC 8037; RFC 9864 renamed it
	case P256:
		return []string{"ES256"}
	case Secp256k1:
		return []string{"ES256K"} // RFC 8812
	}
	return nil
}

// Verify checks the signature of message under a JOSE algorithm. The errors are ErrSignature and ErrUnsupported.
func (k Key) Verify(alg string, message, signature []byte) error {
	known := false
	for _, a := range k.Algorithms() {
		known = known || a == alg
	}
	if !known {
		return fmt.Errorf("%w: algorithm %.40q with a %s key", ErrUnsupported, alg, k.Curve)
	}
	ok := false
	switch k.Curve {
	case Ed25519:
		ok = len(k.Bytes) == ed25519.PublicKeySize && ed25519.Verify(k.Bytes, message, signature)
	case P256:
		pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, k.Bytes...))
		if err == nil && len(signature) == 64 {
			sum := sha256.Sum256(message)
			ok = ecdsa.Verify(pub, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
		}
	case Secp256k1:
		ok = len(signature) == 64 && k.recovers(message, signature)
	}
	if !ok {
		return ErrSignature
	}
	return nil
}

var order256k1, _ = new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)

// recovers verifies by recovery: one of the two keys that a signature can come from must be this one.
func (k Key) recovers(message, signature []byte) bool {
	digest := sha256.Sum256(message)
	keccak := wallet.Keccak256(k.Bytes)
	rsv := append(make([]byte, 0, 65), signature...)
	// JOSE does not ask for the lower half of the order, which the recovery demands.
	if s := new(big.Int).SetBytes(signature[32:]); s.Cmp(new(big.Int).Rsh(order256k1, 1)) > 0 && s.Cmp(order256k1) < 0 {
		s.Sub(order256k1, s).FillBytes(rsv[32:64])
	}
	for _, v := range []byte{27, 28} {
		if a, err := wallet.Recover(digest, append(rsv[:64], v)); err == nil && string(a[:]) == string(keccak[12:]) {
			return true
		}
	}
	return false
}

// JWK is a member of a JSON Web Key Set (RFC 7517): a key, or the reason why it is none that can be used here.
type JWK struct {
	KID, Use, Alg string
	NotBefore     int64 // nbf, Unix seconds, 0 when absent
	Expires       int64 // exp
	Key           Key
	Err           error // of Key
	Private       bool  // a private or symmetric member is in it
}

var privateMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"}

// ParseJWK reads one JSON Web Key. The error is of the JSON or of a member's type; a key that cannot be used is in Err.
func ParseJWK(raw []byte) (JWK, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return JWK{}, fmt.Errorf("reading JWK: not a JSON object: %w", err)
	}
	var j JWK
	for _, name := range privateMembers {
		_, ok := members[name]
		j.Private = j.Private || ok
	}
	var kty, crv, x, y string
	for name, into := range map[string]*string{"kid": &j.KID, "use": &j.Use, "alg": &j.Alg, "kty": &kty, "crv": &crv, "x": &x, "y": &y} {
		if v, ok := members[name]; ok {
			if err := json.Unmarshal(v, into); err != nil || v.Kind() != '"' {
				return JWK{}, fmt.Errorf("reading JWK: %s is not a text", name)
			}
		}
	}
	for name, into := range map[string]*int64{"nbf": &j.NotBefore, "exp": &j.Expires} {
		if v, ok := members[name]; ok {
			if err := json.Unmarshal(v, into); err != nil || v.Kind() != '0' {
				return JWK{}, fmt.Errorf("reading JWK: %s is not a number of seconds", name)
			}
		}
	}
	j.Key, j.Err = coordinates(kty, crv, x, y)
	if j.Private {
		j.Key, j.Err = Key{}, errors.New("it holds a private or symmetric key")
	}
	return j, nil
}

func coordinates(kty, crv, x, y string) (Key, error) {
	decode := func(name, s string) ([]byte, error) {
		b, err := Base64URL(s)
		if err != nil || len(b) != 32 {
			return nil, fmt.Errorf("%s is not 32 bytes in base64url", name)
		}
		return b, nil
	}
	switch {
	case kty == "OKP" && crv == Ed25519:
		b, err := decode("x", x)
		return Key{Ed25519, b}, err
	case kty == "EC" && (crv == P256 || crv == Secp256k1):
		bx, err := decode("x", x)
		if err != nil {
			return Key{}, err
		}
		by, err := decode("y", y)
		if err != nil {
			return Key{}, err
		}
		k := Key{crv, append(bx, by...)}
		return k, k.onCurve()
	}
	return Key{}, fmt.Errorf("%w: kty %.40q, crv %.40q", ErrUnsupported, kty, crv)
}

var field256k1, _ = new(big.Int).SetString("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f", 16)

func (k Key) onCurve() error {
	if k.Curve == P256 {
		if _, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, k.Bytes...)); err != nil {
			return errors.New("the point is not on P-256")
		}
		return nil
	}
	x, y := new(big.Int).SetBytes(k.Bytes[:32]), new(big.Int).SetBytes(k.Bytes[32:])
	square := new(big.Int).Mul(y, y)
	if square.Mod(square, field256k1).Cmp(cube256k1(x)) != 0 || x.Cmp(field256k1) >= 0 || y.Cmp(field256k1) >= 0 {
		return errors.New("the point is not on secp256k1")
	}
	return nil
}

// cube256k1 is x³+7, the right side of the curve's equation.
func cube256k1(x *big.Int) *big.Int {
	c := new(big.Int).Exp(x, big.NewInt(3), field256k1)
	return c.Mod(c.Add(c, big.NewInt(7)), field256k1)
}

// MaxKeys bounds a set of keys and the methods of a document.
const MaxKeys = 100

// ParseJWKS reads a JSON Web Key Set of at most MaxKeys keys.
func ParseJWKS(raw []byte) ([]JWK, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("reading JWK set: %w", err)
	}
	if members["keys"].Kind() != '[' {
		return nil, errors.New("reading JWK set: there is no list of keys")
	}
	var list []jsontext.Value
	if err := json.Unmarshal(members["keys"], &list); err != nil {
		return nil, fmt.Errorf("reading JWK set: %w", err)
	}
	if len(list) > MaxKeys {
		return nil, fmt.Errorf("reading JWK set: %d keys, more than %d", len(list), MaxKeys)
	}
	keys := make([]JWK, 0, len(list))
	for i, v := range list {
		k, err := ParseJWK(v)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// ParseMultikey reads z and base58 of a multicodec prefix and a key (Controlled Identifiers 1.0, section 2.2.2).
func ParseMultikey(s string) (Key, error) {
	body, ok := strings.CutPrefix(s, "z")
	if !ok {
		return Key{}, errors.New("reading multikey: it does not begin with z")
	}
	b, err := wallet.DecodeBase58(body)
	if err != nil {
		return Key{}, fmt.Errorf("reading multikey: %w", err)
	}
	if len(b) < 2 {
		return Key{}, errors.New("reading multikey: too short")
	}
	prefix, rest := string(b[:2]), b[2:]
	switch {
	case prefix == "\xed\x01" && len(rest) == 32:
		return Key{Ed25519, rest}, nil
	case prefix == "\x80\x24" && len(rest) == 33:
		x, y := elliptic.UnmarshalCompressed(elliptic.P256(), rest)
		if x == nil {
			return Key{}, errors.New("reading multikey: the point is not on P-256")
		}
		return Key{P256, join(x, y)}, nil
	case prefix == "\xe7\x01" && len(rest) == 33 && (rest[0] == 2 || rest[0] == 3):
		x := new(big.Int).SetBytes(rest[1:])
		y := new(big.Int).ModSqrt(cube256k1(x), field256k1)
		if y == nil || x.Cmp(field256k1) >= 0 {
			return Key{}, errors.New("reading multikey: the point is not on secp256k1")
		}
		if byte(y.Bit(0)) != rest[0]&1 {
			y.Sub(field256k1, y)
		}
		return Key{Secp256k1, join(x, y)}, nil
	}
	return Key{}, fmt.Errorf("reading multikey: %w: prefix %x with %d bytes", ErrUnsupported, prefix, len(rest))
}

func join(x, y *big.Int) []byte {
	b := make([]byte, 64)
	x.FillBytes(b[:32])
	y.FillBytes(b[32:])
	return b
}

// Base64URL decodes unpadded base64url in its one spelling: no line breaks, unused bits zero.
func Base64URL(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("base64url with a line break")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("decoding base64url: %w", err)
	}
	return b, nil
}
