package bulk

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// TestLongDuckDBReadsTheParquetFiles: the stock reader of columns finds the table of the CSV files,
// with the types of the dictionary.
func TestLongDuckDBReadsTheParquetFiles(t *testing.T) {
	script, err := filepath.Abs(filepath.Join("testdata", "duckdb", "read.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	modules := npmtest.Packages(t)
	w, dir := smallRecord(t), t.TempDir()
	write(t, w, dir)
	cmd := exec.CommandContext(t.Context(), npmtest.Node(t), script, dir)
	cmd.Dir = filepath.Dir(modules)
	raw, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	var got struct {
		Rows  [][]*string
		Types [][2]string
		Ready [][2]string
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	want := records(t, w, dir)
	if len(got.Rows) != len(want)-1 || len(got.Types) != len(columns) {
		t.Fatalf("%d rows of %d columns, want %d of %d", len(got.Rows), len(got.Types), len(want)-1, len(columns))
	}
	types := map[string]string{typeText: "VARCHAR", typeInteger: "BIGINT", typeFlag: "BOOLEAN", typeList: "JSON"}
	for j, c := range columns {
		if got.Types[j] != [2]string{c.name, types[c.kind]} {
			t.Errorf("column %d is %q, want %s of %s", j, got.Types[j], c.name, types[c.kind])
		}
		for i, row := range got.Rows {
			text := ""
			if row[j] != nil {
				text = *row[j]
			} else if !c.absent {
				t.Errorf("row %d has no %s", i, c.name)
			}
			if text != want[i+1][j] {
				t.Errorf("row %d, %s: %q, in CSV %q", i, c.name, text, want[i+1][j])
			}
		}
	}
	if len(got.Ready) != 3 || got.Ready[2][1] != "2" {
		t.Errorf("ready by week: %v", got.Ready)
	}
}
