package chaintest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentstore/cmd/devnet/npmtest"

	"github.com/ethereum/go-ethereum/ethclient"
)

// Anvil starts anvil, a node written independently of go-ethereum, with the chain id and the genesis of c, so that the
// same people own the same there. Its clock starts at the wall clock; it seals on each transaction unless args, which go
// to anvil as they are, say otherwise. It is installed from npm when that was never done, and ends with the test.
func Anvil(t testing.TB, c *Chain, args ...string) *Node {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		npmtest.Unavailable(t, fmt.Errorf("no anvil is locked for %s/%s", runtime.GOOS, runtime.GOARCH))
	}
	_, here, _, _ := runtime.Caller(0)
	bin := filepath.Join(npmtest.Install(t, filepath.Join(filepath.Dir(here), "anvil")), "@foundry-rs/anvil-linux-amd64/bin/anvil")
	dir := t.TempDir()
	genesis := filepath.Join(dir, "genesis.json")
	f, err := os.Create(genesis)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.WriteGenesis(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	// The shell ends anvil when this process lets go of its standard input, be it by dying.
	cmd := exec.Command("/bin/sh", append([]string{
		"-c", `"$@" 2>&1 & p=$!; exec >&- 2>&-; read _; kill $p; wait $p`, "sh",
		bin, "--host", "127.0.0.1", "--port", "0", "--accounts", "0", "--cache-path", dir, "--init", genesis,
		"--chain-id", strconv.FormatUint(c.Network.ChainID, 10), "--timestamp", strconv.FormatInt(time.Now().Unix(), 10),
	}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	t.Cleanup(func() {
		in.Close()
		<-drained
		cmd.Wait() // the status is that of a killed process
	})
	addr := make(chan string, 1)
	said := new(strings.Builder)
	go func() {
		defer close(drained)
		defer close(addr)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if a, ok := strings.CutPrefix(lines.Text(), "Listening on "); ok {
				addr <- a
				io.Copy(io.Discard, out)
				return
			}
			fmt.Fprintln(said, lines.Text())
		}
	}()
	select {
	case a, ok := <-addr:
		if !ok {
			t.Fatalf("anvil ended before it listened:\n%s", said)
		}
		n := &Node{T: t, Network: c.Network, URL: "http://" + a}
		if n.RPC, err = ethclient.DialContext(t.Context(), n.URL); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.RPC.Close)
		return n
	case <-time.After(patience):
		t.Fatal("anvil does not listen")
		return nil
	}
}

// Do makes a JSON-RPC call that has no helper, such as anvil_reorg or evm_increaseTime, and returns its result.
func (n *Node) Do(method string, args ...any) json.RawMessage {
	n.T.Helper()
	var out json.RawMessage
	if err := n.RPC.Client().CallContext(n.T.Context(), &out, method, args...); err != nil {
		n.T.Fatalf("%s: %v", method, err)
	}
	return out
}
