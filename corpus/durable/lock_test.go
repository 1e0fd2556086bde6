package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLock: a lock keeps others out until it is let go, or its file is closed.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second, third := open(), open(), open()
	if err := TryLock(first); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(second); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v, want %v", err, ErrLocked)
	}
	if _, err := second.WriteString("written"); err != nil {
		t.Errorf("a write beside the lock: %v", err)
	}
	if err := Unlock(first); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(third); !errors.Is(err, ErrLocked) {
		t.Errorf("a third lock: %v, want %v", err, ErrLocked)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(third); err != nil {
		t.Errorf("after its file was closed: %v", err)
	}
}
