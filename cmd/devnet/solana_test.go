package main

import (
	"crypto/ed25519"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
)

// earned is what payTo has on the cluster.
func (s *cluster) earned(t *testing.T) int64 {
	t.Helper()
	n, err := s.balance(s.payTo)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The unmodified stock client buys on Solana at the doors that it buys at on the others, within its
// own limit and beyond it.
func TestStockClientBuysOnSolana(t *testing.T) {
	s, c := openFive(t)
	o := clients.Options{Key: wallet.EncodeBase58(c.buyers[0]), Network: networks.Solana, RPC: c.URL}
	buy := func(o clients.Options, path string, price int64) {
		t.Helper()
		before := c.earned(t)
		r := clients.Buy(t, o, s.url+path)[0]
		var body struct {
			Certificate map[string]any `json:"certificate"`
			Idempotent  bool           `json:"idempotent_replay"`
		}
		json.Unmarshal([]byte(r.Body), &body)
		if r.Status != 200 || !r.Settled || body.Certificate["network"] != networks.Solana ||
			body.Certificate["payer"] != address(c.buyers[0]) || body.Idempotent {
			t.Errorf("%s: status %d, settled %v, error %q, body %.600s", path, r.Status, r.Settled, r.Error, r.Body)
		}
		if got := c.earned(t) - before; got != price {
			t.Errorf("%s earned %d, want %d", path, got, price)
		}
	}
	buy(o, "/api/buy/hello", 500_000)
	buy(o, "/api/buy/small_blessing", 5_000)
	buy(o, "/api/buy/the_confession?detail="+url.QueryEscape("I read the manual."), 10_000)
	post := o
	post.Body = `{"detail":"I wrote the manual."}`
	buy(post, "/api/buy/the_confession", 10_000)

	before := c.earned(t)
	page := clients.Buy(t, o, s.url+"/almanac/a-cent")[0]
	if page.Status != 200 || !page.Settled || len(page.Body) < 200 || strings.HasPrefix(page.Body, "{") ||
		c.earned(t)-before != 10_000 {
		t.Errorf("a page: status %d, settled %v, error %q, earned %d, %.300s", page.Status, page.Settled, page.Error,
			c.earned(t)-before, page.Body)
	}

	dear := clients.Buy(t, o, s.url+"/api/buy/pet_rock")[0]
	if !strings.Contains(dear.Error, "rejected by spendControls.maxAmountPerPayment") || dear.Payment != "" {
		t.Errorf("pet_rock for 5 USD: status %d, error %q, want a refusal by the client", dear.Status, dear.Error)
	}
	o.SpendOff = true
	buy(o, "/api/buy/pet_rock", 5_000_000)

	// One who has no dollars is refused by the store.
	var poor ed25519.PrivateKey
	if err := freshSolana(&poor); err != nil {
		t.Fatal(err)
	}
	if err := c.give(poor, 0); err != nil {
		t.Fatal(err)
	}
	o.Key = wallet.EncodeBase58(poor)
	if r := clients.Buy(t, o, s.url+"/api/buy/hello")[0]; r.Status != 402 || r.Settled || r.Payment == "" {
		t.Errorf("without a dollar: status %d, settled %v, error %q, want 402", r.Status, r.Settled, r.Error)
	}
}
