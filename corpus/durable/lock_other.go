//go:build !unix

package durable

import (
	"errors"
	"os"
)

// exclusive refuses: where files cannot be locked the record is read, not written.
func exclusive(*os.File, bool) error { return errors.ErrUnsupported }
