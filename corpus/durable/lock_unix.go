//go:build unix

package durable

import (
	"os"
	"syscall"
)

// Lock waits for the lock.
func Lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// TryLock takes the lock, or returns ErrHeld.
func TryLock(f *os.File) error { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

// Unlock lets the lock go for every copy of the file: a child that is being started just then holds
// one.
func Unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), how); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return ErrLocked
		default:
			return err
		}
	}
}
