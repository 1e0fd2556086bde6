package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/cmd/shop/doctor"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/generator"
)

// crowd is how many buyers are on the chains: five for each test that shares them.
const crowd = 30 * buyers

// A stall is a whole shop on the chains of a test, or on nodes that stand in for them.
type stall struct {
	net   *chaintest.Net
	nodes []*chaintest.Node // in the order of chain.Networks
	payTo person
	url   string
	reach func(*fetch.Config) // how the shop reaches calendars; nil: as it does
	log   io.Writer           // gets the log too; nil: the test's output alone
	// ledger puts something before the shop's ledger; nil: nothing.
	ledger func(ledger.DB) ledger.DB
	cfg    *shop.Config
	solana *cluster // of the shared shop
}

// openStallWith builds a site for the chains, opens the shop on it as run does, with a change of
// its configuration, and closes it when the test ends.
func openStallWith(t testing.TB, standIn func(*chaintest.Chain) *chaintest.Node,
	change func(*stall, *shop.Config)) *stall {
	t.Helper()
	var ids []uint64
	for _, n := range chain.Networks {
		ids = append(ids, n.ChainID)
	}
	s := &stall{net: chaintest.New(t, chaintest.Options{Networks: ids, Buyers: crowd})}
	w := &world{relayer: person{s.net.Relayer.Private}}
	if err := fresh(&w.payTo); err != nil {
		t.Fatal(err)
	}
	s.payTo = w.payTo
	for _, c := range s.net.Chains {
		w.chains = append(w.chains, running{c.Chain, c.Network})
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := w.prepare(filepath.Join(t.TempDir(), "state"), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.url, s.cfg = cfg.BaseURL, cfg
	cfg.Instruments.HostRequests = 1000 // tests ask one host, and a fast machine does within a minute
	for i, c := range s.net.Chains {
		cfg.Networks[i].Poll = shop.Duration(100 * time.Millisecond) // most of a test is waiting for others
		node := &c.Node
		if standIn != nil {
			node = standIn(c)
			// The genesis file is the chain's, but a node may make another block of it.
			cfg.Networks[i].RPC, cfg.Networks[i].GenesisHash = []string{node.URL}, "any"
		}
		s.nodes = append(s.nodes, node)
	}
	if change != nil {
		change(s, cfg)
	}
	in, err := shop.BuildInput(cfg)
	if err != nil {
		t.Fatal(err)
	}
	in.PublicPools, in.TwinsDir = true, "" // compressing would be most of the work
	if _, err := generator.BuildTree(t.Context(), in, cfg.Public); err != nil {
		t.Fatal(err)
	}
	var level slog.LevelVar
	if err := level.UnmarshalText([]byte(cfg.Server.LogLevel)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	to, how := t.Output(), &slog.HandlerOptions{Level: &level}
	if s.log != nil {
		to, how.Level = io.MultiWriter(to, s.log), slog.LevelDebug
	}
	open, err := shop.Open(ctx, cfg, shop.Options{Log: slog.New(slog.NewTextHandler(to, how)), Level: &level,
		Reach: s.reach, Ledger: s.ledger})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- open.Serve(ctx, ln, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// buy has the stock client buy one good on one network; the price in atomic units must move, and
// nothing else.
func (s *stall) buy(t *testing.T, node *chaintest.Node, o clients.Options, item string, price int64) {
	t.Helper()
	o.Network = node.Network.ID()
	before := node.Balance(s.payTo.address())
	// Equal orders of one wallet are one, on whichever network they are paid: these are not equal.
	r := clients.Buy(t, o, s.url+"/api/buy/"+item+"?agent_name="+url.QueryEscape(node.Network.Name))[0]
	if r.Status != 200 || !r.Settled || !strings.Contains(r.Body, `"certificate"`) {
		t.Errorf("%s on %s: status %d, settled %v, error %q, body %.300s", item, o.Network, r.Status, r.Settled,
			r.Error, r.Body)
	}
	if got := node.Balance(s.payTo.address()) - before; got != price {
		t.Errorf("%s on %s earned %d, want %d", item, o.Network, got, price)
	}
}

// The stock client buys on each network, from an account and from a wallet.
func TestStockClientBuys(t *testing.T) {
	s := openStall(t)
	buyer := clients.Options{Key: s.net.Buyers[0].Hex()}
	wallet := clients.Options{Key: s.net.Wallet.Owner.Hex(), Wallet: s.net.Wallet.Address.Hex()}
	for _, node := range s.nodes {
		t.Run(node.Network.Name, func(t *testing.T) {
			s.buy(t, node, buyer, "hello", 500_000)
			own := node.Balance(s.net.Wallet.Address)
			s.buy(t, node, wallet, "hello", 500_000)
			if got := node.Balance(s.net.Wallet.Address); got != own-500_000 {
				t.Errorf("the wallet has %d, want %d", got, own-500_000)
			}
		})
	}

	// Above 1 USD the client refuses by itself, until it is told not to.
	node := s.nodes[0]
	dear := buyer
	dear.Network = node.Network.ID()
	r := clients.Buy(t, dear, s.url+"/api/buy/pet_rock")[0]
	if !strings.Contains(r.Error, "rejected by spendControls.maxAmountPerPayment") || r.Payment != "" {
		t.Errorf("pet_rock for 5 USD: status %d, error %q, payment %q, want a refusal by the client", r.Status, r.Error,
			r.Payment)
	}
	dear.SpendOff = true
	s.buy(t, node, dear, "pet_rock", 5_000_000)

	// One who has no dollars is refused by the store, and the client says so.
	poor := clients.Options{Key: s.net.Poor.Hex(), Network: node.Network.ID()}
	if r := clients.Buy(t, poor, s.url+"/api/buy/hello")[0]; r.Status != 402 || r.Settled || r.Payment == "" {
		t.Errorf("without a dollar: status %d, settled %v, error %q, want 402", r.Status, r.Settled, r.Error)
	}
}

// Which node the store asks does not matter to what is sold.
func TestStockClientBuysOnAnvil(t *testing.T) {
	s := openStallWith(t, func(c *chaintest.Chain) *chaintest.Node {
		if c.Network.ChainID != chain.Networks[0].ChainID {
			return &c.Node
		}
		// Idle, it would seal nothing, and a network whose newest block is old takes no payments.
		return chaintest.Anvil(t, c, "--block-time", "10", "--mixed-mining")
	}, nil)
	s.buy(t, s.nodes[0], clients.Options{Key: s.net.Buyers[0].Hex()}, "hello", 500_000)
}

// The stock MPP client buys at the same doors, on its one network.
func TestStockMPPClientBuys(t *testing.T) {
	s := openStall(t)
	looked := doctor.Doctor{Config: s.cfg, Backups: t.TempDir(), Now: time.Now}
	for _, f := range looked.Examine(t.Context()) {
		if f.State == doctor.Fault {
			t.Errorf("a store that sells has a fault: %+v", f)
		}
	}
	buyer := clients.Options{Key: s.net.Buyers[0].Hex()}
	node := s.nodes[0]
	buy := func(what string, o clients.Options, url string, price int64) clients.Result {
		t.Helper()
		before := node.Balance(s.payTo.address())
		r := clients.BuyMPP(t, o, url)[0]
		if r.Status != 200 || !r.Settled || !strings.Contains(r.Body, `"certificate"`) ||
			!strings.Contains(r.Body, `"settled_via":"mpp self"`) {
			t.Errorf("%s: status %d, settled %v, error %q, body %.300s", what, r.Status, r.Settled, r.Error, r.Body)
		}
		if got := node.Balance(s.payTo.address()) - before; got != price {
			t.Errorf("%s earned %d, want %d", what, got, price)
		}
		return r
	}
	buy("a good", buyer, s.url+"/api/buy/hello", 500_000)
	buy("with a query", buyer, s.url+"/api/buy/the_confession?detail=I%20read%20the%20manual.", 10_000)
	post := buyer
	post.Body = `{"detail":"I wrote the manual."}`
	buy("with a body", post, s.url+"/api/buy/the_confession", 10_000)
	buy("with tiers, at the least", buyer, s.url+"/api/buy/pet_rock", 5_000_000)
	beside := buyer
	beside.Bearer = "a-token-for-a-gateway"
	r := buy("beside a bearer", beside, s.url+"/api/buy/hello?agent_name=Ada", 500_000)
	if r.Field != "Payment-Authorization" {
		t.Errorf("beside a bearer the payment was in %q", r.Field)
	}

	poor := clients.Options{Key: s.net.Poor.Hex()}
	if r := clients.BuyMPP(t, poor, s.url+"/api/buy/hello")[0]; r.Status != 402 || r.Settled || r.Payment == "" {
		t.Errorf("without a dollar: status %d, settled %v, error %q, want 402", r.Status, r.Settled, r.Error)
	}

	v := clients.ValidateMPP(t, s.net.Buyers[1].Hex(), node.URL, s.url)
	for _, e := range v.Endpoints {
		for _, list := range [][]clients.Check{v.Discovery.Checks, e.Challenge, e.ErrorHandling, e.Payment} {
			for _, c := range list {
				if c.Severity != "pass" {
					t.Errorf("mppx validate, %s %s: %s (%s): %s", e.Method, e.Path, c.Label, c.Detail, c.Severity)
				}
			}
		}
	}
	sum := v.Summary
	if len(v.Endpoints) != 3+len(content.Publications) || sum.Failed+sum.Warnings+sum.Suggested+sum.Skipped != 0 ||
		sum.Passed < 40 {
		t.Errorf("mppx validate: %+v", sum)
	}
}

// The built-in buyer pays by MPP where it is told to, and an equal order by the other protocol is
// the same one.
func TestBuyerBuysByMPP(t *testing.T) {
	s := openStall(t)
	key, err := wallet.ParseKey(s.net.Buyers[2].Hex())
	if err != nil {
		t.Fatal(err)
	}
	b, err := buyer.New(buyer.Config{Wallet: key, Journal: buyer.Folder(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	door := s.url + "/api/buy/hello?agent_name=Ada"
	byMPP := buyer.Options{Choice: buyer.Choice{Protocol: buyer.ByMPP}}
	terms, err := b.Terms(t.Context(), door, byMPP)
	if err != nil || terms.Chosen != 0 || len(terms.Warnings) != 0 || !strings.Contains(terms.Text(), "MPP") ||
		terms.SuggestedKey == "" {
		t.Fatalf("terms %+v, %v", terms, err)
	}
	before := s.nodes[0].Balance(s.payTo.address())
	first, err := b.Buy(t.Context(), door, buyer.Options{Agreed: terms})
	if err != nil || first.Billed != "yes" || first.Transaction == "" || len(first.Warnings) != 0 ||
		!strings.Contains(string(first.Body), `"settled_via":"mpp self"`) {
		t.Fatalf("bought %+v, %v", first, err)
	}
	again, err := b.Buy(t.Context(), door, buyer.Options{})
	if err != nil || !again.Replay || again.Transaction != first.Transaction {
		t.Errorf("bought again %+v, %v", again, err)
	}
	if got := s.nodes[0].Balance(s.payTo.address()) - before; got != 500_000 {
		t.Errorf("earned %d for one order", got)
	}
	// Where method evm is not offered it pays by usdc.
	network := chain.Networks[1].ID()
	before = s.nodes[1].Balance(s.payTo.address())
	other, err := b.Buy(t.Context(), s.url+"/api/buy/hello?agent_name=Grace",
		buyer.Options{Choice: buyer.Choice{Protocol: buyer.ByMPP, Network: network}})
	if err != nil || other.Billed != "yes" || other.Settlement.Network != network || len(other.Warnings) != 0 ||
		s.nodes[1].Balance(s.payTo.address())-before != 500_000 {
		t.Errorf("bought by usdc %+v, %v", other, err)
	}
}
