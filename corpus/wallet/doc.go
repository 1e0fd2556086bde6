// Package wallet checks what wallets sign, without a chain: Ethereum
// addresses and EIP-55, recovery of secp256k1 signers, personal messages
// (EIP-191), the typed data of EIP-3009 payments and of x402 offers and
// receipts (EIP-712), and the sign-in texts of Ethereum (EIP-4361) and Solana.
//
// Whether a smart account accepts a signature is a question to its chain and
// is not answered here. Every parser accepts one spelling of a thing.
//
//	signer, err := Recover(PersonalHash(text), signature)
package wallet

import (
	"golang.org/x/crypto/sha3"
)

// Keccak256 is the hash of Ethereum over the concatenation of its arguments.
func Keccak256(data ...[]byte) (digest [32]byte) {
	h := sha3.NewLegacyKeccak256()
	for _, d := range data {
		h.Write(d)
	}
	h.Sum(digest[:0])
	return digest
}
