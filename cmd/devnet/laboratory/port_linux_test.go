package laboratory

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// Between the choice of a port and the start of the server that is to listen there, seconds pass.
// Nobody else may get it then: the test would read a stranger's door.
func TestFreePortIsKept(t *testing.T) {
	text := FreePort(t)
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	// A client is bound by the rule by which the system gives out ports: without SO_REUSEADDR.
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}}
	if c, err := from.Dial("tcp", other.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a client got the port: %v %v", c, err)
	}
	server, err := net.Listen("tcp", "127.0.0.1:"+text)
	if err != nil {
		t.Fatalf("a server that asks for the port: %v", err)
	}
	server.Close()
}
