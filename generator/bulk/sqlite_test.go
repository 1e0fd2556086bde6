package bulk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStockSQLite asks Python's sqlite3, which is the SQLite that everybody has.
func TestStockSQLite(t *testing.T) {
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import sqlite3").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3 with sqlite3 is missing")
		}
		t.Skip("python3 with sqlite3 is not installed")
	}
	w, dir := smallRecord(t), t.TempDir()
	write(t, w, dir)
	const script = `
import sqlite3, sys, json
db = sqlite3.connect('file:%s?mode=ro&immutable=1' % sys.argv[1], uri=True)
out = {}
for name, query in json.load(sys.stdin).items():
    out[name] = db.execute(query).fetchall()
print(json.dumps(out))
`
	queries := map[string]string{
		"check":  "PRAGMA integrity_check",
		"all":    "SELECT * FROM rows ORDER BY leaf",
		"latest": "SELECT host, sequence, verdict FROM latest ORDER BY host",
		"hosts":  "SELECT * FROM hosts ORDER BY host",
		"weeks": "SELECT sequence, hosts, observed, ready, not_ready, unreachable, not_probed FROM weeks " +
			"ORDER BY sequence",
		"gaps":     "SELECT sequence, reason, hosts FROM gaps ORDER BY sequence",
		"failures": "SELECT sequence, name, hosts FROM failures ORDER BY sequence, name",
		"changes":  "SELECT host, sequence, was, verdict FROM changes ORDER BY host",
		"addresses": "SELECT network, host, sequence FROM addresses WHERE digest = '" + strings.Repeat("ab", 32) +
			"' ORDER BY host, sequence",
		"prices": "SELECT DISTINCT network, offer_min_micro_usdc, offer_max_micro_usdc FROM prices ORDER BY " +
			"network",
		"observations": "SELECT count(*) FROM observations",
		"record":       "SELECT origin, rounds, rows, log_size FROM record",
		"rounds":       "SELECT sequence, rows, probed, json_extract(header, '$.digest') = digest FROM rounds",
		"plan host":    "EXPLAIN QUERY PLAN SELECT * FROM rows WHERE host = 'x'",
		"plan week":    "EXPLAIN QUERY PLAN SELECT * FROM rows WHERE week = 'x'",
		"plan verdict": "EXPLAIN QUERY PLAN SELECT * FROM rows WHERE verdict = 'x'",
	}
	ask, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	year := open(t, w).Rounds()[0].Week[:4]
	cmd := exec.CommandContext(t.Context(), python, "-c", script, filepath.Join(dir, partName(year, ".sqlite")))
	cmd.Stdin = bytes.NewReader(ask)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	var got map[string][][]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	text := func(name string) string {
		var lines []string
		for _, r := range got[name] {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintln(r...), "\n"))
		}
		return strings.Join(lines, "\n")
	}
	for name, want := range map[string]string{
		"check":    "ok",
		"latest":   "a.example 3 not_ready\nb.example 3 ready\nd.example 3 ready",
		"weeks":    "1 3 2 1 1 0 1\n2 2 1 1 0 1 0\n3 3 3 2 1 0 0",
		"gaps":     "1 interrupted, \"really\"\n 1\n2 timeout 1",
		"failures": "1 accepts 1\n1 status-402 1\n3 accepts 1\n3 status-402 1",
		"changes":  "a.example 3 ready not_ready\nb.example 3 not_ready ready",
		"addresses": "eip155:8453 a.example 1\neip155:8453 a.example 2\neip155:8453 b.example 3\neip155:8453 " +
			"d.example 3",
		"prices":       "eip155:8453 1000 1.2e+07\neip155:84532 1000 1.2e+07",
		"observations": "6",
		"record":       "store.example/corpus 3 8 14",
		"rounds":       "1 3 2 1\n2 2 2 1\n3 3 3 1",
	} {
		if text(name) != want {
			t.Errorf("%s:\n got %s\nwant %s", name, text(name), want)
		}
	}
	if hosts := text("hosts"); !strings.Contains(hosts, "b.example 2026-W37 2026-W39 3 2 1 1") {
		t.Errorf("hosts:\n%s", hosts)
	}
	for _, name := range []string{"host", "week", "verdict"} {
		if !strings.Contains(text("plan "+name), "rows_"+name) {
			t.Errorf("a search by %s: %s", name, text("plan "+name))
		}
	}
	// The table is that of the CSV files.
	records := records(t, w, dir)
	for i, row := range got["all"] {
		for j, v := range row {
			want := records[i+1][j]
			if columns[j].kind == typeFlag && v != nil {
				v = v == 1.0
			}
			if v == nil {
				v = ""
			}
			if n, ok := v.(float64); ok {
				v = int64(n)
			}
			if fmt.Sprint(v) != want {
				t.Errorf("row %d, %s: %v, in CSV %q", i, columns[j].name, v, want)
			}
		}
	}
}
