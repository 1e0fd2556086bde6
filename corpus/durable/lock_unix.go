//go:build unix

package durable

import (
	"os"
	"syscall"
)

// exclusive takes the lock of an open file, which ends with the file or its process. It waits for
// it, or returns ErrHeld.
func exclusive(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), how); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return ErrHeld
		default:
			return err
		}
	}
}
