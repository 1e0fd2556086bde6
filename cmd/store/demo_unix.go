//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// become goes on as another program, which then has this one's signals to itself: the devnet takes
// the first to stop well and the second to stop at once.
func become(program string, args []string) error {
	return fmt.Errorf("starting %s: %w", program, syscall.Exec(program, args, os.Environ()))
}
