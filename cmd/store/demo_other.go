//go:build !unix

package main

import (
	"fmt"
	"os"
	"os/exec"
)

// become runs another program to its end. What a terminal sends goes to both, and this one waits.
func become(program string, args []string) error {
	cmd := exec.Command(program, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s: %w", program, err)
	}
	return nil
}
