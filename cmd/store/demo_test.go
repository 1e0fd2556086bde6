package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemoNeedsItsDevnet: without the program of its own commit beside it store demo, as store
// practice, says where that is to be had.
func TestDemoNeedsItsDevnet(t *testing.T) {
	const absent = "is not there: it comes in the same archive"
	for _, verb := range []string{"demo", "practice"} {
		var out bytes.Buffer
		if code := run(t.Context(), []string{verb}, &out, &out); code == 0 || !strings.Contains(out.String(), absent) {
			t.Errorf("%s: exit code %d, %s", verb, code, out.String())
		}
	}
	self := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(filepath.Join(filepath.Dir(self), "devnet"), []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := beside(self, "devnet"); err == nil || !strings.Contains(err.Error(), "take it from the archive") {
		t.Errorf("beside what is no program: %v", err)
	}
}
