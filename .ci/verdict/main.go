// Verdict reads what go test -json prints, of one run or of several after each other, and judges it
// as the build machine must: it shows each package's result and the output of what failed, refuses
// a skipped test that is not expected to be skipped, and ends with a line such as
//
//	1203 passed, 0 failed
//
// Its exit status is 0 only if there were tests, all packages passed and nothing was skipped
// unexpectedly.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// maySkip lists the tests that may be skipped on the build machine, each with its reason. Package
// and test are patterns as of path.Match, "*" for any package, the test's for the part of its name
// before the first slash.
var maySkip = []struct{ pkg, test, reason string }{
	{"*", "TestSoak*", "takes hours: make soak runs it"},
}

// ciRun is the package that .ci/run says its steps are of, each as a test.
const ciRun = ".ci/run"

// An event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// A judge keeps what it has seen.
type judge struct {
	out            io.Writer
	said           map[string][]string // by package and test: output that is shown if it fails
	bad            map[string]bool     // packages in which a test failed
	passed, failed int
	skipped        []string
	packages       int
	took           []timed // tests of this step of .ci/run
}

// timed is a test with the seconds that it took, waiting included.
type timed struct {
	name    string
	seconds float64
}

// slowest is how many tests of a step are named.
const slowest = 10

// step says which tests of a step of .ci/run took longest.
func (j *judge) step(name string) {
	slices.SortFunc(j.took, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	for i, t := range j.took[:min(slowest, len(j.took))] {
		fmt.Fprintf(j.out, "slow  %s %d: %s %.1fs\n", name, i+1, t.name, t.seconds)
	}
	j.took = nil
}

func main() {
	j := &judge{out: os.Stdout, said: map[string][]string{}, bad: map[string]bool{}}
	if !j.read(os.Stdin) {
		os.Exit(1)
	}
}

// read judges everything r holds, prints the verdict and returns whether it is good.
func (j *judge) read(r io.Reader) bool {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 && (line[0] != '{' || json.Unmarshal(line, &e) != nil) {
			fmt.Fprintf(j.out, "%s\n", bytes.TrimRight(line, "\n")) // make, set-up and go say things too
		} else if len(line) > 0 {
			j.see(e)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Fprintf(j.out, "reading test output: %v\n", err)
			j.failed++
			break
		}
	}
	for _, s := range j.skipped {
		fmt.Fprintf(j.out, "skipped, which .ci/verdict does not expect: %s\n", s)
	}
	j.failed += len(j.skipped)
	if j.packages == 0 {
		fmt.Fprintln(j.out, "no package was tested")
	}
	fmt.Fprintf(j.out, "%d passed, %d failed\n", j.passed, j.failed)
	return j.failed == 0 && j.passed > 0 && j.packages > 0
}

func (j *judge) see(e event) {
	id := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		j.said[id] = append(j.said[id], e.Output)
	case "build-output":
		fmt.Fprint(j.out, e.Output)
	case "pass":
		if e.Test == "" {
			j.packages++
			fmt.Fprintf(j.out, "ok    %s %.1fs\n", e.Package, e.Elapsed)
		} else {
			j.passed++
		}
		if e.Package == ciRun {
			j.step(e.Test)
		} else if e.Test != "" && !strings.Contains(e.Test, "/") {
			j.took = append(j.took, timed{id, e.Elapsed})
		}
		delete(j.said, id)
	case "fail":
		if e.Package == ciRun {
			j.step(e.Test)
		}
		fmt.Fprintf(j.out, "FAIL  %s\n%s", strings.TrimSpace(id), strings.Join(j.said[id], ""))
		if e.Test != "" || !j.bad[e.Package] { // a package that does not build or ends early has no failed test
			j.failed++
		}
		j.bad[e.Package] = true
	case "skip":
		if e.Test == "" {
			break // a package without tests
		}
		if why := reason(e.Package, e.Test); why != "" {
			fmt.Fprintf(j.out, "skip  %s: %s\n", id, why)
		} else {
			j.skipped = append(j.skipped, id+"\n"+strings.Join(j.said[id], ""))
		}
	}
}

// reason returns why a test may be skipped, "" if it may not.
func reason(pkg, test string) string {
	top, _, _ := strings.Cut(test, "/")
	for _, m := range maySkip {
		inPackage, err := path.Match(m.pkg, pkg)
		ofTest, err2 := path.Match(m.test, top)
		if (m.pkg == "*" || inPackage) && ofTest && err == nil && err2 == nil {
			return m.reason
		}
	}
	return ""
}
