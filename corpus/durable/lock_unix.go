//go:build unix

package durable

import (
	"os"
	"syscall"
)

// exclusive waits for the lock of an open file, which ends with the file or its process.
func exclusive(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}
