// Package daemon runs programs of others beside a test or another program, never for longer than
// that.
package daemon

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience turns a hang into a failure. No machine is so slow that a program takes as long to
// begin.
const patience = 5 * time.Minute

// TB is what of testing.TB is needed here, so that a program that links this package links no
// tests.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Start runs a program until the test ends and returns what it says, on either output, behind the
// words listens: where it listens. It fails the test when the program ends before.
func Start(t TB, listens, program string, args ...string) string {
	t.Helper()
	at, stop, err := Open(listens, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return at
}

// Open is Start for programs, until stop is called. The program ends with this process however that
// dies.
func Open(listens, program string, args ...string) (at string, stop func(), err error) {
	name := filepath.Base(program)
	// The shell ends the program when this process lets go of its standard input, be it by dying.
	cmd := exec.Command("/bin/sh", append([]string{"-c", `"$@" 2>&1 & p=$!; exec >&- 2>&-; read _; kill $p; wait $p`,
		"sh", program}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	drained := make(chan struct{})
	stop = func() {
		in.Close()
		<-drained
		cmd.Wait() // the status is that of a killed process
	}
	address := make(chan string, 1)
	said := new(strings.Builder)
	go func() {
		defer close(drained)
		defer close(address)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, at, ok := strings.Cut(lines.Text(), listens); ok {
				address <- strings.TrimSpace(at)
				io.Copy(io.Discard, out)
				return
			}
			fmt.Fprintln(said, lines.Text())
		}
	}()
	select {
	case at, ok := <-address:
		if !ok {
			stop()
			return "", nil, fmt.Errorf("%s ended before it listened:\n%s", name, said)
		}
		return at, stop, nil
	case <-time.After(patience):
		stop()
		return "", nil, fmt.Errorf("%s does not listen:\n%s", name, said)
	}
}
