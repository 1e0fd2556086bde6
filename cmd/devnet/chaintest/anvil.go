package chaintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/daemon"
	"store.example/agentstore/cmd/devnet/npmtest"

	"github.com/ethereum/go-ethereum/ethclient"
)

// Anvil starts anvil, a node written independently of go-ethereum, with the chain id and the
// genesis of c, so that the same people own the same there. Its clock starts at the wall clock; it
// seals on each transaction unless args, which go to anvil as they are, say otherwise. It is
// installed from npm when that was never done, and ends with the test.
func Anvil(t testing.TB, c *Chain, args ...string) *Node {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		npmtest.Unavailable(t, fmt.Errorf("no anvil is locked for %s/%s", runtime.GOOS, runtime.GOARCH))
	}
	bin := filepath.Join(npmtest.Packages(t), "@foundry-rs/anvil-linux-amd64/bin/anvil")
	dir := t.TempDir()
	genesis := filepath.Join(dir, "genesis.json")
	f, err := os.Create(genesis)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.WriteGenesis(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	address := daemon.Start(t, "Listening on ", bin, append([]string{
		"--host", "127.0.0.1", "--port", "0", "--accounts", "0", "--cache-path", dir, "--init", genesis,
		"--chain-id", strconv.FormatUint(c.Network.ChainID, 10), "--timestamp",
		strconv.FormatInt(time.Now().Unix(), 10),
	}, args...)...)
	n := &Node{T: t, Network: c.Network, URL: "http://" + address}
	if n.RPC, err = ethclient.DialContext(t.Context(), n.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.RPC.Close)
	return n
}

// Do makes a JSON-RPC call that has no helper, such as anvil_reorg or evm_increaseTime, and returns
// its result.
func (n *Node) Do(method string, args ...any) json.RawMessage {
	n.T.Helper()
	var out json.RawMessage
	if err := n.RPC.Client().CallContext(n.T.Context(), &out, method, args...); err != nil {
		n.T.Fatalf("%s: %v", method, err)
	}
	return out
}
