package kit_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/check/purchase"
)

// readAction takes action.yml apart as far as it goes here: the defaults of the inputs, and the
// script and variables of the last step.
func readAction(text string) (defaults map[string]string, script string, env map[string]string) {
	defaults, env = map[string]string{}, map[string]string{}
	section, input := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch depth := len(line) - len(strings.TrimLeft(line, " ")); {
		case depth == 0 || depth == 6 && section != "inputs":
			section = name
		case name == "- name":
			script, env = "", map[string]string{}
		case section == "inputs" && depth == 2:
			input = name
			defaults[input] = ""
		case section == "inputs" && name == "default":
			defaults[input] = value
		case section == "run":
			script += strings.TrimPrefix(line, "        ") + "\n"
		case section == "env":
			env[name] = value
		}
	}
	return defaults, script, env
}

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
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", ".github", "actions", "check", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	defaults, script, env := readAction(string(raw))
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
				"not_ready,unreachable,method_unresolved,purchase", "-at", "README.md", "--", "https://a.example/x",
				"https://b.example/y?q=1"}},
		{map[string]string{"discover": "localhost:3000", "local": "true",
			"header": "X-Token: $(id) `id` \"q\"\nX-B: c\n",
			"save":   "d.rec", "ca": "ca.pem", "contact": "https://me.example/", "timeout": "20s",
			"sarif": "a b.sarif", "junit": "j.xml", "baseline": "b.json", "allow-network": "10.0.0.0/8",
			"allow-port": "8443", "solana-rpc": "http://localhost:8899",
			"battery": "v1", "fail-on": "never", "at": "doors.toml"},
			[]string{"-battery", "v1", "-fail-on", "never", "-at", "doors.toml", "-sarif", "a b.sarif", "-junit",
				"j.xml",
				"-discover", "localhost:3000", "-save", "d.rec", "-ca", "ca.pem", "-contact", "https://me.example/",
				"-timeout", "20s", "-allow-network", "10.0.0.0/8", "-allow-port", "8443", "-baseline", "b.json",
				"-solana-rpc", "http://localhost:8899", "-header", "X-Token: $(id) `id` \"q\"", "-header", "X-B: c",
				"-local", "--"}},
		{map[string]string{"urls": "https://a.example/x", "pay": "a secret key", "rpc": "http://localhost:8545",
			"max-usd": "0.5", "pay-network": "eip155:8453", "method": "POST", "data": "{\"city\":\"Lisbon\"}"},
			[]string{"-battery", "v2", "-fail-on", "not_ready,unreachable,method_unresolved,purchase", "-at",
				"README.md", "-method", "POST", "-data", "{\"city\":\"Lisbon\"}", "-pay-network", "eip155:8453", "-rpc",
				"http://localhost:8545", "-pay", dir + "/check.key", "-max-usd", "0.5", "-journal",
				dir + "/check-purchases", "--", "https://a.example/x", "600 a secret key"}},
		{map[string]string{"urls": "https://a.example/x", "pay": "[1,2,3]", "journal": "kept"},
			[]string{"-battery", "v2", "-fail-on", "not_ready,unreachable,method_unresolved,purchase", "-at",
				"README.md", "-pay", dir + "/check.key", "-max-usd", "0.10", "-journal", "kept", "--",
				"https://a.example/x", "600 [1,2,3]"}},
		{map[string]string{"exchange": "d.rec", "json": dir + "/doors.json"}, nil}, // in the file
	} {
		cmd := exec.Command("bash", "-c", script)
		output := filepath.Join(dir, "output")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + output}
		for name, value := range env {
			input, ok := strings.CutPrefix(value, "${{ inputs.")
			if !ok {
				t.Fatalf("%s: %s", name, value)
			}
			input = strings.TrimSuffix(input, " }}")
			given, ok := c.inputs[input]
			or, known := defaults[input]
			if !known {
				t.Fatalf("%s is no input", input)
			}
			if !ok {
				given = or
			}
			cmd.Env = append(cmd.Env, name+"="+given)
		}
		out, err := cmd.Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); strings.Join(got, "\n") != strings.Join(
			c.want, "\n") {
			t.Errorf("arguments\n%q, want\n%q", got, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.key")); len(left) > 0 {
			t.Errorf("%s is left behind", left)
		}
		if code, _ := os.ReadFile(output); cmd.ProcessState.ExitCode() != 3 ||
			!strings.HasSuffix(string(code), "exit-code=3\n") {
			t.Errorf("exit %v, output %q", err, code)
		}
	}
	said, err := os.ReadFile(filepath.Join(dir, "doors.json"))
	if err != nil || !strings.Contains(string(said), "-exchange\nd.rec\n-json\n--\n") {
		t.Errorf("as JSON: %v %s", err, said)
	}
	if missing := without(defaults); len(missing) > 0 {
		t.Errorf("no input for the flags %q", missing)
	}
	if most := fmt.Sprintf("signs %d payments at the most, of which a door that charges once settles %d",
		purchase.Payments(), purchase.Orders()); !strings.Contains(string(raw), most) {
		t.Errorf("max-usd does not say that it %s", most)
	}
	for name := range defaults {
		if !strings.Contains(string(raw), "${{ inputs."+name+" }}") {
			t.Errorf("the input %s goes nowhere", name)
		}
	}
}
