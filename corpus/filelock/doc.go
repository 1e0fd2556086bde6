// Package filelock takes the operating system's lock of an open file, which ends with the file or
// with its process, however that dies. Programs that ask for the lock are kept apart by it; others
// may read and write the file as they like.
package filelock

import "errors"

// ErrHeld is returned where another open file has the lock.
var ErrHeld = errors.New("the lock is held")
