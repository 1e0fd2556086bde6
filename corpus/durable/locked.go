package durable

import "errors"

// ErrLocked is returned where another open file has the lock.
var ErrLocked = errors.New("the lock is held")
