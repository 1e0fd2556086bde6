package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// PageType names what an index of paid pages signs of each.
const PageType = "store-page/v1"

// Page is what an index says, and signs, of a page that is paid for. Digest commits to its body
// without telling anything of it: PageDigest of a salt that comes with the body.
type Page struct {
	Type      string `json:"type"` // PageType
	URL       string `json:"url"`
	Title     string `json:"title"`
	Published string `json:"published"` // UTC date
	Digest    Hex    `json:"digest"`
}

// PageSalt is the salt of a page's body, 32 bytes: the digest of a signature that only the holder
// of the key can make. It is the same for the same key, address and body, so that building again
// changes nothing.
func PageSalt(k *Key, url, body string) Hex {
	sum := sha256.Sum256([]byte(body))
	salt := sha256.Sum256(k.Sign(fmt.Appendf(nil, "store-page-salt/v1\n%s\n%s\n", url, hex.EncodeToString(sum[:]))))
	return salt[:]
}

// PageDigest is the SHA-256 of a salt and the body behind it.
func PageDigest(salt Hex, body string) Hex {
	sum := sha256.Sum256(append(append([]byte{}, salt...), body...))
	return sum[:]
}
