//go:build unix

package dynamic

import (
	"os"
	"syscall"
)

// hold marks an open folder as in use, until it is closed: a build removes no tree that somebody
// holds.
func hold(dir *os.File) error { return syscall.Flock(int(dir.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) }
