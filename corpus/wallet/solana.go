package wallet

import (
	"crypto/ed25519"
	"encoding/hex"
	"slices"

	"store.example/agentstore/corpus/networks"
)

// DecodeBase58 is networks.DecodeBase58.
func DecodeBase58(s string) ([]byte, error) { return networks.DecodeBase58(s) }

// EncodeBase58 is networks.EncodeBase58.
func EncodeBase58(b []byte) string { return networks.EncodeBase58(b) }

// ParseSolanaAddress is networks.ParseSolanaAccount.
func ParseSolanaAddress(s string) ([32]byte, error) { return networks.ParseSolanaAccount(s) }

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
