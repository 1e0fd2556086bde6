package npm_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/templates/npm"
)

// node runs a script of testdata in the package; what it prints is what does not hold.
func node(t *testing.T, script string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), npmtest.Node(t), append([]string{script}, args...)...)
	c.Dir, c.Stderr = npmtest.Own(t, "testdata", "*.mjs"), t.Output()
	if out, err := c.Output(); err != nil || len(out) > 0 {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestVectors holds the package to what is committed: the vectors of the record and of its forms,
// the offers and receipts of the conformance set, and the manifest over all public files.
func TestVectors(t *testing.T) {
	t.Parallel()
	public, err := filepath.Abs("../../public")
	if err != nil {
		t.Fatal(err)
	}
	node(t, "vectors.mjs", public)
}

// TestLongTypes: the declarations are what a strict program in TypeScript reads them as.
func TestLongTypes(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), npmtest.Node(t), "node_modules/typescript/bin/tsc", "--noEmit", "--strict",
		"--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom,esnext",
		"--types", "node", "typed.ts")
	c.Dir = npmtest.Own(t, "testdata", "typed.ts")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestVersion: a tag is the version, and a commit without one is before all of them.
func TestVersion(t *testing.T) {
	t.Parallel()
	for described, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-4-gabcdef0": "1.2.3-4-gabcdef0",
		"0123456": "0.0.0-g0123456", "v2": "0.0.0-gv2"} {
		if got := npm.Version(described); got != want {
			t.Errorf("%s is %s, want %s", described, got, want)
		}
	}
}
