//go:build !linux

package laboratory

import (
	"net"
	"testing"
)

// FreePort is a port of loopback on which nothing listens now. Other systems keep no port that
// somebody else is to listen at, so the system may give it away before its server starts.
func FreePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}
