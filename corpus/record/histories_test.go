package record_test

import (
	"reflect"
	"runtime"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/record"
)

// TestHistoriesAreParsedInOrder holds what many cores parse against what one does, and ends passes
// early at many places.
func TestHistoriesAreParsedInOrder(t *testing.T) {
	r, err := record.Open(corpustest.Write(t, 400), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	var want []record.History
	for raw, err := range r.RawHistories() {
		if err != nil {
			t.Fatal(err)
		}
		h, err := raw.ParseIn(new(record.HistoryRoom))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, h)
	}
	if len(want) < 400 {
		t.Fatalf("only %d hosts", len(want))
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, end := range []int{1, 2, 31, 32, 33, 64, 255, 256, 257, len(want) - 1, len(want), len(want) + 1} {
		i := 0
		var urls []string // strings stay as they are, whatever else is written over
		for h, err := range r.Histories() {
			if err != nil || !reflect.DeepEqual(h, want[i]) {
				t.Fatalf("history %d is %+v, %v, want %+v", i, h, err, want[i])
			}
			for _, row := range h.Rows {
				urls = append(urls, row.URL)
			}
			if i++; i == end {
				break
			}
		}
		for _, h := range want[:i] {
			for _, row := range h.Rows {
				if urls[0] != row.URL {
					t.Fatalf("a URL of %s is %q at the end, want %q", h.Host, urls[0], row.URL)
				}
				urls = urls[1:]
			}
		}
		if i != min(end, len(want)) {
			t.Errorf("%d histories, want %d", i, min(end, len(want)))
		}
	}
}
