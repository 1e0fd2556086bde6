// Package clients lets tests buy with stock clients, at the versions of package-lock.json and
// unmodified: @x402/fetch with @x402/evm and @x402/svm, and in the folder mppx the client of that
// name. Each buy.mjs is also for people, see there.
//
//	got := clients.Buy(t, clients.Options{Key: buyer.Hex(), Network: "eip155:8453"}, base+"/api/buy/hello")
//	got := clients.BuyMPP(t, clients.Options{Key: buyer.Hex()}, base+"/api/buy/hello")
package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// Options says who buys and how.
type Options struct {
	Key      string // the buyer's private key, 0x and 64 hex digits; on Solana base58 of 64 bytes
	Network  string // CAIP-2 network or pattern; "" is any EVM network, that is the first one offered
	SpendOff bool   // spendControls: false, which lifts the client's own limit of 1 USD
	Wallet   string // address of the EIP-1271 wallet that pays, if any; Key is its owner's
	Delegate string // contract that the buyer's account delegates to, if it pays as a smart account of viem
	// Factory deploys the wallets that pay, one for each URL under its salt: viem's smart accounts.
	Factory string
	Salts   []string
	RPC     string // JSON-RPC address of the chain, for Delegate, Factory and Solana
	AtOnce  bool   // all URLs at the same time
	Body    string // JSON to send with POST; "" is GET
	// Timeouts are when the application gives up, for each URL; 0 or none is never.
	Timeouts []time.Duration
}

// A Result is what became of one URL.
type Result struct {
	URL     string            `json:"url"`
	Status  int               `json:"status"` // of the last answer; 0 if the client threw
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	// the payment's header that was sent, the last of several, "" if none was
	Payment string `json:"payment"`
	Settled bool   `json:"settled"` // as the client reads PAYMENT-RESPONSE or Payment-Receipt
	Asked   int    `json:"asked"`   // MPP: how many challenges it was given
	Error   string `json:"error"`   // what the client threw
}

// Buy buys each URL by x402 and returns the results in the order of the URLs. A client that refuses
// or is refused is a result; one that cannot run ends the test.
func Buy(t testing.TB, o Options, urls ...string) []Result {
	t.Helper()
	return o.buy(t, ".", urls)
}

// BuyMPP is Buy by MPP, on its one network: Network, SpendOff and Wallet are not for it.
func BuyMPP(t testing.TB, o Options, urls ...string) []Result {
	t.Helper()
	return o.buy(t, "mppx", urls)
}

func (o Options) buy(t testing.TB, client string, urls []string) []Result {
	t.Helper()
	out, err := command(t, client, o.env(), append([]string{"buy.mjs"}, urls...)...)
	var results []Result
	for line := range bytes.Lines(out) {
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("buy.mjs said %q: %v", line, err)
		}
		results = append(results, r)
	}
	if len(results) != len(urls) {
		t.Fatalf("buy.mjs reported %d of %d URLs: %v", len(results), len(urls), err)
	}
	return results
}

// env are the options as the scripts have them.
func (o Options) env() []string {
	var timeouts []string
	for _, d := range o.Timeouts {
		timeouts = append(timeouts, strconv.FormatInt(d.Milliseconds(), 10))
	}
	env := []string{"KEY=" + o.Key, "NETWORK=" + o.Network, "WALLET=" + o.Wallet, "DELEGATE=" + o.Delegate,
		"FACTORY=" + o.Factory, "SALTS=" + strings.Join(o.Salts, ","), "RPC=" + o.RPC, "SPEND=", "AT_ONCE=",
		"BODY=" + o.Body, "TIMEOUTS=" + strings.Join(timeouts, ",")}
	if o.SpendOff {
		env = append(env, "SPEND=off")
	}
	if o.AtOnce {
		env = append(env, "AT_ONCE=1")
	}
	return env
}

// ValidateMPP runs mppx validate against a store, which buys each good that its API description
// names an example of, and returns what it says in the end. The chain is asked at rpc, whatever
// address the client knows.
func ValidateMPP(t testing.TB, key, rpc, base string) Validation {
	t.Helper()
	out, err := command(t, "mppx", []string{"MPPX_PRIVATE_KEY=" + key, "RPC=" + rpc},
		"--import", "./loopback.mjs", "node_modules/mppx/dist/bin.js", "validate", base, "--yes", "--outputJson")
	var v Validation
	if bad := json.Unmarshal(out, &v); bad != nil {
		t.Fatalf("mppx validate said %.2000s: %v, %v", out, bad, err)
	}
	return v
}

// A Validation is what mppx validate says of a store.
type Validation struct {
	Discovery struct{ Checks []Check }
	Endpoints []struct {
		Method, Path                      string
		Challenge, ErrorHandling, Payment []Check
	}
	Summary struct{ Passed, Failed, Warnings, Suggested, Skipped int }
}

// A Check is one of its checks.
type Check struct{ Label, Detail, Severity, Hint string }

// command runs node in a copy of a client's folder and returns what it says; its status is an error
// that need be none.
func command(t testing.TB, client string, env []string, args ...string) ([]byte, error) {
	t.Helper()
	node := npmtest.Node(t)
	_, here, _, _ := runtime.Caller(0)
	src := filepath.Join(filepath.Dir(here), client)
	// Node.js looks for packages beside the script: it runs as a copy beside a link to them.
	dir := t.TempDir()
	scripts, err := filepath.Glob(filepath.Join(src, "*.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		script, err := os.ReadFile(name)
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.Base(name)), script, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(npmtest.Install(t, src), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), node, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	// A script that exits says to a file what it would say to a pipe in part.
	said, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	c.Stdout = said
	err = c.Run()
	out, unread := os.ReadFile(said.Name())
	if unread != nil {
		t.Fatal(unread)
	}
	if _, refused := errors.AsType[*exec.ExitError](err); refused {
		return out, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	return out, nil
}
