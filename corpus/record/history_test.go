package record_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

// TestHistoriesRefuseAChangedPart: whatever was changed, the last thing that a pass over the
// histories says is an error with the file's name.
func TestHistoriesRefuseAChangedPart(t *testing.T) {
	w := recordtest.Small(t)
	name := record.PartPath(2, 0)
	file := filepath.Join(w.Dir, filepath.FromSlash(name))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte{'\n'})
	changed := map[string][]byte{
		"empty":                      {},
		"without its last newline":   whole[:len(whole)-1],
		"without its last row":       bytes.Join(lines[:len(lines)-2], nil),
		"with a row twice":           slices.Concat(whole, lines[0]),
		"with more behind it":        slices.Concat(whole, []byte("x")),
		"with an empty line":         slices.Concat(whole, []byte("\n")),
		"with a row of another size": bytes.Replace(whole, []byte(`"host":"`), []byte(`"host":"a`), 1),
		"with a row too large": slices.Concat([]byte(`{"host":"`+strings.Repeat("a", record.MaxRow)+"\"}\n"),
			whole),
	}
	for i := 0; i < len(whole); i += 7 {
		b := bytes.Clone(whole)
		b[i] ^= 1
		changed[fmt.Sprintf("with a bit changed in byte %d", i)] = b
	}
	for what, b := range changed {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		r := recordtest.Open(t, w)
		last := error(nil)
		for _, err := range r.Histories() {
			if last != nil {
				t.Fatalf("%s: something came behind the error", what)
			}
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), name) {
			t.Errorf("a part %s: %v", what, last)
		}
	}
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range recordtest.Open(t, w).Histories() {
		if err != nil {
			t.Errorf("the part as it was: %v", err)
		}
		break // an early end must not hang
	}
}
