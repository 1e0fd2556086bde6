package args

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]string{ // what is left over, and the flags
		"":                    " false ",
		"a b":                 "a b false ",
		"-json a -o x b":      "a b true x",
		"a -o=x b -json":      "a b true x",
		"a -- -json b":        "a -json b false ",
		"-o x -- -json -- -o": "-json -- -o false x",
		"- -json":             "- true ",
		"a -nothing":          "error",
		"a b -o":              "error",
	} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		asJSON, out := flags.Bool("json", false, ""), flags.String("o", "", "")
		got := "error"
		if Parse(flags, strings.Fields(line)) == nil {
			got = strings.Join(append(slices.Clone(flags.Args()), fmt.Sprint(*asJSON), *out), " ")
		}
		if strings.TrimLeft(got, " ") != strings.TrimLeft(want, " ") {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
