package laboratory

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// FreePort is a port of loopback on which nothing listens, and which the system gives to nobody
// else while the test runs: it is bound, but not listened at. Whoever sets SO_REUSEADDR and asks
// for that very port may listen there, as servers do; a port that the system chooses for somebody
// is never one that is bound.
func FreePort(t testing.TB) string {
	t.Helper()
	port, err := func() (int, error) {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, os.NewSyscallError("socket", err)
		}
		t.Cleanup(func() { syscall.Close(fd) })
		if err := errors.Join(syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
			syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})); err != nil {
			return 0, os.NewSyscallError("bind", err)
		}
		name, err := syscall.Getsockname(fd)
		if err != nil {
			return 0, os.NewSyscallError("getsockname", err)
		}
		return name.(*syscall.SockaddrInet4).Port, nil
	}()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}
