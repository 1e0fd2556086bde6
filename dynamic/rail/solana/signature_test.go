package solana_test

import (
	"crypto/ed25519"
	"crypto/sha512"
	"math/big"
	"slices"

	sol "github.com/gagliardetto/solana-go"
)

// otherSignature is a valid signature over a message that is not the one that everybody makes: its
// nonce is the scalar of another key, whose public key is then its point R.
func otherSignature(k sol.PrivateKey, message []byte) []byte {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989",
		10)
	little := func(b []byte) *big.Int {
		b = slices.Clone(b)
		slices.Reverse(b)
		return new(big.Int).SetBytes(b)
	}
	scalar := func(seed []byte) *big.Int {
		h := sha512.Sum512(seed)
		h[0], h[31] = h[0]&248, h[31]&63|64
		return little(h[:32])
	}
	nonce := person("nonce")
	r := nonce.PublicKey()
	pub := k.PublicKey()
	c := sha512.Sum512(slices.Concat(r[:], pub[:], message))
	s := new(big.Int).Mul(little(c[:]), scalar(ed25519.PrivateKey(k).Seed()))
	s.Mod(s.Add(s, scalar(ed25519.PrivateKey(nonce).Seed())), order)
	tail := s.FillBytes(make([]byte, 32))
	slices.Reverse(tail)
	return append(r[:], tail...)
}
