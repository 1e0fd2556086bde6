// Package daemon runs programs of others beside a test, each as long as the test and never longer.
package daemon

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience turns a hang into a failure. No machine is so slow that a program takes as long to begin.
const patience = 5 * time.Minute

// Start runs a program until the test ends and returns what it says, on either output, behind the words listens: where
// it listens. It fails the test when the program ends before. The program ends with this process however that dies.
func Start(t testing.TB, listens, program string, args ...string) string {
	t.Helper()
	name := filepath.Base(program)
	// The shell ends the program when this process lets go of its standard input, be it by dying.
	cmd := exec.Command("/bin/sh", append([]string{"-c", `"$@" 2>&1 & p=$!; exec >&- 2>&-; read _; kill $p; wait $p`, "sh", program}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	t.Cleanup(func() {
		in.Close()
		<-drained
		cmd.Wait() // the status is that of a killed process
	})
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
			t.Fatalf("%s ended before it listened:\n%s", name, said)
		}
		return at
	case <-time.After(patience):
		t.Fatalf("%s does not listen", name)
		return ""
	}
}
