//go:build !linux

package generator

import (
	"errors"
	"os"
)

// createBeneath is not there.
func createBeneath(*os.File, string, []byte) error { return errors.ErrUnsupported }
