package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Windows keeps others from the bytes that are locked. This one stands behind the end of any file.
var behind = windows.Overlapped{OffsetHigh: 1 << 30}

// Lock waits for the lock.
func Lock(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryLock takes the lock, or returns ErrHeld.
func TryLock(f *os.File) error {
	return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// Unlock lets the lock go.
func Unlock(f *os.File) error {
	at := behind
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

func lock(f *os.File, how uint32) error {
	at := behind
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
