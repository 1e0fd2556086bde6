package shop

import (
	"os"
	"path/filepath"
	"testing"
)

// TestVerifierBeside: the verifier is found where an archive and an installation have it, and a
// folder without the program of it is none.
func TestVerifierBeside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		folder, file string
		found        bool
	}{
		{"bin/verifier", "verify.wasm", true}, {"share/store/verifier", "verify.wasm", true},
		{"bin/verifier", "other", false}, {"verifier", "verify.wasm", false},
	} {
		dir := t.TempDir()
		at := filepath.Join(dir, filepath.FromSlash(c.folder))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, c.file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := verifierBeside(filepath.Join(dir, "bin", "store")); (got == at) != c.found || !c.found && got != "" {
			t.Errorf("%s/%s: %q", c.folder, c.file, got)
		}
	}
}
