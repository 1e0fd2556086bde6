//go:build !unix

package dynamic

import "os"

// hold does nothing: where folders cannot be locked, a build keeps the last trees and no others.
func hold(*os.File) error { return nil }
