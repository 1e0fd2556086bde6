// A PaidPage is what a store signs of a page that is paid for, and what its body is known by
// before it is bought.

package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// PaidPageType names what an index of paid pages signs of each.
const PaidPageType = "store-page/v1"

// PaidPage is what an index says, and signs, of a page that is paid for. Digest commits to its body
// without telling anything of it: Digest of a salt that comes with the body.
type PaidPage struct {
	Type      string `json:"type"` // Type
	URL       string `json:"url"`
	Title     string `json:"title"`
	Published string `json:"published"` // UTC date
	Digest    Hex    `json:"digest"`
}

// PaidPageSalt is the salt of a page's body, 32 bytes: the digest of a signature that only the
// holder of the key can make. It is the same for the same key, address and body, so that building
// again
// changes nothing.
func PaidPageSalt(k *Key, url, body string) Hex {
	sum := sha256.Sum256([]byte(body))
	salt := sha256.Sum256(k.Sign(fmt.Appendf(nil, "store-page-salt/v1\n%s\n%s\n", url, hex.EncodeToString(sum[:]))))
	return salt[:]
}

// PaidPageDigest is the SHA-256 of a salt and the body behind it.
func PaidPageDigest(salt Hex, body string) Hex {
	sum := sha256.Sum256(append(append([]byte{}, salt...), body...))
	return sum[:]
}
