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
// reads it again: what was checked before is not taken on trust.
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
	for way, read := range ways {
		w := recordtest.Small(t)
		file := filepath.Join(w.Dir, filepath.FromSlash(record.PartPath(2, 0)))
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := recordtest.Open(t, w)
		if err := read(r); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		changed := bytes.Replace(whole, []byte(`"listed":true`), []byte(`"listed":!rue`), 1)
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := read(r); err == nil || !strings.Contains(err.Error(), record.PartPath(2, 0)) {
			t.Errorf("%s, a changed part: %v", way, err)
		}
	}
}
