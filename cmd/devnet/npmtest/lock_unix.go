//go:build unix

package npmtest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// hold takes the lock file until the returned function is called or the process ends.
func hold(file string) (func(), error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", file, err), f.Close())
	}
	return func() { f.Close() }, nil
}
