package bulk

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// TestQuestions asks each question of the small record, in which a gap of ours stands between two
// verdicts that differ.
func TestQuestions(t *testing.T) {
	w, dir := smallRecord(t), t.TempDir()
	write(t, w, dir)
	name := filepath.Join(dir, partName(open(t, w).Rounds()[0].Week[:4], ".sqlite"))
	conn, err := sqlite3.OpenFlags((&url.URL{Scheme: "file", Path: filepath.ToSlash(name)}).String(),
		sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func(query string) string {
		t.Helper()
		s, _, err := conn.Prepare(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer s.Close()
		var lines []string
		for s.Step() {
			var cells []string
			for i := range s.ColumnCount() {
				cells = append(cells, s.ColumnText(i))
			}
			lines = append(lines, strings.Join(cells, " "))
		}
		if err := s.Err(); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return strings.Join(lines, "\n")
	}
	want := []string{
		"ready 2\nnot_ready 1",
		"accepts 1\nstatus-402 1",
		"eip155:8453 2 2 0 0 0\neip155:84532 2 2 0 0 0",
		"a.example ready not_ready\nb.example not_ready ready",
		"",
		"2026-W39 3 3 0 0 0\n2026-W38 2 2 0 0 0\n2026-W37 3 2 1 0 0",
		"",
	}
	all := Questions("o'clock.example")
	if len(all) != len(want) {
		t.Fatalf("%d questions, want %d", len(all), len(want))
	}
	for i, q := range all {
		got := ask(q.Query)
		if want[i] != "" && got != want[i] || strings.Contains(q.Query, "HOST") {
			t.Errorf("%s\n%s\n got %s\nwant %s", q.Title, q.Query, got, want[i])
		}
	}
	if got := ask(Questions("b.example")[4].Query); len(strings.Split(got, "\n")) != 3 {
		t.Errorf("one host: %s", got)
	}
	if got := ask(all[6].Query); !strings.Contains(got, "view latest CREATE VIEW latest AS") {
		t.Errorf("tables and views: %s", got)
	}
	// Those about a host and about the newest week find their rows by an index.
	for _, i := range []int{0, 1, 2, 3, 4} {
		if plan := ask("EXPLAIN QUERY PLAN " + all[i].Query); strings.Contains(plan, "SCAN rows\n") ||
			!strings.Contains(plan, "USING") {
			t.Errorf("%s: %s", all[i].Title, fmt.Sprint(plan))
		}
	}
}
