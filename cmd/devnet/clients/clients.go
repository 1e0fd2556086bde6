// Package clients lets tests buy with stock clients, at the versions of package-lock.json and
// unmodified: @x402/fetch with @x402/evm and @x402/svm, mppx, and the client of the SDK of MCP.
// buy.mjs is also for people, see there.
//
//	got := clients.Buy(t, clients.Options{Key: buyer.Hex(), Network: "eip155:8453"}, base+"/api/buy/hello")
//	got := clients.BuyMPP(t, clients.Options{Key: buyer.Hex()}, base+"/api/buy/hello")
package clients

import (
	"encoding/json"
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

// here is the folder of the scripts.
var here = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}()

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
	SignIn  bool   // signs in, where a door asks for that, before it pays
	// Vouchers pay for all URLs out of one channel, by x402's batch-settlement; takes RPC. Lost are
	// the places of URLs whose paid answer is lost on its way.
	Vouchers bool
	Lost     []int
	Hold     bool   // pays by authorizations that are captured later: x402's auth-capture
	Body     string // JSON to send with POST; "" is GET
	Bearer   string // MPP: a token that the application has in Authorization; "" is none
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
	Field   string `json:"field"`   // MPP: the field of it
	Settled bool   `json:"settled"` // as the client reads PAYMENT-RESPONSE or Payment-Receipt
	Asked   int    `json:"asked"`   // MPP: how many challenges it was given
	Error   string `json:"error"`   // what the client threw
}

// Buy buys each URL by x402 and returns the results in the order of the URLs. A client that refuses
// or is refused is a result; one that cannot run ends the test.
func Buy(t testing.TB, o Options, urls ...string) []Result {
	t.Helper()
	return run[Result](t, "x402", o.env(), len(urls), urls...)
}

// BuyMPP is Buy by MPP, on its one network: Network, SpendOff and Wallet are not for it.
func BuyMPP(t testing.TB, o Options, urls ...string) []Result {
	t.Helper()
	return run[Result](t, "mppx", o.env(), len(urls), urls...)
}

// env are the options as the scripts have them.
func (o Options) env() map[string]string {
	var timeouts []string
	for _, d := range o.Timeouts {
		timeouts = append(timeouts, strconv.FormatInt(d.Milliseconds(), 10))
	}
	var lost []string
	for _, i := range o.Lost {
		lost = append(lost, strconv.Itoa(i))
	}
	return map[string]string{"KEY": o.Key, "NETWORK": o.Network, "WALLET": o.Wallet, "DELEGATE": o.Delegate,
		"FACTORY": o.Factory, "SALTS": strings.Join(o.Salts, ","), "RPC": o.RPC, "BODY": o.Body,
		"TIMEOUTS": strings.Join(timeouts, ","), "SPEND": where(o.SpendOff, "off"), "AT_ONCE": where(o.AtOnce, "1"),
		"SIGN_IN": where(o.SignIn, "1"), "VOUCHERS": where(o.Vouchers, "1"), "LOST": strings.Join(lost, ","),
		"HOLD":   where(o.Hold, "1"),
		"BEARER": o.Bearer}
}

// where is a word where something is so.
func where(so bool, word string) string {
	if so {
		return word
	}
	return ""
}

// ValidateMPP runs mppx validate against a store, which buys each good that its API description
// names an example of, and returns what it says in the end. The chain is asked at rpc, whatever
// address the client knows.
func ValidateMPP(t testing.TB, key, rpc, base string) Validation {
	t.Helper()
	dir := npmtest.Folder(t, npmtest.Packages(t), here, "loopback.mjs")
	c := exec.CommandContext(t.Context(), npmtest.Node(t), "--import", "./loopback.mjs",
		"node_modules/mppx/dist/bin.js", "validate", base, "--yes", "--outputJson")
	c.Dir, c.Env = dir, append(os.Environ(), "MPPX_PRIVATE_KEY="+key, "RPC="+rpc)
	// A script that exits says to a file what it would say to a pipe in part.
	said, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	c.Stdout = said
	ran := c.Run()
	out, err := os.ReadFile(said.Name())
	if err != nil {
		t.Fatal(err)
	}
	var v Validation
	if bad := json.Unmarshal(out, &v); bad != nil {
		t.Fatalf("mppx validate said %.2000s: %v, %v", out, bad, ran)
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
