package record_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestAPartIsCheckedEachTimeItIsRead reads a record in every way, changes one byte of a part, and
// reads it again: what was checked before is not taken on trust, and with the byte as it was, it is
// read again.
func TestAPartIsCheckedEachTimeItIsRead(t *testing.T) {
	ways := map[string]func(r *record.Record) error{
		"Part": func(r *record.Record) error { _, err := r.Part(2, 0); return err },
		"RawRows": func(r *record.Record) (last error) {
			for _, err := range r.RawRows(2) {
				last = err
			}
			return last
		},
		"Rows": func(r *record.Record) (last error) {
			for _, err := range r.Rows(2) {
				last = err
			}
			return last
		},
		"RawHistories": func(r *record.Record) (last error) {
			for _, err := range r.RawHistories() {
				last = err
			}
			return last
		},
	}
	for first, read := range ways {
		for then, again := range ways {
			w := recordtest.Small(t)
			file := filepath.Join(w.Dir, filepath.FromSlash(record.PartPath(2, 0)))
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := recordtest.Open(t, w)
			if err := read(r); err != nil {
				t.Fatalf("%s: %v", first, err)
			}
			if !r.Remembers(2, 0) {
				t.Errorf("after %s nothing is remembered", first)
			}
			changed := bytes.Replace(whole, []byte(`"listed":true`), []byte(`"listed":!rue`), 1)
			if err := os.WriteFile(file, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := again(r); err == nil || !strings.Contains(err.Error(), record.PartPath(2, 0)) {
				t.Errorf("%s, a changed part, %s: %v", first, then, err)
			}
			if err := os.WriteFile(file, whole, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := again(r); err != nil {
				t.Errorf("%s, a changed part and back, %s: %v", first, then, err)
			}
		}
	}
}

// TestRawRowsAreTheParts compares the stream of a round's rows with its parts.
func TestRawRowsAreTheParts(t *testing.T) {
	r := recordtest.Open(t, recordtest.Small(t))
	for _, round := range r.Rounds() {
		var got, want [][]byte
		for raw, err := range r.RawRows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, bytes.Clone(raw))
		}
		for i := range round.Parts {
			rows, err := r.Part(round.Sequence, i)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, rows...)
		}
		if len(got) != int(round.Rows) || !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
			t.Errorf("round %d: %d rows, want %d", round.Sequence, len(got), len(want))
		}
	}
	for _, err := range r.RawRows(99) {
		if err == nil {
			t.Error("a round that does not exist has rows")
		}
	}
	n := 0
	for range r.RawRows(1) {
		n++
		break // an early end closes the file
	}
	if n != 1 {
		t.Error("no row")
	}
}
