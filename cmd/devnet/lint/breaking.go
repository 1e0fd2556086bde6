package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Breaking lists what a newer OpenAPI description takes away from an older one, a line each: what a
// client sends must go on being taken, what it reads must go on being there with its type. Within a
// version things are only added (interface specification, Versioning 1). The judge is oasdiff, from
// a module file of its own; breaking.txt makes errors of changes that matter to our clients and not
// to everybody's. What became paid it cannot know, because that stands in an extension.
func Breaking(t testing.TB, older, newer []byte) []string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	src := filepath.Dir(here)
	dir := t.TempDir()
	for name, text := range map[string][]byte{"older.json": older, "newer.json": newer} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "tool", "-modfile="+filepath.Join(src, "../../../.tools/oasdiff.mod"), "oasdiff",
		"breaking", "--format", "json",
		"--severity-levels", filepath.Join(src, "breaking.txt"), filepath.Join(dir, "older.json"),
		filepath.Join(dir, "newer.json"))
	cmd.Dir = src // its own configuration is looked for there, and there is none
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("comparing descriptions: %v: %s", err, stderr.String())
	}
	var changes []struct{ Operation, Path, Text string }
	if err := json.Unmarshal(out, &changes); err != nil {
		t.Fatalf("oasdiff printed %q: %v", out, err)
	}
	var found []string
	for _, c := range changes {
		found = append(found, fmt.Sprintf("%s %s: %s", c.Operation, c.Path, c.Text))
	}
	return append(found, becamePaid(t, older, newer)...)
}

func becamePaid(t testing.TB, older, newer []byte) (found []string) {
	t.Helper()
	type description struct {
		Paths map[string]map[string]struct {
			Payment json.RawMessage `json:"x-payment-info"`
		}
	}
	var was, is description
	for text, to := range map[*[]byte]*description{&older: &was, &newer: &is} {
		if err := json.Unmarshal(*text, to); err != nil {
			t.Fatal(err)
		}
	}
	for path, methods := range was.Paths {
		for method, o := range methods {
			if o.Payment == nil && is.Paths[path][method].Payment != nil {
				found = append(found, fmt.Sprintf("%s %s: now asks for a payment", strings.ToUpper(method), path))
			}
		}
	}
	return found
}
