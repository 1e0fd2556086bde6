package generator

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestServedVersionsHaveEveryColumn: status, start, deprecation and sunset stand in every row of
// every form, also where there is none.
func TestServedVersionsHaveEveryColumn(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	mustBuild(t, in)
	tree := os.DirFS(in.OutDir)
	read := func(name string) string {
		b, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var doc struct{ Versions []map[string]any }
	if err := json.Unmarshal([]byte(read("deprecation.json")), &doc); err != nil || len(doc.Versions) == 0 {
		t.Fatal(doc, err)
	}
	for _, v := range doc.Versions {
		for _, column := range []string{"name", "path", "version", "status", "since", "deprecated", "sunset"} {
			if _, there := v[column]; !there {
				t.Errorf("%v has no %s", v["path"], column)
			}
		}
	}
	for name, cell := range map[string]string{"deprecation/index.html": "<td", "deprecation.md": " | "} {
		for line := range strings.Lines(read(name)) {
			if strings.Contains(line, "/api/buy") && strings.Count(line, cell) != 5 {
				t.Errorf("%s: %s", name, line)
			}
		}
		if !strings.Contains(read(name), "Sunset") {
			t.Errorf("%s has no column for the sunset", name)
		}
	}
}
