package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/npmtest"
)

// The buyer of the store's npm package buys, loses its answer in each way there is and with its
// process, and is charged once for each order. What it is told of others' terms, of a certificate
// that is another's, and of ceilings it refuses, as testdata/buy.mjs says.
func TestPackageBuys(t *testing.T) {
	s := openStall(t)
	p, node, dir := newLoser(t, s.url), s.nodes[0], npmtest.Own(t, "../../templates/npm/testdata", "buy.mjs")
	since, err := node.RPC.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"buy.mjs"}
	for _, way := range ways {
		args = append(args, way.name)
	}
	c := exec.CommandContext(t.Context(), npmtest.Node(t), args...)
	c.Dir, c.Stderr = dir, t.Output()
	c.Env = append(os.Environ(), "STORE="+s.url, "PROXY="+p.URL, "KEY="+s.net.Buyers[0].Hex(),
		"NETWORK="+node.Network.ID(), "JOURNAL="+filepath.Join(t.TempDir(), "journal"))
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	orders, paid := map[string]bool{}, []clients.Result{}
	for line := range strings.Lines(string(out)) {
		var bought struct {
			Order       string
			Payments    []string
			Certificate string
		}
		if err := json.Unmarshal([]byte(line), &bought); err != nil || bought.Certificate == "" ||
			len(bought.Payments) != 1 {
			t.Errorf("%v: %s", err, line)
			continue
		}
		orders[bought.Order] = true
		paid = append(paid, clients.Result{Payment: bought.Payments[0]})
	}
	// And two whose answers came and were not believed.
	if got, want := charged(t, node, s.payTo.address(), since+1, paid), len(orders)+2; got != want || len(orders) !=
		len(ways)+1 {
		t.Errorf("charged %d times for %d orders, want %d", got, len(orders), want)
	}
}
