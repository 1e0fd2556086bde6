package main

import (
	"net"
	"strings"
	"testing"
)

// A port that is taken is named with the key under which another one goes.
func TestATakenPortIsNamedByItsKey(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := ln.Addr().String()
	for key, address := range map[string]string{"listen": taken, "debug_listen": taken} {
		if _, err := listenOn(key, address); err == nil || !strings.Contains(err.Error(), key+` = "`+address+
			`": another program has that port`) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := listenOn("listen", "127.0.0.1"); err == nil || !strings.Contains(err.Error(), `listen = "127.0.0.1"`) {
		t.Errorf("an address without a port: %v", err)
	}
}
