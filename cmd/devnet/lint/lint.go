// Package lint lets tests hold an OpenAPI description against three checkers that are not ours:
// kin-openapi, spectral and redocly, the last two at the versions of package-lock.json and without
// a network.
package lint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// A Linter is a program of the locked packages, and the arguments before the file that make it
// check one.
type Linter struct {
	Name string
	args []string
}

// Linters lists them. Warnings are no errors to either.
var Linters = []Linter{
	{"spectral", []string{"lint", "--ruleset", "spectral.json", "--fail-severity", "error", "--format", "text"}},
	{"redocly", []string{"lint", "--extends", "recommended", "--format", "stylish"}},
}

// OpenAPI checks the description in file with every linter. Their errors are errors of the test,
// anything else that they say is logged.
func OpenAPI(t testing.TB, file string) {
	t.Helper()
	for _, l := range Linters {
		if said, ok := l.Check(t, file); ok {
			t.Logf("%s:\n%s", l.Name, said)
		} else {
			t.Errorf("%s finds errors:\n%s", l.Name, said)
		}
	}
}

// Check returns what the linter says of a file and whether it finds no errors. Telemetry and
// looking for newer versions are off.
func (l Linter) Check(t testing.TB, file string) (said string, ok bool) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	src := filepath.Dir(here)
	bin := filepath.Join(npmtest.Packages(t), ".bin")
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // no configuration but ours is found from here
	rules, err := os.ReadFile(filepath.Join(src, "spectral.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "spectral.json"), rules, 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), filepath.Join(bin, l.Name), append(slices.Clone(l.args), file)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+dir, "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true",
		"NO_COLOR=1")
	out, err := c.CombinedOutput()
	if _, complains := errors.AsType[*exec.ExitError](err); err != nil && !complains {
		t.Fatal(err)
	}
	return string(out), err == nil
}
