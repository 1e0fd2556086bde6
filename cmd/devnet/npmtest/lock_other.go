//go:build !unix

package npmtest

import "errors"

// hold refuses: what is installed by two processes at once would be whole in neither.
func hold(string) (func(), error) {
	return nil, errors.New("this system locks no files as npm packages need it: install them under Linux or macOS")
}
