package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/laboratory"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/shop"
)

// openFacilitator serves a facilitator on a network of the test, for payTo, as store facilitator
// does. The function that is returned stops it.
func openFacilitator(t *testing.T, cfg *shop.Config, payTo string) (url string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := *cfg
	own.Facilitator = shop.FacilitatorConfig{Listen: ln.Addr().String(), PayTo: []string{payTo}}
	own.Ledger = strings.Replace(cfg.Ledger, "ledger.bolt", "facilitator.bolt", 1)
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	open, err := shop.OpenFacilitator(ctx, &own, shop.Options{Log: log, Level: &slog.LevelVar{}})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- open.Serve(ctx, ln, nil) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(<-served, open.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return "http://" + ln.Addr().String(), stop
}

// startSeller starts the stock express seller, which sells through a facilitator, and returns the
// address of what it sells.
func startSeller(t *testing.T, payTo, facilitator string) string {
	t.Helper()
	return startScript(t, "seller.mjs", "PAY_TO="+payTo, "FACILITATOR="+facilitator)
}

// startScript is startSeller of one of the stock sellers, with what its environment says.
func startScript(t *testing.T, script string, env ...string) string {
	t.Helper()
	node := npmtest.Node(t)
	source := filepath.Join("..", "bench", "stock")
	dir := npmtest.Folder(t, npmtest.Packages(t), source, script)
	port := laboratory.FreePort(t)
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, t.Output(), t.Output()
	cmd.Env = append(append(os.Environ(), "PORT="+port), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	url := "http://127.0.0.1:" + port + "/api/buy/hello"
	// a process of its own: it is asked until it answers
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusPaymentRequired {
				return url
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if time.Now().After(end) {
			t.Fatalf("the seller does not answer: %v", err)
		}
	}
}

// The stock express seller and a store of ours sell through our facilitator, to the stock client.
func TestSellingThroughOurFacilitator(t *testing.T) {
	t.Parallel()
	var url string
	var stop func()
	s := openStallWith(t, nil, func(s *stall, cfg *shop.Config) {
		fac := *cfg
		fac.Networks = cfg.Networks[:1]
		url, stop = openFacilitator(t, &fac, s.payTo.address().Hex())
		cfg.Networks[0].RelayerKey, cfg.Networks[0].CoinPrice, cfg.Networks[0].PriceDate = "", "", ""
		cfg.Networks[0].Facilitator, cfg.Networks[0].SettleCost = url, "0.001"
		cfg.Networks[0].Factories = nil // it is the facilitator that deploys
		cfg.Server.SettleWait = shop.Duration(3 * time.Second)
	})
	node := s.nodes[0]
	buyer := clients.Options{Key: s.net.Buyers[0].Hex(), Network: node.Network.ID()}
	s.buy(t, node, buyer, "hello", 500_000)

	shelf := startSeller(t, s.payTo.address().Hex(), url)
	sell := func(who chaintest.Key) clients.Result {
		return clients.Buy(t, clients.Options{Key: who.Hex(), Network: node.Network.ID()}, shelf)[0]
	}
	before := node.Balance(s.payTo.address())
	if r := sell(s.net.Buyers[1]); r.Status != 200 || !r.Settled {
		t.Errorf("the stock seller: status %d, settled %v, error %q, body %.300s", r.Status, r.Settled, r.Error, r.Body)
	}
	if r := sell(s.net.Poor); r.Status != 402 || r.Settled {
		t.Errorf("the stock seller to one without money: status %d, settled %v, error %q", r.Status, r.Settled, r.Error)
	}
	if got := node.Balance(s.payTo.address()) - before; got != 500_000 {
		t.Errorf("the stock seller earned %d, want 500000", got)
	}

	// A seller who is not on the list sells nothing, and no gas is spent on him.
	other := startSeller(t, s.net.Minter.Address.Hex(), url)
	if r := clients.Buy(t, buyer, other)[0]; r.Settled || r.Status == 200 {
		t.Errorf("a seller who is not served: status %d, settled %v", r.Status, r.Settled)
	}

	// While the facilitator is away the store takes no payment on that network, and says so.
	stop()
	before = node.Balance(s.payTo.address())
	if r := clients.Buy(t, buyer, s.url+"/api/buy/small_blessing")[0]; r.Status == 200 {
		t.Errorf("without a facilitator: status %d", r.Status)
	}
	if got := node.Balance(s.payTo.address()) - before; got != 0 {
		t.Errorf("%d moved without a facilitator", got)
	}
}
