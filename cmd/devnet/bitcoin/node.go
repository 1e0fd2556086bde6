// Package bitcoin runs a Bitcoin node for tests, on a network of its own, and calendars that commit
// to its blocks: what proofs of time are made and judged with. The node is btcd in simnet mode,
// built from .tools/btcd.mod and unmodified; the blocks are made here, and the node takes those
// that follow Bitcoin's rules.
//
//	node := bitcoin.Start(t)
//	calendar := bitcoin.NewCalendar(node, "https://calendar.example")
//	// stamp at calendar, an http.Handler
//	height := calendar.Mine()
//	header := node.Header(height)
package bitcoin

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/daemon"
	"store.example/agentstore/cmd/devnet/npmtest"
)

// Node is a running node. It is used by one goroutine at a time.
type Node struct {
	t      testing.TB
	url    string
	tip    [32]byte // hash of the newest block, as it stands in headers
	height int64
	clock  time.Time // of the newest block
	// mature is what the first blocks pay to anybody; each can be spent once.
	mature [][32]byte
}

const user, password = "devnet", "devnet"

// Start builds btcd, which takes a while for the first time, starts it on a free port of the
// loopback interface and mines until there is something to spend. It ends with the test. Where btcd
// cannot be built the test is skipped; with CI set it fails.
func Start(t testing.TB) *Node {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	top := filepath.Join(filepath.Dir(here), "..", "..", "..")
	dir := t.TempDir()
	bin := filepath.Join(dir, "btcd")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile="+filepath.Join(".tools", "btcd.mod"), "-o", bin,
		"github.com/btcsuite/btcd")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		npmtest.Unavailable(t, fmt.Errorf("building btcd: %w: %s", err, out))
	}
	n := &Node{t: t}
	n.url = "http://" + daemon.Start(t, "RPC server listening on ", bin, "--simnet", "--nolisten", "--nodnsseed",
		"--notls", "--nocfilters", "--rpclisten=127.0.0.1:0", "--rpcuser="+user, "--rpcpass="+password,
		"--configfile="+filepath.Join(dir, "none"), "--datadir="+filepath.Join(dir, "data"), "--logdir="+
			filepath.Join(dir, "logs"))
	var genesis string
	n.call(&genesis, "getblockhash", 0)
	n.tip = fromText(t, genesis)
	n.clock = time.Now().Add(-time.Hour).Truncate(time.Second)
	// A reward may be spent a hundred blocks later.
	for range maturity + 4 {
		n.mine(nil)
	}
	return n
}

// call makes a JSON-RPC call and decodes its result.
func (n *Node) call(result any, method string, params ...any) {
	n.t.Helper()
	if err := n.try(result, method, params...); err != nil {
		n.t.Fatalf("%s: %v", method, err)
	}
}

func (n *Node) try(result any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "1.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("status %d: %w", resp.StatusCode, err)
	}
	if len(answer.Error) > 0 && string(answer.Error) != "null" {
		return fmt.Errorf("%s", answer.Error)
	}
	return json.Unmarshal(answer.Result, result)
}

// Header asks the node for the 80 bytes of the header at a height.
func (n *Node) Header(height int64) []byte {
	n.t.Helper()
	var hash, header string
	n.call(&hash, "getblockhash", height)
	n.call(&header, "getblockheader", hash, false)
	b, err := hex.DecodeString(header)
	if err != nil || len(b) != 80 {
		n.t.Fatalf("the header at %d is %q", height, header)
	}
	return b
}

// ServeHTTP answers like the explorers that stock verifiers ask: /block-height/{height} with a
// block's hash, and /block/{hash} with its Merkle root and time, as the node knows them.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if height, ok := strings.CutPrefix(r.URL.Path, "/block-height/"); ok {
		var hash string
		if err := n.try(&hash, "getblockhash", json.RawMessage(height)); err != nil {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, hash)
		return
	}
	hash, ok := strings.CutPrefix(r.URL.Path, "/block/")
	var block struct {
		MerkleRoot string `json:"merkleroot"`
		Time       int64  `json:"time"`
	}
	if !ok || n.try(&block, "getblockheader", hash, true) != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"id": hash, "merkle_root": block.MerkleRoot, "timestamp": block.Time})
}

// fromText reads a hash as people write it, which is backwards.
func fromText(t testing.TB, text string) (h [32]byte) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 32 {
		t.Fatalf("%q is no hash", text)
	}
	for i := range b {
		h[31-i] = b[i]
	}
	return h
}
