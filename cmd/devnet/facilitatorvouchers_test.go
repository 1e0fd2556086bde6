package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
)

// The stock seller of vouchers, with keys of its own, sells to the stock client and to ours through
// our facilitator: deposits, claims, settlement and refund are its transactions.
func TestSellingVouchersThroughOurFacilitator(t *testing.T) {
	t.Parallel()
	net := chaintest.New(t, chaintest.Options{Networks: []uint64{chain.Networks[0].ChainID}, Buyers: 2})
	w := &world{relayer: person{net.Relayer.Private}, chains: []running{{net.Chain.Chain, chain.Networks[0]}}}
	if err := fresh(&w.payTo); err != nil {
		t.Fatal(err)
	}
	cfg, err := w.prepare(filepath.Join(t.TempDir(), "state"), "127.0.0.1:4020")
	if err != nil {
		t.Fatal(err)
	}
	payTo := w.payTo.address()
	url, _ := openFacilitator(t, cfg, payTo.Hex())
	shelf := startScript(t, "vouchers.mjs", "PAY_TO="+payTo.Hex(), "FACILITATOR="+url,
		"AUTHORIZER="+chaintest.NewKey(t).Hex())
	for i, r := range clients.Buy(t, clients.Options{Key: net.Buyers[0].Hex(), RPC: net.URL, Vouchers: true}, shelf,
		shelf, shelf) {
		if r.Status != 200 || !r.Settled {
			t.Fatalf("stock purchase %d: %+v", i, r)
		}
	}
	key, err := wallet.ParseKey(net.Buyers[1].Hex())
	if err != nil {
		t.Fatal(err)
	}
	b, err := buyer.New(buyer.Config{Wallet: key, Journal: buyer.Folder(t.TempDir()),
		Nodes: map[string]string{net.ID(): net.URL}})
	if err != nil {
		t.Fatal(err)
	}
	had := net.Node.Balance(net.Buyers[1].Address)
	for i := range 2 {
		r, err := b.Buy(t.Context(), shelf, buyer.Options{})
		if err != nil || r.Voucher.Charged != 100_000 || len(r.Warnings) != 0 ||
			(r.Voucher.Deposit == 500_000) != (i == 0) {
			t.Fatalf("our purchase %d: %+v, %v", i, r, err)
		}
	}
	for _, does := range []string{"/claim", "/settle"} {
		resp, err := http.Post(strings.TrimSuffix(shelf, "/api/buy/hello")+does, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %d %s, %v", does, resp.StatusCode, said, err)
		}
	}
	if got := net.Node.Balance(payTo); got != 500_000 {
		t.Errorf("the seller has %d for five purchases", got)
	}
	v, err := b.Refund(t.Context(), shelf, 0)
	if spent := had - net.Node.Balance(net.Buyers[1].Address); err != nil || v.Left != 0 || spent != 200_000 {
		t.Errorf("refunded %+v, %v: %d are spent", v, err, spent)
	}
}
