package networks_test

import (
	"bytes"
	"strings"
	"testing"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
)

// Ids stand once and are canonical CAIP-2; each token is on a known chain, with an address of its
// family and, on Ethereum's, the domain that it is signed for.
func TestRows(t *testing.T) {
	ids, v1 := map[string]bool{}, map[string]bool{}
	for _, c := range networks.Chains() {
		chain, err := wallet.ParseChainID(c.ID)
		if err != nil || chain.String() != c.ID || ids[c.ID] || c.Name == "" || c.V1 != "" && v1[c.V1] {
			t.Errorf("chain %+v: %v", c, err)
		}
		ids[c.ID], v1[c.V1] = true, true
	}
	keys := map[[2]string]bool{}
	for _, a := range networks.Known() {
		evm := strings.HasPrefix(a.Network, "eip155:")
		if !ids[a.Network] || keys[[2]string{a.Network, strings.ToLower(a.Address)}] || a.Decimals < 6 ||
			a.Symbol == "" {
			t.Errorf("token %+v", a)
		}
		keys[[2]string{a.Network, strings.ToLower(a.Address)}] = true
		if _, err := wallet.ParseChecksummed(a.Address); evm != (err == nil) {
			t.Errorf("address of %+v: %v", a, err)
		}
		if evm != (a.Name != "" && a.Version != "" && (a.Method == networks.EIP3009 || a.Method == networks.Permit2)) ||
			evm == (a.Method == networks.Transfer) || evm == (a.Program == networks.ProgramToken ||
			a.Program == networks.ProgramToken2022) {
			t.Errorf("how %+v is paid", a)
		}
	}
}

func TestFind(t *testing.T) {
	if c, ok := networks.Find(networks.Base); !ok || c.Name != "Base" || c.Testnet {
		t.Errorf("Base: %+v", c)
	}
	for _, id := range []string{"", "base", "eip155:08453", "EIP155:8453", "eip155:8453 "} {
		if c, ok := networks.Find(id); ok {
			t.Errorf("%q is found: %+v", id, c)
		}
	}
	usdc, ok := networks.USDC(networks.Base)
	if !ok || usdc.Name != "USD Coin" || usdc.Decimals != 6 {
		t.Errorf("USDC on Base: %+v", usdc)
	}
	if a, ok := networks.FindToken(networks.Base, strings.ToLower(usdc.Address)); !ok || a != usdc {
		t.Error("an Ethereum address counts in any case")
	}
	if _, ok := networks.FindToken("eip155:10", "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"); ok {
		t.Error("OP Mainnet is not in the stock client's table")
	}
	// World Chain's coin is known, with the domain whose separator its contract shows, and is none
	// that the stock client pays in unasked.
	world, ok := networks.FindToken("eip155:480", "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1")
	contract, err := wallet.ParseChecksummed(world.Address)
	sum := wallet.Domain{Name: world.Name, Version: world.Version, ChainID: 480,
		VerifyingContract: contract}.Separator()
	if !ok || err != nil || !bytes.HasPrefix(sum[:], []byte{0x93, 0x65, 0x33, 0xd5}) || world.Stock() || !usdc.Stock() {
		t.Errorf("World Chain: %+v, %v, separator %x, stock %v", world, err, sum, world.Stock())
	}
	mint, _ := networks.USDC(networks.Solana)
	if _, ok := networks.FindToken(networks.Solana, mint.Address); !ok {
		t.Error("a mint is not found")
	}
	if _, ok := networks.FindToken(networks.Solana, strings.ToLower(mint.Address)); ok {
		t.Error("a mint counts in its own case alone")
	}
	if _, ok := networks.USDC("eip155:10"); ok {
		t.Error("a network without a row has a coin")
	}
	c := networks.Chains()
	c[0].ID = "changed"
	if networks.Chains()[0].ID == "changed" {
		t.Error("the table is lent")
	}
}
