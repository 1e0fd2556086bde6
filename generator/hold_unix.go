//go:build unix

package generator

import (
	"errors"
	"os"
	"syscall"
)

// take locks an open folder for its holder alone, until it is closed, and reports whether it could:
// a server that reads a tree, or another build, has it otherwise.
func take(dir *os.File) (bool, error) {
	err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
