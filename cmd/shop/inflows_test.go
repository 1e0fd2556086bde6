package shop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentstore/cmd/devnet/chaintest"
	"agentstore/corpus/record"
)

func TestInflowsNameWhatCouldNotBeRead(t *testing.T) {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}, Manual: true})
	to := chaintest.NewKey(t).Address
	n.Send(n.Relayer, n.Asset, n.SignTransfer(n.Buyers[0], to, 1_234_500).Call())
	n.MustSeal()
	until := time.Unix(int64(n.MustSeal().Time), 0)
	in, err := OpenInflows(&Config{Networks: []NetworkConfig{
		{ID: "eip155:8453", RPC: []string{n.URL}, GenesisHash: "any"},
		{ID: "eip155:137", RPC: []string{"http://127.0.0.1:1/v2/secret"}, GenesisHash: "any", Poll: Duration(time.Millisecond)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := in.Count(t.Context(), time.Unix(0, 0), until, map[string][]string{
		"eip155:8453": {to.Hex()}, "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": {"x"}, "eip155:10": {}, "no network\n": {"x"},
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
