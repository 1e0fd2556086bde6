package restore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
)

func TestHighWaterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks")
	open := func() *restore.HighWaterFile {
		t.Helper()
		h, err := restore.OpenHighWater(path, attest.SpecimenKey())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	read := func() ([]till.HighMark, error) { return restore.ReadHighWater(path, attest.SpecimenRing()) }
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

	// A crash in the middle of a line: its answer never left, and the line is neither read nor in
	// the way.
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

// Two processes of a store on one file wrote over each other's lines: 20 were left of 40 sales. Now
// the second is refused, and with a file each, no mark is lost; a restore reads both.
func TestHighWaterFileBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	key := attest.SpecimenKey()
	first, err := restore.OpenHighWater(files[0], key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore.OpenHighWater(files[0], key); !errors.Is(err, restore.ErrHighWaterInUse) ||
		!strings.Contains(err.Error(), "file of its own") || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("a second process on the same file: %v", err)
	}
	second, err := restore.OpenHighWater(files[1], key)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for r, h := range []*restore.HighWaterFile{first, second} {
		wg.Go(func() {
			for i := range 20 {
				if err := h.Keep(till.HighMark{Patron: int64(2*i + r + 1), Item: "hello"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, f := range files {
		marks, err := restore.ReadHighWater(f, attest.SpecimenRing())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range marks {
			seen[m.Patron] = true
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d of 40 sales are in the two files", len(seen))
	}
	// A process that is being started has copies of all files until it runs its program.
	inherited := descriptor(t, files[0])
	defer syscall.Close(inherited)
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := restore.OpenHighWater(files[0], key)
	if err != nil {
		t.Fatalf("the next process: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// descriptor is a copy of this process's descriptor of an open file.
func descriptor(t *testing.T, path string) int {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range open {
		if to, _ := os.Readlink(filepath.Join("/dev/fd", e.Name())); to != path {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if fd, err = syscall.Dup(fd); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	t.Fatalf("%s is not open", path)
	return -1
}

// Every line that cannot be read is told, and the others are read.
func TestUnreadableHighWaterLinesAreTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "marks")
	h, err := restore.OpenHighWater(path, attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := h.Keep(till.HighMark{Patron: int64(i + 1), Item: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines[2] = lines[2][:40] + lines[3] // as where two processes wrote at one place
	lines[5] = "\n"
	if err := os.WriteFile(path, []byte(strings.Join(slices.Delete(lines, 3, 4), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	marks, err := restore.ReadHighWater(path, attest.SpecimenRing())
	bad, ok := errors.AsType[*restore.Unreadable](err)
	if !ok || !slices.Equal(bad.Lines, []int{3, 5}) || bad.Of != 6 || !strings.Contains(err.Error(), "line 3, line 5") {
		t.Errorf("ReadHighWater = %v, want lines 3 and 5 of 6 told", err)
	}
	if len(marks) != 3 {
		t.Errorf("%d marks of the other lines, want 3", len(marks))
	}
}
