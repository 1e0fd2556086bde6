package till_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentstore/corpus/attest"
	"agentstore/dynamic/till"
)

func TestHighWaterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks")
	open := func() *till.HighWaterFile {
		t.Helper()
		h, err := till.OpenHighWater(path, attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	read := func() ([]till.HighMark, error) { return till.ReadHighWater(path, attest.SpecimenRing()) }
	h := open()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := h.Keep(till.HighMark{Patron: int64(i + 1), Item: "hello"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	marks, err := read()
	if err != nil || len(marks) != 50 {
		t.Fatalf("%d marks, %v, want 50", len(marks), err)
	}
	slices.SortFunc(marks, func(a, b till.HighMark) int { return int(a.Patron - b.Patron) })
	for i, m := range marks {
		if m.Patron != int64(i+1) {
			t.Fatalf("mark %d is %+v", i, m)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	// A crash in the middle of a line: its answer never left, and the line is neither read nor in the way.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := append(slices.Clone(whole), whole[:40]...)
	if err := os.WriteFile(path, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	if marks, err := read(); err != nil || len(marks) != 50 {
		t.Errorf("with a torn line: %d marks, %v, want 50", len(marks), err)
	}
	h = open()
	if err := h.Keep(till.HighMark{Patron: 51, Item: "hello"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if marks, err := read(); err != nil || len(marks) != 51 || marks[50].Patron != 51 {
		t.Errorf("after the torn line: %d marks, %v, want 51", len(marks), err)
	}

	whole, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	third := len(strings.Join(strings.SplitAfter(string(whole), "\n")[:2], ""))
	for _, at := range []int{third, third + 30, third + 150} {
		changed := slices.Clone(whole)
		changed[at] ^= 1
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(); err == nil || !strings.Contains(fmt.Sprint(err), "line 3") {
			t.Errorf("a change at byte %d of line 3: %v", at-third, err)
		}
	}
}
