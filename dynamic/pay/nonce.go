package pay

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// NonceLen is the length of a challenge nonce in characters: base64url of 18 random bytes and an
// 18-byte MAC.
const NonceLen = 48

const nonceBytes = 18

// Nonces makes and recognises challenge nonces without storing them.
type Nonces struct{ keyed *MACs }

// NewNonces derives the nonce key from the store's secret.
func NewNonces(secret []byte) *Nonces {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("store-challenge/v1"))
	return &Nonces{NewMACs(m.Sum(nil))}
}

// New makes a fresh nonce.
func (n *Nonces) New() string {
	var raw [2 * nonceBytes]byte
	rand.Read(raw[:nonceBytes])
	n.mac(raw[nonceBytes:], raw[:nonceBytes])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// Valid reports whether s is a nonce that this store made, in its one spelling.
func (n *Nonces) Valid(s string) bool {
	if len(s) != NonceLen {
		return false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return false
	}
	var want [nonceBytes]byte
	n.mac(want[:], raw[:nonceBytes])
	return hmac.Equal(want[:], raw[nonceBytes:])
}

func (n *Nonces) mac(dst, random []byte) {
	var sum [sha256.Size]byte
	copy(dst, n.keyed.Append(sum[:0], string(random)))
}
