// This file derives the addresses of Solana's associated token accounts, without a node. It
// stands apart from package wallet, so that who only judges addresses links no signatures of
// chains.

package networks

import (
	"crypto/sha256"
	"math/big"
	"slices"
)

// A SolanaKey is an account's address: an ed25519 public key, or 32 bytes that a program derives
// and nobody can sign for.
type SolanaKey = [32]byte

func mustKey(s string) SolanaKey {
	k, err := ParseSolanaAccount(s)
	if err != nil {
		panic("spl: " + s + ": " + err.Error())
	}
	return k
}

// The programs whose accounts hold tokens, and the one that makes associated accounts.
var (
	SPLToken      = mustKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	SPLToken2022  = mustKey("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	SPLAssociates = mustKey("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
)

// SPLAssociated is the address of an owner's token account for a mint of a token program.
func SPLAssociated(owner, program, mint SolanaKey) SolanaKey {
	return SolanaDerived(SPLAssociates, owner[:], program[:], mint[:])
}

// SolanaDerived is the first address of a program for some seeds that is no public key (Solana's
// find_program_address).
func SolanaDerived(program SolanaKey, seeds ...[]byte) SolanaKey {
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		for _, s := range seeds {
			h.Write(s)
		}
		h.Write([]byte{byte(bump)})
		h.Write(program[:])
		h.Write([]byte("ProgramDerivedAddress"))
		if k := SolanaKey(h.Sum(nil)); !OnSolanaCurve(k) {
			return k
		}
	}
	panic("spl: no address derives from these seeds") // of 2^256 cases one
}

var (
	prime  = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19)) // of the field
	curveD = func() *big.Int {                                                      // -121665/121666
		d := new(big.Int).ModInverse(big.NewInt(121666), prime)
		return d.Mod(d.Mul(d, big.NewInt(-121665)), prime)
	}()
)

// OnSolanaCurve reports whether 32 bytes are the encoding of a point of edwards25519, as Solana
// decompresses them: by whether x² = (y²-1)/(dy²+1) has a root, whatever the sign says and whether
// or not y is below the prime.
func OnSolanaCurve(k SolanaKey) bool {
	b := slices.Clone(k[:])
	b[31] &= 0x7f
	slices.Reverse(b)
	yy := new(big.Int).SetBytes(b)
	yy.Mod(yy.Mul(yy, yy), prime)
	u := new(big.Int).Sub(yy, big.NewInt(1))
	v := new(big.Int).Mul(yy, curveD)
	v.Add(v, big.NewInt(1))
	u.Mod(u.Mul(u, v), prime) // is a square where u/v is
	return big.Jacobi(u, prime) >= 0
}
