package verify

import (
	"os"
	"testing"

	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
)

// judging judges again what is kept of walks.
var judging = RecordOptions{Judge: rejudge.Batteries{}}

func check(t testing.TB, w *seal.Writer) RecordReport {
	t.Helper()
	report, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring, judging)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
