package solana

import (
	"errors"
	"fmt"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
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
	programToken     = key(networks.SPLToken)
	programToken2022 = key(networks.SPLToken2022)
	programBudget    = mustKey("ComputeBudget111111111111111111111111111111")
	programMemo      = mustKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	programGuard     = mustKey("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95") // Lighthouse
	sysvarClock      = mustKey("SysvarC1ock11111111111111111111111111111111")
)

// associated is the address of an owner's token account for a mint of the classic token program.
func associated(owner, mint key) key {
	return networks.SPLAssociated(owner, programToken, mint)
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
