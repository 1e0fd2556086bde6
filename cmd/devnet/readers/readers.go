// Package readers lets tests read a running store with stock readers of the files by which agents
// find one, and run the programs of its documentation, at the versions of package-lock.json and
// unmodified.
package readers

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
)

//go:embed testdata
var schemas embed.FS

// A Finding is what one reader says.
type Finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
	// Read is the paths that it asked the store for.
	Read []string `json:"read"`
}

// limit is how long readers and programs may take.
const limit = 3 * time.Minute

// Folder is a folder in which the locked packages are found, and the scripts of this one.
func Folder(t testing.TB) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	return npmtest.Folder(t, npmtest.Packages(t), filepath.Dir(here), "readers.mjs", "client.ts")
}

// Read reads the store at an address with every reader. Further schemas are put beside those of the
// package by their names.
func Read(t testing.TB, base string, more map[string][]byte) []Finding {
	t.Helper()
	dir := Folder(t)
	files := filepath.Join(dir, "files")
	below, err := fs.Sub(schemas, "testdata")
	err = errors.Join(err, os.CopyFS(files, below))
	for name, text := range more {
		err = errors.Join(err, os.WriteFile(filepath.Join(files, name), text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	out := Run(t, dir, nil, npmtest.Node(t), "readers.mjs", base, files)
	var all []Finding
	for line := range bytes.Lines(out) {
		var f Finding
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatalf("readers.mjs said %q: %v", line, err)
		}
		all = append(all, f)
	}
	return all
}

// Generated is what a client that was generated from a store's description bought there.
type Generated struct {
	Bought   string `json:"bought"`   // the item, by GET
	Posted   string `json:"posted"`   // the item, by POST
	Replayed bool   `json:"replayed"` // what was bought by GET was bought before
	Valid    bool   `json:"valid"`    // the certificate, as the store verifies it
	Refused  int    `json:"refused"`  // status of an id that there is not
	Reason   string `json:"reason"`   // the title of that problem
}

// Generate generates a TypeScript client from the description of the store at an address, compiles
// a program that uses it, and has that buy twice with a key on a network. A description from which
// no client can be generated, or whose types do not fit the program, ends the test.
func Generate(t testing.TB, base, key, network string) (g Generated) {
	t.Helper()
	dir, node := Folder(t), npmtest.Node(t)
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	Run(t, dir, nil, node, "node_modules/openapi-typescript/bin/cli.js", base+"/openapi.json", "-o", "api.ts")
	Run(t, dir, nil, node, "node_modules/typescript/bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "nodenext", "--types", "node", "client.ts")
	said := Run(t, dir, nil, node, "client.js", base, key, network)
	if err := json.Unmarshal(said, &g); err != nil {
		t.Fatalf("client.js said %q: %v", said, err)
	}
	return g
}

// Run runs a command in a folder, with an environment beside the test's own, and returns what it
// says. One that fails, or takes longer than it may, ends the test.
func Run(t testing.TB, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	var out, stderr bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(os.Environ(), env...), &out, &stderr
	c.WaitDelay = 5 * time.Second
	if err := c.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out.Bytes(), stderr.Bytes())
	}
	return out.Bytes()
}
