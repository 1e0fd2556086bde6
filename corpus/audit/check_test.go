package audit

import (
	"os"
	"testing"

	"store.example/agentstore/corpus/record"
)

func check(t testing.TB, w *record.Writer) RecordReport {
	t.Helper()
	report, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring, RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}
