package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// The devnet opens nothing that others could reach, and makes nothing before it knows that.
func TestDevnetStaysOnLoopback(t *testing.T) {
	good := flags{listen: "127.0.0.1:0", rpc: "127.0.0.1:0", chainOnly: true}
	for _, address := range []string{"0.0.0.0:4641", ":4641", "[::]:4641", "192.0.2.1:4641", "devnet.example:4641", "127.0.0.1"} {
		for name, change := range map[string]func(*flags){"-listen": func(f *flags) { f.listen = address }, "-rpc": func(f *flags) { f.rpc = address }} {
			f := good
			f.state = filepath.Join(t.TempDir(), "state")
			change(&f)
			if err := run(t.Context(), f, io.Discard, io.Discard); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
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
