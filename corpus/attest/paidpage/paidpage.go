// Package paidpage is what a store signs of a page that is paid for, and what its body is known by
// before it is bought.
package paidpage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"store.example/agentstore/corpus/attest"
)

// Type names what an index of paid pages signs of each.
const Type = "store-page/v1"

// Page is what an index says, and signs, of a page that is paid for. Digest commits to its body
// without telling anything of it: Digest of a salt that comes with the body.
type Page struct {
	Type      string     `json:"type"` // Type
	URL       string     `json:"url"`
	Title     string     `json:"title"`
	Published string     `json:"published"` // UTC date
	Digest    attest.Hex `json:"digest"`
}

// Salt is the salt of a page's body, 32 bytes: the digest of a signature that only the holder
// of the key can make. It is the same for the same key, address and body, so that building again
// changes nothing.
func Salt(k *attest.Key, url, body string) attest.Hex {
	sum := sha256.Sum256([]byte(body))
	salt := sha256.Sum256(k.Sign(fmt.Appendf(nil, "store-page-salt/v1\n%s\n%s\n", url, hex.EncodeToString(sum[:]))))
	return salt[:]
}

// Digest is the SHA-256 of a salt and the body behind it.
func Digest(salt attest.Hex, body string) attest.Hex {
	sum := sha256.Sum256(append(append([]byte{}, salt...), body...))
	return sum[:]
}
