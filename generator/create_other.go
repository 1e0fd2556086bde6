//go:build !linux

package generator

import "errors"

// createBeneath is not there.
func createBeneath(int, string, []byte) error { return errors.ErrUnsupported }
