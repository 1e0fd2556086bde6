// Package svm is a local Solana cluster: litesvm, which runs the real programs, behind a small
// JSON-RPC server on Node.js. It has no consensus, no forks of its own and no market for fees.
package svm

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"store.example/agentstore/cmd/devnet/daemon"
	"store.example/agentstore/cmd/devnet/npmtest"
)

//go:embed cluster.mjs package.json package-lock.json
var files embed.FS

// TB is what of testing.TB is needed here, so that a program that links this package links no
// tests.
type TB interface {
	npmtest.TB
	Cleanup(func())
}

// Cluster is one that runs until it is closed.
type Cluster struct {
	URL   string
	t     TB // nil outside tests
	close func()
}

// Start starts a cluster for as long as a test that makes a block whenever it is told to, or skips
// the test where there is no Node.js.
func Start(t TB) *Cluster { return StartTicking(t, 0) }

// StartTicking is Start of a cluster that also makes a block in every so much time.
func StartTicking(t TB, slot time.Duration) *Cluster {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	npmtest.Install(t, filepath.Dir(here))
	c, err := Open(slot, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.t = t
	t.Cleanup(c.Close)
	return c
}

// Open starts a cluster on a port of loopback, 0 for any, that makes a block in every so much time,
// 0 for when it is told to. The error says what is missing. Close it.
func Open(slot time.Duration, port int) (_ *Cluster, err error) {
	node, err := npmtest.FindNode()
	if err != nil {
		return nil, fmt.Errorf("it runs on Node.js: %w", err)
	}
	dir, err := os.MkdirTemp("", "svm-")
	if err != nil {
		return nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if err := os.CopyFS(dir, files); err != nil {
		return nil, err
	}
	modules, err := npmtest.Modules(dir)
	if err != nil {
		return nil, fmt.Errorf("its npm packages cannot be installed: %w", err)
	}
	// Node.js looks for packages beside the script.
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		return nil, err
	}
	url, stop, err := daemon.Open("listening on ", node, filepath.Join(dir, "cluster.mjs"),
		strconv.FormatInt(slot.Milliseconds(), 10), strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	return &Cluster{URL: url, close: func() { stop(); remove() }}, nil
}

// Close ends the cluster.
func (c *Cluster) Close() { c.close() }

// Do makes a call and decodes its result into out, which may be nil. An error ends the test.
func (c *Cluster) Do(out any, method string, params ...any) {
	c.t.Helper()
	if err := c.Call(out, method, params...); err != nil {
		c.t.Fatal(err)
	}
}

// Call is Do for programs.
func (c *Cluster) Call(out any, method string, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	resp, err := http.Post(c.URL, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var a struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if a.Error != nil {
		return errors.New(method + ": " + a.Error.Message)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(a.Result, out); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}
