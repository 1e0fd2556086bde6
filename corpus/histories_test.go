package corpus_test

import (
	"reflect"
	"runtime"
	"testing"

	"agentstore/corpus"
	"agentstore/corpus/attest"
	"agentstore/corpus/corpustest"
)

// TestHistoriesAreParsedInOrder holds what many cores parse against what one does, and ends passes early at many places.
func TestHistoriesAreParsedInOrder(t *testing.T) {
	r, err := corpus.Open(corpustest.Write(t, 400), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	var want []corpus.History
	for raw, err := range r.RawHistories() {
		if err != nil {
			t.Fatal(err)
		}
		h, err := raw.Parse()
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
		for h, err := range r.Histories() {
			if err != nil || !reflect.DeepEqual(h, want[i]) {
				t.Fatalf("history %d is %+v, %v, want %+v", i, h, err, want[i])
			}
			if i++; i == end {
				break
			}
		}
		if i != min(end, len(want)) {
			t.Errorf("%d histories, want %d", i, min(end, len(want)))
		}
	}
}
