package shop

import (
	"context"
	"math/big"
	"store.example/agentstore/dynamic/roster"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/rail"
)

func TestInflowsNameWhatCouldNotBeRead(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}, Manual: true})
	to := chaintest.NewKey(t).Address
	n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[0], to, 1_234_500).Call())
	n.MustSeal()
	until := time.Unix(int64(n.MustSeal().Time), 0)
	in, err := OpenInflows(&Config{Networks: []NetworkConfig{
		{ID: "eip155:8453", RPC: []string{n.URL}, GenesisHash: "any"},
		{ID: "eip155:137", RPC: []string{"http://127.0.0.1:1/v2/secret"}, GenesisHash: "any",
			Poll: Duration(time.Millisecond)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := in.Count(t.Context(), time.Unix(0, 0), until, map[string][]string{
		"eip155:8453": {to.Hex()}, "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": {"x"}, "eip155:10": {},
		"no network\n": {"x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	reason := ""
	if len(got) > 0 {
		reason, got[0].Reason = got[0].Reason, ""
	}
	want := []record.NetworkInflow{
		{Network: "eip155:137", USDC: "0"},
		{Network: "eip155:8453", Read: true, Transfers: 1, Addresses: 1, USDC: "1.2345"},
		{Network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", USDC: "0", Reason: "no RPC of this network is configured"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if reason != "connect: connection refused" {
		t.Errorf("a network that is down is unread because %q", reason)
	}
}

// Arrivals are counted also where nothing is sold, on every network whose USDC the stock client's
// table or the one beside it knows, and on no chain but the one that its keeper named.
func TestInflowsWhereNothingIsSold(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{480}, Manual: true})
	to := chaintest.NewKey(t).Address
	n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[0], to, 500_000).Call())
	n.MustSeal()
	until := time.Unix(int64(n.MustSeal().Time), 0)
	world := ArrivalsConfig{ID: "eip155:480", RPC: []string{n.URL}, GenesisHash: "any"}
	in, err := OpenInflows(&Config{Arrivals: []ArrivalsConfig{world}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := in.Count(t.Context(), time.Unix(0, 0), until, map[string][]string{"eip155:480": {to.Hex()}})
	want := []record.NetworkInflow{{Network: "eip155:480", Read: true, Transfers: 1, Addresses: 1, USDC: "0.5"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for _, token := range networks.Known() {
		a := ArrivalsConfig{ID: token.Network, RPC: []string{n.URL}, GenesisHash: "any"}
		if err := a.check(&Config{}, 0); strings.HasPrefix(token.Symbol, "USDC") && err != nil {
			t.Error(err)
		}
	}
}

// Solana is read like the others, and no node is named.
func TestInflowsOnSolana(t *testing.T) {
	cluster := svm.Start(t)
	cluster.Do(nil, "dev_pass", time.Hour.Milliseconds())
	in, err := OpenInflows(&Config{Networks: []NetworkConfig{
		{ID: networks.Solana, RPC: []string{cluster.URL}},
		{ID: networks.SolanaDevnet, RPC: []string{"http://127.0.0.1:1/v2/secret"}, Poll: Duration(time.Millisecond)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	until := time.Now().Add(time.Minute)
	const owner = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
	got, err := in.Count(t.Context(), until.Add(-time.Minute), until, map[string][]string{networks.Solana: {owner},
		networks.SolanaDevnet: {owner}})
	if err != nil {
		t.Fatal(err)
	}
	want := []record.NetworkInflow{{Network: networks.Solana, Read: true, USDC: "0"},
		{Network: networks.SolanaDevnet, USDC: "0", Reason: "connect: connection refused"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, id := range []string{"solana:mainnet", "cosmos:hub"} {
		if _, err := OpenInflows(&Config{Networks: []NetworkConfig{{ID: id, RPC: []string{cluster.URL}}}}); err == nil {
			t.Errorf("%s is read", id)
		}
	}
}

// counted is an observer that has counted.
type counted rail.Arrivals

func (c counted) Arrivals(context.Context, []string, time.Time, time.Time) (rail.Arrivals, error) {
	return rail.Arrivals(c), nil
}
func (counted) Close() {}

// An address that could not be read whole is told, beside what was counted of the others.
func TestInflowsTellWhatIsLeftOut(t *testing.T) {
	in := roster.Inflows{networks.Solana: counted{Transfers: 3, Addresses: 2, LeftOut: 1,
		Total: big.NewInt(5_000_000)}}
	got, err := in.Count(t.Context(), time.Unix(0, 0), time.Unix(1, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []record.NetworkInflow{{Network: networks.Solana, Read: true, Transfers: 3, Addresses: 2,
		AddressesLeftOut: 1, USDC: "5"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
