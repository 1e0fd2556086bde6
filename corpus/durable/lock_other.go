//go:build !unix && !windows

package durable

import (
	"errors"
	"os"
)

// Lock refuses: there is no lock here that ends with its process.
func Lock(*os.File) error { return errors.ErrUnsupported }

// TryLock refuses, as Lock does.
func TryLock(*os.File) error { return errors.ErrUnsupported }

// Unlock refuses, as Lock does.
func Unlock(*os.File) error { return errors.ErrUnsupported }
