package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"
)

// filled returns a ledger with n entries.
func filled(t *testing.T, n int) *Mem {
	t.Helper()
	db := NewMem(MemOptions{Calm: true})
	for i := 0; i < n; i += 10_000 {
		err := db.Update(t.Context(), func(tx Tx) error {
			for j := i; j < min(n, i+10_000); j++ {
				if err := tx.Set(Key("entry", Number(uint64(j))), fmt.Appendf(nil, "value %d", j)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func backupOf(t *testing.T, db DB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Backup(t.Context(), db, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sizeOf(t *testing.T, db DB) (n int) {
	t.Helper()
	err := db.View(t.Context(), func(tx Tx) error {
		for _, err := range tx.Scan(nil, nil) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDamagedBackup tries every change of one byte, every cut, and additions.
func TestDamagedBackup(t *testing.T) {
	for _, entries := range []int{0, 1, 3} {
		good := backupOf(t, filled(t, entries))
		if n, err := Verify(bytes.NewReader(good)); err != nil || n != int64(entries) {
			t.Fatalf("Verify = %d, %v, want %d entries", n, err, entries)
		}
		refused := func(what string, bad []byte) {
			t.Helper()
			if _, err := Verify(bytes.NewReader(bad)); err == nil {
				t.Fatalf("%d entries, %s: verified", entries, what)
			}
			db := NewMem(MemOptions{})
			if err := Restore(t.Context(), db, bytes.NewReader(bad)); err == nil {
				t.Fatalf("%d entries, %s: restored", entries, what)
			}
			if n := sizeOf(t, db); n != 0 {
				t.Fatalf("%d entries, %s: left %d entries behind", entries, what, n)
			}
		}
		for i := range good {
			for change := 1; change < 256; change++ {
				bad := bytes.Clone(good)
				bad[i] ^= byte(change)
				refused(fmt.Sprintf("byte %d changed by %02x", i, change), bad)
			}
			refused(fmt.Sprintf("cut at %d", i), good[:i])
			refused(fmt.Sprintf("byte %d doubled", i), append(bytes.Clone(good[:i+1]), good[i:]...))
		}
		refused("a byte added", append(bytes.Clone(good), 0))
		refused("twice", append(bytes.Clone(good), good...))
	}
}

// hiccup fails once, before one of its bytes.
type hiccup struct {
	data   []byte
	at     int
	failed bool
}

var errHiccup = errors.New("the disk has a bad day")

func (h *hiccup) Read(p []byte) (int, error) {
	if len(h.data) == 0 {
		return 0, io.EOF
	}
	if h.at == 0 && !h.failed {
		h.failed = true
		return 0, errHiccup
	}
	p[0], h.data, h.at = h.data[0], h.data[1:], h.at-1
	return 1, nil
}

// TestBackupThatCannotBeRead: what could not be read is said, and not taken for damage, nor for
// what comes next.
func TestBackupThatCannotBeRead(t *testing.T) {
	good := backupOf(t, filled(t, 3))
	for i := range good {
		if _, err := Verify(&hiccup{data: good, at: i}); !errors.Is(err, errHiccup) {
			t.Fatalf("not read at byte %d: %v", i, err)
		}
	}
}

// TestLargeRestore watches a restore of many batches from outside.
func TestLargeRestore(t *testing.T) {
	const entries = 3*restoreEntries + 10
	good := backupOf(t, filled(t, entries))
	updates := 0
	var db *Mem
	db = NewMem(MemOptions{Fault: func(op string) (bool, error) {
		if op == "commit" {
			updates++
			return true, nil
		}
		if op == "update" && updates > 0 {
			// Between two batches: no engine would open this.
			root := db.root.Load()
			if _, err := (memSnapshot{root}).Get(restoringKey()); err != nil {
				t.Errorf("after %d batches the mark is missing: %v", updates, err)
			}
		}
		return true, nil
	}})
	if err := Restore(t.Context(), db, bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	if updates != 4 {
		t.Errorf("%d entries were restored in %d updates, want 4", entries, updates)
	}
	if err := Ready(t.Context(), db); err != nil {
		t.Errorf("Ready after a restore: %v", err)
	}
	if !bytes.Equal(backupOf(t, db), good) {
		t.Error("the restored ledger differs")
	}

	bad := bytes.Clone(good)
	bad[len(bad)-1] ^= 1
	db = NewMem(MemOptions{})
	if err := Restore(t.Context(), db, bytes.NewReader(bad)); err == nil {
		t.Fatal("a large damaged backup was restored")
	}
	if n := sizeOf(t, db); n != 0 {
		t.Errorf("a refused restore left %d entries", n)
	}
}

// TestRestoreDiesOnTheWay lets everything fail from some operation on, as if the
// process had died there.
func TestRestoreDiesOnTheWay(t *testing.T) {
	const entries = 3*restoreEntries + 10
	good := backupOf(t, filled(t, entries))
	dead := errors.New("dead")
	for step := 1; step <= 4; step++ {
		for _, apply := range []bool{true, false} {
			commits, alive := 0, true
			db := NewMem(MemOptions{Calm: true})
			db.options.Fault = func(op string) (bool, error) {
				if !alive {
					return false, dead
				}
				if op != "commit" {
					return true, nil
				}
				if commits++; commits == step {
					alive = false
					return apply, dead
				}
				return true, nil
			}
			if err := Restore(t.Context(), db, bytes.NewReader(good)); !errors.Is(err, dead) {
				t.Fatalf("Restore = %v, want that it dies", err)
			}
			db.options.Fault = nil
			n, err := sizeOf(t, db), Ready(t.Context(), db)
			switch whole := step == 4 && apply; {
			case whole && (n != entries || err != nil):
				t.Errorf("died after its last step: %d entries, %v, want %d", n, err, entries)
			case step == 1 && !apply && (n != 0 || err != nil):
				t.Errorf("died before its first step: %d entries, %v, want none", n, err)
			case !whole && n > 0 && !errors.Is(err, ErrRestoring):
				t.Errorf("died in step %d, stored %v: %d entries, Ready = %v, want ErrRestoring", step, apply, n, err)
			}
			if n > 0 && err != nil {
				if err := Backup(t.Context(), db, io.Discard); !errors.Is(err, ErrRestoring) {
					t.Errorf("Backup of an unfinished restore: %v, want ErrRestoring", err)
				}
			}
		}
	}
}

// TestRestoreLeavesOthersAlone cancels restores into ledgers that are in use.
func TestRestoreLeavesOthersAlone(t *testing.T) {
	good := backupOf(t, filled(t, 2*restoreEntries))
	db := filled(t, 5)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Restore(gone, db, bytes.NewReader(good)); !errors.Is(err, context.Canceled) {
		t.Errorf("Restore with a cancelled context: %v", err)
	}
	if err := Restore(t.Context(), db, bytes.NewReader(good)); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("Restore into a full ledger: %v, want ErrNotEmpty", err)
	}
	if n := sizeOf(t, db); n != 5 {
		t.Errorf("the ledger has %d entries, want its own 5", n)
	}
}

// million is a ledger of a million entries that are made as they are read.
type million struct{ DB }

func (million) View(_ context.Context, f func(Tx) error) error {
	return f(NewView(millionState{memSnapshot{}}))
}

type millionState struct{ memSnapshot }

func (millionState) Scan(_, _ []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for i := range 1_000_000 {
			if !yield(Entry{Key("entry", Number(uint64(i))), fmt.Appendf(nil, "value %d", i)}, nil) {
				return
			}
		}
	}
}

// TestBackupMemory backs up and verifies a million entries through a pipe and
// looks at what is held meanwhile.
func TestBackupMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	r, w := io.Pipe()
	go func() { w.CloseWithError(Backup(t.Context(), million{}, w)) }()
	var most uint64
	n, err := Verify(&meter{r: r, every: 4 << 20, read: func() { most = max(most, heap()) }})
	if err != nil || n != 1_000_000 {
		t.Fatalf("Verify = %d, %v, want 1000000", n, err)
	}
	if most == 0 {
		t.Fatal("the heap was not measured")
	}
	if most > before+1<<20 {
		t.Errorf("a backup of a million entries holds %d kB, want less than 1 MB", (most-before)>>10)
	}
}

// A meter calls read every so many bytes.
type meter struct {
	r           io.Reader
	every, left int
	read        func()
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.left -= n; m.left <= 0 {
		m.left = m.every
		m.read()
	}
	return n, err
}

func TestBackupOfAnotherVersion(t *testing.T) {
	good := backupOf(t, filled(t, 1))
	other := bytes.Replace(good, []byte("/v1\n"), []byte("/v2\n"), 1)
	_, err := Verify(bytes.NewReader(other))
	if err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("Verify of another version: %v", err)
	}
}
