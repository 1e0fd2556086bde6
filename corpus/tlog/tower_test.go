package tlog

import (
	"bytes"
	"fmt"
	"iter"
	"testing"

	"agentstore/corpus/attest"
	"agentstore/corpus/durable"
)

func FuzzSplitBundle(f *testing.F) {
	f.Add([]byte("\x00\x01a\x00\x02bc"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := splitBundle(raw)
		if err != nil {
			return
		}
		var again []byte
		for _, e := range entries {
			if again, err = bundleEntry(again, e); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(again, raw) || BundleLength(raw, len(entries)) != len(raw) {
			t.Errorf("%x is written %x", raw, again)
		}
	})
}

func leavesFrom(from, to int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := from; i < to; i++ {
			if !yield(fmt.Appendf(nil, `{"leaf":%d}`, i), nil) {
				return
			}
		}
	}
}

const logName = "store.example/corpus"

// logOf is a log of so many leaves in a folder that is open until the end.
func logOf(t testing.TB, size int64) (*durable.Folder, *Log) {
	t.Helper()
	dir, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	log, err := Open(dir.Root.FS(), attest.SpecimenRing())
	if err == nil && size > 0 {
		log, err = Append(t.Context(), dir, log, logName, attest.SpecimenKeyFor(attest.PurposeLog), leavesFrom(0, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, log
}
