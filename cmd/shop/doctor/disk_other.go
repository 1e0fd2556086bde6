//go:build !unix

package doctor

import "errors"

var errNoDevices = errors.New("this system does not name file systems")

// device names the file system that a folder is on.
func device(string) (uint64, error) { return 0, errNoDevices }

// room is how many bytes may still be written where a folder is.
func room(string) (uint64, error) { return 0, errNoDevices }
