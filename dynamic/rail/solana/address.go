package solana

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"store.example/agentstore/corpus/attest/wallet"
)

// key is an account's address: an ed25519 public key, or 32 bytes that a program derives and nobody
// can sign for.
type key [32]byte

func (k key) String() string { return wallet.EncodeBase58(k[:]) }

// parseKey reads an address in its one spelling.
func parseKey(s string) (key, error) {
	b, err := wallet.ParseSolanaAddress(s)
	if err == nil && key(b).String() != s {
		err = errors.New("not in the one spelling of its address")
	}
	return key(b), err
}

func mustKey(s string) key {
	k, err := parseKey(s)
	if err != nil {
		panic("solana: " + s + ": " + err.Error())
	}
	return k
}

// The programs that a payment may name, and what is read of the chain.
var (
	programToken     = mustKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	programToken2022 = mustKey("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	programBudget    = mustKey("ComputeBudget111111111111111111111111111111")
	programMemo      = mustKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	programGuard     = mustKey("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")  // Lighthouse
	programAccount   = mustKey("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL") // makes associated token accounts
	sysvarClock      = mustKey("SysvarC1ock11111111111111111111111111111111")
)

// associated is the address of an owner's token account for a mint of the classic token program.
func associated(owner, mint key) key {
	return derived(programAccount, owner[:], programToken[:], mint[:])
}

// TokenAccount is the address of an owner's token account for a mint of the classic token program,
// all in base58. A payment takes from the payer's and goes to payTo's.
func TokenAccount(owner, mint string) (string, error) {
	o, err := parseKey(owner)
	if err != nil {
		return "", fmt.Errorf("owner %q: %w", owner, err)
	}
	m, err := parseKey(mint)
	if err != nil {
		return "", fmt.Errorf("mint %q: %w", mint, err)
	}
	return associated(o, m).String(), nil
}

// derived is the first address of a program for some seeds that is no public key (Solana's
// find_program_address).
func derived(program key, seeds ...[]byte) key {
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		for _, s := range seeds {
			h.Write(s)
		}
		h.Write([]byte{byte(bump)})
		h.Write(program[:])
		h.Write([]byte("ProgramDerivedAddress"))
		if k := key(h.Sum(nil)); !onCurve(k) {
			return k
		}
	}
	panic("solana: no address derives from these seeds") // of 2^256 cases one
}

var (
	prime  = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19)) // of the field
	curveD = func() *big.Int {                                                      // -121665/121666
		d := new(big.Int).ModInverse(big.NewInt(121666), prime)
		return d.Mod(d.Mul(d, big.NewInt(-121665)), prime)
	}()
)

// onCurve reports whether 32 bytes are the encoding of a point of edwards25519, as Solana
// decompresses them: by whether x² = (y²-1)/(dy²+1) has a root, whatever the sign says and whether
// or not y is below the prime.
func onCurve(k key) bool {
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
