// Package oracles runs stock npm packages beside our checkers in tests: the selection of
// @x402/core, the offers and receipts of @x402/extensions, the signatures of jose, @a2a-js/sdk,
// http-message-sig and Standard Webhooks, the schemas of ajv, the proofs of time of opentimestamps,
// all at the versions of package-lock.json and unmodified. opentimestamps asks for a package called
// fs, which Node.js has itself; package.json puts one in its place that others need anyway. Each
// script reads a line of JSON and writes one, in one process.
//
//	oracles.Ask(t, "select.mjs", questions, &answers)
package oracles

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// Ask puts each question to the script, as a line of JSON, and decodes its answers in the same
// order. A script that cannot run or does not answer everything ends the test.
func Ask[Q, A any](t testing.TB, script string, questions []Q, answers *[]A) {
	t.Helper()
	node := npmtest.Node(t)
	_, here, _, _ := runtime.Caller(0)
	dir := npmtest.Folder(t, npmtest.Packages(t), filepath.Dir(here), script)
	var in, out, stderr bytes.Buffer
	lines := json.NewEncoder(&in)
	lines.SetEscapeHTML(false)
	for _, q := range questions {
		if err := lines.Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), node, script)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, &in, &out, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, stderr.Bytes())
	}
	for line := range bytes.Lines(out.Bytes()) {
		var a A
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("%s said %q: %v", script, line, err)
		}
		*answers = append(*answers, a)
	}
	if len(*answers) != len(questions) {
		t.Fatalf("%s answered %d of %d questions:\n%s", script, len(*answers), len(questions), stderr.Bytes())
	}
}
