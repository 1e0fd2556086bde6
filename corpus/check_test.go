package corpus

import (
	"os"
	"testing"
)

func check(t testing.TB, w *Writer) RecordReport {
	t.Helper()
	report, err := VerifyRecord(t.Context(), os.DirFS(w.Dir), w.Ring, RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}
