package main

import (
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	const pass = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" +
		`{"Action":"pass","Package":"p","Elapsed":0.1}` + "\n"
	for _, c := range []struct {
		name, in, last string
		good           bool
		says           string
	}{
		{"all pass", "make: something\n" + pass, "1 passed, 0 failed", true, "make: something"},
		{"nothing ran", "", "0 passed, 0 failed", false, "no package was tested"},
		{"only test-less packages", `{"Action":"skip","Package":"q"}`, "0 passed, 0 failed", false,
			"no package was tested"},
		{"a failure", `{"Action":"output","Package":"q","Test":"TestB","Output":"got 1\n"}` + "\n" +
			`{"Action":"fail","Package":"q","Test":"TestB"}` + "\n" + `{"Action":"fail","Package":"q"}` + "\n" + pass,
			"1 passed, 1 failed", false, "got 1"},
		{"a package that does not build", `{"Action":"build-output","ImportPath":"q","Output":"undefined: x\n"}` +
			"\n" +
			`{"Action":"fail","Package":"q","FailedBuild":"q"}` + "\n" + pass, "1 passed, 1 failed", false,
			"undefined: x"},
		{"a skip", `{"Action":"output","Package":"p","Test":"TestS/x","Output":"no database\n"}` + "\n" +
			`{"Action":"skip","Package":"p","Test":"TestS/x"}` + "\n" + pass, "1 passed, 1 failed", false,
			"no database"},
		{"an expected skip", `{"Action":"skip","Package":"p/q","Test":"TestSoakKills/1"}` + "\n" + pass,
			"1 passed, 0 failed", true, "make soak"},
		{"a step", `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":2}` + "\n" +
			`{"Action":"pass","Package":"p","Test":"TestB","Elapsed":3}` + "\n" + pass +
			`{"Action":"pass","Package":".ci/run","Test":"make test"}`, "4 passed, 0 failed", true,
			"slow  make test 1: p TestB 3.0s\nslow  make test 2: p TestA 2.0s\n"},
		// make's own status tells
		{"output cut short", pass + `{"Action":"pa`, "1 passed, 0 failed", true, `{"Action":"pa`},
	} {
		var out strings.Builder
		j := &judge{out: &out, said: map[string][]string{}, bad: map[string]bool{}}
		good := j.read(strings.NewReader(c.in))
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		if good != c.good || lines[len(lines)-1] != c.last || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: good %v, said\n%s\nwant %v, %q and last %q", c.name, good, out.String(), c.good, c.says,
				c.last)
		}
	}
}
