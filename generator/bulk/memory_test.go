package bulk

import (
	"fmt"
	"iter"
	"os"
	"testing"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestLongMemoryDoesNotFollowRows writes many times as many rows in about the same memory. What
// SQLite has counts, as it is Go memory too; its pages and the row groups fill up with the rows, to
// bounds of their own.
func TestLongMemoryDoesNotFollowRows(t *testing.T) {
	many := func(n int) iter.Seq2[record.Row, error] {
		return func(yield func(record.Row, error) bool) {
			row := walked("a.example", record.VerdictReady)
			for i := range n {
				row.Host = fmt.Sprintf("h%09d.example", i)
				if !yield(row, nil) {
					return
				}
			}
		}
	}
	run := func(n int) uint64 {
		w := testWriter(t)
		sealed(t, w, 1, many(n))
		rec := open(t, w)
		dir := t.TempDir()
		began := time.Now()
		most := recordtest.Peak(func() {
			if _, err := Write(t.Context(), os.DirFS(w.Dir), rec, dir); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%d rows: peak %d MiB, %v", n, most>>20, time.Since(began))
		return most
	}
	few, lots := run(record.MaxPartRows), run(8*record.MaxPartRows)
	if lots > few+few/2+(24<<20) {
		t.Errorf("memory follows the rows: %d MiB, then %d MiB", few>>20, lots>>20)
	}
}
