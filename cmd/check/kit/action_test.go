package kit_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"

	"store.example/agentstore/cmd/devnet/action"
)

// without returns the flags of the command that are no input.
func without(inputs map[string]string) (missing []string) {
	var help bytes.Buffer
	kit.Run(context.Background(), "check", []string{"-h"}, io.Discard, &help)
	for line := range strings.Lines(help.String()) {
		flag, ok := strings.CutPrefix(line, "  -")
		if !ok {
			continue
		}
		if _, known := inputs[strings.Fields(flag)[0]]; !known {
			missing = append(missing, flag)
		}
	}
	return missing
}

// What a build says in the action's inputs reaches the command as flags, as it was written.
func TestAction(t *testing.T) {
	a := action.Read(t, "check")
	dir := t.TempDir()
	// Each argument in a line of its own; the exit code is that of a door that is not ready.
	// The key is not among them, but in a file of its owner's.
	if err := os.WriteFile(filepath.Join(dir, "check"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"+
		"key=$(dirname \"$0\")/check.key\nif [ -e \"$key\" ]; then echo $(stat -c %a \"$key\") $(cat \"$key\"); fi\n"+
		"exit 3\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		inputs map[string]string
		want   []string
	}{
		{map[string]string{"urls": "https://a.example/x\n  https://b.example/y?q=1"},
			[]string{"-battery", "v2", "-fail-on",
				"not_ready,unreachable,method_unresolved,purchase,drift", "-at", "README.md", "--",
				"https://a.example/x",
				"https://b.example/y?q=1"}},
		{map[string]string{"discover": "localhost:3000", "local": "true", "drift": "true",
			"facilitator": "https://f.example/v2\nhttps://g.example",
			"header":      "X-Token: $(id) `id` \"q\"\nX-B: c\n",
			"save":        "d.rec", "ca": "ca.pem", "contact": "https://me.example/", "timeout": "20s",
			"sarif": "a b.sarif", "junit": "j.xml", "baseline": "b.json", "allow-network": "10.0.0.0/8",
			"allow-port": "8443", "solana-rpc": "http://localhost:8899",
			"battery": "v1", "fail-on": "never", "at": "doors.toml"},
			[]string{"-battery", "v1", "-fail-on", "never", "-at", "doors.toml", "-sarif", "a b.sarif", "-junit",
				"j.xml",
				"-discover", "localhost:3000", "-save", "d.rec", "-ca", "ca.pem", "-contact", "https://me.example/",
				"-timeout", "20s", "-allow-network", "10.0.0.0/8", "-allow-port", "8443", "-baseline", "b.json",
				"-solana-rpc", "http://localhost:8899", "-header", "X-Token: $(id) `id` \"q\"", "-header", "X-B: c",
				"-local", "-drift", "-facilitator", "https://f.example/v2", "-facilitator", "https://g.example", "--"}},
		{map[string]string{"urls": "https://a.example/x", "pay": "a secret key", "rpc": "http://localhost:8545",
			"max-usd": "0.5", "pay-network": "eip155:8453", "publish": "https://store.example",
			"method": "POST", "data": "{\"city\":\"Lisbon\"}"},
			[]string{"-battery", "v2", "-fail-on", "not_ready,unreachable,method_unresolved,purchase,drift", "-at",
				"README.md", "-method", "POST", "-data", "{\"city\":\"Lisbon\"}", "-pay-network", "eip155:8453",
				"-publish", "https://store.example", "-rpc",
				"http://localhost:8545", "-pay", dir + "/check.key", "-max-usd", "0.5", "-journal",
				dir + "/check-purchases", "--", "https://a.example/x", "600 a secret key"}},
		{map[string]string{"urls": "https://a.example/x", "pay": "[1,2,3]", "journal": "kept"},
			[]string{"-battery", "v2", "-fail-on", "not_ready,unreachable,method_unresolved,purchase,drift", "-at",
				"README.md", "-pay", dir + "/check.key", "-max-usd", "0.10", "-journal", "kept", "--",
				"https://a.example/x", "600 [1,2,3]"}},
		{map[string]string{"exchange": "d.rec", "json": dir + "/doors.json"}, nil}, // in the file
	} {
		ran := a.Run(t, a.Steps[len(a.Steps)-1], dir, c.inputs)
		if got := strings.TrimSuffix(ran.Stdout, "\n"); got != strings.Join(c.want, "\n") {
			t.Errorf("arguments\n%q, want\n%q", got, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.key")); len(left) > 0 {
			t.Errorf("%s is left behind", left)
		}
		if ran.Code != 3 || !strings.HasSuffix(ran.Output, "exit-code=3\n") {
			t.Errorf("exit %d, output %q, %s", ran.Code, ran.Output, ran.Stderr)
		}
	}
	said, err := os.ReadFile(filepath.Join(dir, "doors.json"))
	if err != nil || !strings.Contains(string(said), "-exchange\nd.rec\n-json\n--\n") {
		t.Errorf("as JSON: %v %s", err, said)
	}
	if missing := without(a.Defaults); len(missing) > 0 {
		t.Errorf("no input for the flags %q", missing)
	}
	if most := fmt.Sprintf("signs %d payments at the most, of which a door that charges once settles %d",
		kit.Payments(), kit.Orders()); !strings.Contains(a.Text, most) {
		t.Errorf("max-usd does not say that it %s", most)
	}
	for name := range a.Defaults {
		if !strings.Contains(a.Text, "${{ inputs."+name+" }}") {
			t.Errorf("the input %s goes nowhere", name)
		}
	}
}
