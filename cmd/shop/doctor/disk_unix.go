//go:build unix

package doctor

import (
	"fmt"
	"os"
	"syscall"
)

// device names the file system that a folder is on.
func device(dir string) (uint64, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: this system does not name file systems", dir)
	}
	return uint64(sys.Dev), nil
}

// room is how many bytes may still be written where a folder is.
func room(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("asking for the room of %s: %w", dir, err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
