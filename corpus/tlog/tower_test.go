package tlog

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
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
		log, err = Append(t.Context(), dir, log, Signer{logName, attest.SpecimenKeyFor(attest.PurposeLog)},
			leavesFrom(0, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, log
}

// Entries are all that were added, and what is not what was logged is told behind them at the
// latest.
func TestEntriesOfALog(t *testing.T) {
	for _, size := range []int64{0, 1, 255, 256, 257, 700} {
		dir, log := logOf(t, size)
		n := int64(0)
		for entry, err := range log.Entries() {
			if err != nil || string(entry) != fmt.Sprintf(`{"leaf":%d}`, n) {
				t.Fatalf("of %d, entry %d: %q %v", size, n, entry, err)
			}
			n++
		}
		if n != size {
			t.Errorf("%d entries of %d", n, size)
		}
		files, err := filepath.Glob(filepath.Join(dir.Root.Name(), "log/tile/entries/*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				name = filepath.Join(name, fmt.Sprint(size%TileWidth))
			}
			held, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for what, data := range map[string][]byte{
				"a bit":    append([]byte{held[0], held[1], held[2] ^ 1}, held[3:]...),
				"a length": append([]byte{held[0] ^ 1}, held[1:]...), "its end": held[:len(held)-1],
				"an entry less": held[2+int(held[1]):], "an entry more": append(slices.Clone(held),
					held[:2+int(held[1])]...), "everything": nil,
			} {
				if err := errors.Join(os.Remove(name), os.WriteFile(name, data, 0o444)); err != nil {
					t.Fatal(err)
				}
				var last error
				for _, err := range log.Entries() {
					last = err
				}
				if last == nil {
					t.Errorf("%s of %s changed, and nothing is said", what, name)
				}
			}
			if err := errors.Join(os.Remove(name), os.WriteFile(name, held, 0o444)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
