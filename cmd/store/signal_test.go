package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stuckVariable stands in a process that a test started and that, told to stop, does not come to an
// end.
const stuckVariable = "STORE_TEST_STUCK"

func stuck() {
	ctx := untilSignal()
	fmt.Println("running")
	<-ctx.Done()
	fmt.Println("stopping")
	time.Sleep(time.Minute) // nobody waits that long: the second signal ends it
}

// The first signal lets things finish, the second ends them.
func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	for _, signals := range [][2]syscall.Signal{{syscall.SIGINT, syscall.SIGINT}, {syscall.SIGTERM, syscall.SIGINT},
		{syscall.SIGINT, syscall.SIGTERM}} {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), stuckVariable+"=1")
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := bufio.NewScanner(out)
		for i, want := range []string{"running", "stopping"} {
			if !said.Scan() || said.Text() != want {
				t.Fatalf("it says %q, want %q", said.Text(), want)
			}
			if err := child.Process.Signal(signals[i]); err != nil {
				t.Fatal(err)
			}
		}
		if said.Scan() {
			t.Errorf("it says %q", said.Text())
		}
		_ = child.Wait() // it was killed; how is looked at
		if got := child.ProcessState.Sys().(syscall.WaitStatus); !got.Signaled() || got.Signal() != signals[1] {
			t.Errorf("after %v it ended with %v", signals, child.ProcessState)
		}
	}
}

// A signal ends every build, also one that waits for what never comes.
func TestASignalEndsABuildThatWaits(t *testing.T) {
	for _, verb := range []string{"build", "watch"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "store.toml")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			child := exec.CommandContext(t.Context(), os.Args[0], verb, "-config", pipe)
			child.Env = append(os.Environ(), verbVariable+"=1")
			var said strings.Builder
			child.Stderr = &said
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			open, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once it reads
			if err == nil {
				defer open.Close()
				err = child.Process.Signal(syscall.SIGTERM)
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = child.Wait() // how it ended is looked at
			if child.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "told to stop") {
				t.Errorf("%v: %s", child.ProcessState, said.String())
			}
		})
	}
}
