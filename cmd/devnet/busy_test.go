package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBusyPort: a port of another program is told with the flag that names another one, at once,
// and leaves no folder behind.
func TestBusyPort(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, flag := range []string{"-listen", "-rpc", "-practice"} {
		addresses := map[string]string{"-listen": "127.0.0.1:0", "-rpc": "127.0.0.1:0", "-practice": ""}
		addresses[flag] = busy.Addr().String()
		dir := filepath.Join(t.TempDir(), "demo")
		var said bytes.Buffer
		err := run(t.Context(), flags{listen: addresses["-listen"], rpc: addresses["-rpc"],
			practice: addresses["-practice"], state: dir}, &said, &said)
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
		if _, err := os.Stat(dir); err == nil && flag != "-practice" {
			t.Errorf("%s: it left a folder", flag)
		}
	}
}
