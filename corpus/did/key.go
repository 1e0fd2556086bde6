package did

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	k1ecdsa "github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// ErrSignature is returned for a signature that does not verify.
var ErrSignature = errors.New("signature does not verify")

// ErrUnsupported is returned for a key or an algorithm that is not known here, which says nothing
// against it.
var ErrUnsupported = errors.New("not a supported kind of key or algorithm")

// The curves.
const (
	Ed25519   = "Ed25519"
	P256      = "P-256"
	Secp256k1 = "secp256k1"
)

// Key is a public key. Bytes is 32 bytes for Ed25519, and X and Y of 32 bytes each for the other
// two.
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

// Verify checks the signature of message under a JOSE algorithm. The errors are ErrSignature and
// ErrUnsupported.
func (k Key) Verify(alg string, message, signature []byte) error {
	if !slices.Contains(k.Algorithms(), alg) {
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
		ok = len(signature) == 64 && k.verifies256k1(message, signature)
	}
	if !ok {
		return ErrSignature
	}
	return nil
}

func (k Key) verifies256k1(message, signature []byte) bool {
	pub, err := secp256k1.ParsePubKey(append([]byte{4}, k.Bytes...))
	var r, s secp256k1.ModNScalar
	if err != nil || r.SetByteSlice(signature[:32]) || s.SetByteSlice(signature[32:]) {
		return false // a number that is not below the order has a twin
	}
	digest := sha256.Sum256(message)
	return k1ecdsa.NewSignature(&r, &s).Verify(digest[:], pub)
}

// JWK is a member of a JSON Web Key Set (RFC 7517): a key, or the reason why it is none that can be
// used here.
type JWK struct {
	KID, Use, Alg string
	NotBefore     int64 // nbf, Unix seconds, 0 when absent
	Expires       int64 // exp
	Key           Key
	Err           error // of Key
	Private       bool  // a private or symmetric member is in it
}

var privateMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"}

// ParseJWK reads one JSON Web Key. The error is of the JSON or of a member's type; a key that
// cannot be used is in Err.
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
	for name, into := range map[string]*string{"kid": &j.KID, "use": &j.Use, "alg": &j.Alg, "kty": &kty, "crv": &crv,
		"x": &x, "y": &y} {
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
		b, err := attest.DecodeBase64URL(s)
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

func (k Key) onCurve() (err error) {
	point := append([]byte{4}, k.Bytes...)
	if k.Curve == P256 {
		_, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	} else {
		_, err = secp256k1.ParsePubKey(point)
	}
	if err != nil {
		return fmt.Errorf("the point is not on %s", k.Curve)
	}
	return nil
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

// ParseMultikey reads z and base58 of a multicodec prefix and a key (Controlled Identifiers 1.0,
// section 2.2.2).
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
		return Key{P256, append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...)}, nil
	case prefix == "\xe7\x01" && len(rest) == 33 && (rest[0] == 2 || rest[0] == 3):
		pub, err := secp256k1.ParsePubKey(rest)
		if err != nil {
			return Key{}, errors.New("reading multikey: the point is not on secp256k1")
		}
		return Key{Secp256k1, pub.SerializeUncompressed()[1:]}, nil
	}
	return Key{}, fmt.Errorf("reading multikey: %w: prefix %x with %d bytes", ErrUnsupported, prefix, len(rest))
}
