package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the verifier may weigh: lines of ours in its import graph, with comments, and modules of
// others. Both are to fall, and never to grow but by what is checked besides: the times of a
// record, what errata rest on, and what needs no battery took the last thousand lines.
const (
	mostLines   = 19_250
	mostModules = 4
)

// TestStyleVerifierWeighs counts the import graph of the verifier.
func TestStyleVerifierWeighs(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{if .Module}}{{.Module.Path}} {{.Module.Main}} {{.Dir}} {{range .GoFiles}}{{.}} {{end}}{{end}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines, modules := 0, make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		if words[1] != "true" {
			modules[words[0]] = true
			continue
		}
		for _, name := range words[3:] {
			b, err := os.ReadFile(filepath.Join(words[2], name))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(b, []byte("\n"))
		}
	}
	t.Logf("%d lines of ours, %d modules of others", lines, len(modules))
	if lines == 0 || lines > mostLines || len(modules) > mostModules {
		t.Errorf("%d lines of ours and %d modules of others, more than %d and %d", lines, len(modules), mostLines,
			mostModules)
	}
}
