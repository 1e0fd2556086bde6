package laboratory

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// FreeHost is a host of the loopback network that is no other test's while this one runs: for
// programs that must be told where to listen, or take the ports that follow too. It is theirs who
// listen at its first port, which nobody else does.
func FreeHost(t testing.TB) string {
	t.Helper()
	for i := range 1 << 16 {
		n := os.Getpid() + i
		host := fmt.Sprintf("127.84.%d.%d", n>>8&0xff, n&0xff)
		if ln, err := net.Listen("tcp", host+":4000"); err == nil {
			t.Cleanup(func() { ln.Close() })
			return host
		}
	}
	t.Fatal("every host of the loopback network is somebody's")
	return ""
}
