package main

import (
	"fmt"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
)

// The unmodified stock client that signs in before it pays gets a lost answer again without a
// payment, and is charged once: by a key, by a contract (EIP-1271) and by a key of Solana. Where it
// has bought nothing it pays.
func TestStockClientsSignInForALostAnswer(t *testing.T) {
	s, c := openFive(t)
	node := s.nodes[0]
	network := node.Network.ID()
	since, err := node.RPC.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var paid []clients.Result
	earned := c.earned(t)
	for _, b := range []struct {
		who string
		o   clients.Options
	}{
		{"key", clients.Options{Key: s.net.Buyers[1].Hex(), Network: network}},
		{"contract", clients.Options{Key: s.net.Wallet.Owner.Hex(), Wallet: s.net.Wallet.Address.Hex(),
			Network: network}},
		{"solana", clients.Options{Key: wallet.EncodeBase58(c.buyers[0]), Network: networks.Solana, RPC: c.URL}},
	} {
		url := fmt.Sprintf("%s/api/buy/hello?agent_name=signs-in-by-%s", s.url, b.who)
		b.o.SignIn = true
		// The first answer is lost; the second call knows nothing of it.
		r := clients.Buy(t, b.o, url, url, url+"-another")
		if r[0].Status != 200 || r[0].Payment == "" || r[2].Status != 200 || r[2].Payment == "" {
			t.Errorf("%s buys: %d %s %.300s, %d", b.who, r[0].Status, r[0].Error, r[0].Body, r[2].Status)
		}
		if r[1].Status != 200 || r[1].Payment != "" || !strings.Contains(r[1].Body, `"idempotent_replay":true`) {
			t.Errorf("%s signs in: %d, paid %t, %s %.600s", b.who, r[1].Status, r[1].Payment != "", r[1].Error,
				r[1].Body)
		}
		if b.who != "solana" {
			paid = append(paid, r[0], r[2])
		}
	}
	if n := charged(t, node, s.payTo.address(), since+1, paid); n != len(paid) {
		t.Errorf("charged %d times, want %d", n, len(paid))
	}
	if got := c.earned(t) - earned; got != 1_000_000 {
		t.Errorf("earned %d on Solana for two purchases", got)
	}
}
