// Package clients lets tests buy with stock x402 clients: @x402/fetch with @x402/evm, at the versions of package-lock.json
// and unmodified. Its buy.mjs is also for people, see there.
//
//	got := clients.Buy(t, clients.Options{Key: buyer.Hex(), Network: "eip155:8453"}, base+"/api/buy/hello")
package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentstore/cmd/devnet/npmtest"
)

// Options says who buys and how.
type Options struct {
	Key      string // the buyer's private key, 0x and 64 hex digits
	Network  string // CAIP-2 network or pattern; "" is any EVM network, that is the first one offered
	SpendOff bool   // spendControls: false, which lifts the client's own limit of 1 USD
	Wallet   string // address of the EIP-1271 wallet that pays, if any; Key is its owner's
	AtOnce   bool   // all URLs at the same time
	Body     string // JSON to send with POST; "" is GET
	// Timeouts are when the application gives up, for each URL; 0 or none is never.
	Timeouts []time.Duration
}

// A Result is what became of one URL.
type Result struct {
	URL     string            `json:"url"`
	Status  int               `json:"status"` // of the last answer; 0 if the client threw
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Payment string            `json:"payment"` // the PAYMENT-SIGNATURE header that was sent, "" if none was
	Settled bool              `json:"settled"` // as the client reads PAYMENT-RESPONSE
	Error   string            `json:"error"`   // what the client threw
}

// Buy buys each URL and returns the results in the order of the URLs. A client that refuses or is refused is a result; one
// that cannot run ends the test.
func Buy(t testing.TB, o Options, urls ...string) []Result {
	t.Helper()
	node := npmtest.Node(t)
	_, here, _, _ := runtime.Caller(0)
	src := filepath.Dir(here)
	// Node.js looks for packages beside the script: it runs as a copy beside a link to them.
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join(src, "buy.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "buy.mjs"), script, 0o644),
		os.Symlink(npmtest.Install(t, src), filepath.Join(dir, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), node, append([]string{"buy.mjs"}, urls...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "KEY="+o.Key, "NETWORK="+o.Network, "WALLET="+o.Wallet, "SPEND=", "AT_ONCE=", "BODY="+o.Body)
	var timeouts []string
	for _, d := range o.Timeouts {
		timeouts = append(timeouts, strconv.FormatInt(d.Milliseconds(), 10))
	}
	c.Env = append(c.Env, "TIMEOUTS="+strings.Join(timeouts, ","))
	if o.SpendOff {
		c.Env = append(c.Env, "SPEND=off")
	}
	if o.AtOnce {
		c.Env = append(c.Env, "AT_ONCE=1")
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if _, refused := errors.AsType[*exec.ExitError](err); err != nil && !refused {
		t.Fatalf("node: %v", err)
	}
	var results []Result
	for line := range bytes.Lines(out) {
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("buy.mjs said %q: %v", line, err)
		}
		results = append(results, r)
	}
	if len(results) != len(urls) {
		t.Fatalf("buy.mjs reported %d of %d URLs (%v):\n%s", len(results), len(urls), err, stderr.Bytes())
	}
	return results
}
