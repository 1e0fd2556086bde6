package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// until ends a run when it says something.
type until struct {
	bytes.Buffer
	word string
	stop context.CancelFunc
}

func (u *until) Write(b []byte) (int, error) {
	n, err := u.Buffer.Write(b)
	if strings.Contains(u.String(), u.word) {
		u.stop()
	}
	return n, err
}

// Without Node.js a run has no Solana, says why, and has the other four.
func TestDevnetWithoutNode(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	out := &until{word: "running the chains only", stop: stop}
	f := flags{listen: "127.0.0.1:0", rpc: "127.0.0.1:0", practice: "127.0.0.1:0", chainOnly: true,
		ready: filepath.Join(t.TempDir(), "ready")}
	f.state = filepath.Join(t.TempDir(), "state")
	if err := run(ctx, f, out, io.Discard); err != nil {
		t.Fatal(err)
	}
	said, ready := out.String(), ""
	if b, err := os.ReadFile(f.ready); err == nil {
		ready = string(b)
	}
	if !strings.Contains(said, "Solana is left out: it runs on Node.js: exec: \"node\"") ||
		!strings.Contains(said, "scoreboard at http://127.0.0.1:") ||
		!strings.Contains(said, "eip155:43114") || !strings.Contains(ready, "eip155:43114") ||
		strings.Contains(ready, "solana") {
		t.Errorf("said %s, ready %s", said, ready)
	}
}

// The devnet opens nothing that others could reach, and makes nothing before it knows that.
func TestDevnetStaysOnLoopback(t *testing.T) {
	good := flags{listen: "127.0.0.1:0", rpc: "127.0.0.1:0", chainOnly: true}
	for _, address := range []string{"0.0.0.0:4641", ":4641", "[::]:4641", "192.0.2.1:4641", "devnet.example:4641",
		"127.0.0.1"} {
		for name, change := range map[string]func(*flags){"-listen": func(f *flags) { f.listen = address },
			"-rpc":      func(f *flags) { f.rpc = address },
			"-practice": func(f *flags) { f.practice = address }} {
			f := good
			f.state = filepath.Join(t.TempDir(), "state")
			change(&f)
			if err := run(t.Context(), f, io.Discard, io.Discard); err == nil ||
				!strings.HasPrefix(err.Error(), name+": ") {
				t.Errorf("%s %s: %v", name, address, err)
			}
			if entries, _ := filepath.Glob(f.state); len(entries) > 0 {
				t.Errorf("%s %s: a state folder was made", name, address)
			}
		}
	}
	for _, address := range []string{"127.0.0.1:4020", "localhost:4020", "[::1]:4020"} {
		if err := loopback(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
