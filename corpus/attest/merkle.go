package attest

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
)

// Digest is a SHA-256 digest, written in JSON as lower-case hexadecimal.
type Digest [sha256.Size]byte

// MarshalText writes d in lower-case hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return Hex(d[:]).MarshalText() }

// UnmarshalText reads 64 lower-case hexadecimal characters.
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// String returns d in lower-case hexadecimal.
func (d Digest) String() string { return Hex(d[:]).String() }

// LeafHash is SHA-256(0x00 || data), RFC 6962, section 2.1.
func LeafHash(data []byte) Digest {
	h := sha256.New()
	h.Write([]byte{0})
	h.Write(data)
	var d Digest
	h.Sum(d[:0])
	return d
}

// NodeHash is SHA-256(0x01 || left || right), RFC 6962, section 2.1.
func NodeHash(left, right Digest) Digest {
	var b [1 + 2*sha256.Size]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+sha256.Size:], right[:])
	return sha256.Sum256(b[:])
}

// MerkleRoot is the tree hash of leaf hashes, RFC 6962, section 2.1: a tree is
// split at the largest power of two below its size; no leaves give SHA-256 of
// nothing.
func MerkleRoot(leaves []Digest) Digest {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	default:
		k := 1 << (bits.Len(uint(n-1)) - 1)
		return NodeHash(MerkleRoot(leaves[:k]), MerkleRoot(leaves[k:]))
	}
}

// ParseDigest reads 64 lower-case hexadecimal characters.
func ParseDigest(s string) (Digest, error) {
	b, err := ParseHex(s)
	if err != nil {
		return Digest{}, err
	}
	if len(b) != sha256.Size {
		return Digest{}, fmt.Errorf("parsing digest: %d bytes instead of %d", len(b), sha256.Size)
	}
	return Digest(b), nil
}
