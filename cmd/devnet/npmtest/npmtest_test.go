package npmtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fakeNPM puts an npm first in PATH that counts its runs and does what script says.
func fakeNPM(t *testing.T, script string) (runs func() int) {
	t.Helper()
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	text := "#!/bin/sh\necho run >> " + log + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	return func() int {
		b, _ := os.ReadFile(log)
		return strings.Count(string(b), "run")
	}
}

func lockDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInstallsOnceForManyAtOnce(t *testing.T) {
	runs := fakeNPM(t, "mkdir node_modules && echo ok > node_modules/x")
	dir := lockDir(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			modules, err := Modules(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(modules, "x")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := runs(); got != 1 {
		t.Errorf("npm ran %d times, want 1", got)
	}
}

func TestAFailedInstallLeavesNothing(t *testing.T) {
	runs := fakeNPM(t, "mkdir node_modules; echo no network; exit 1")
	dir := lockDir(t)
	for range 2 {
		if modules, err := Modules(dir); err == nil || !strings.Contains(err.Error(), "no network") {
			t.Fatalf("install = %q, %v, want npm's complaint", modules, err)
		}
	}
	if got := runs(); got != 2 {
		t.Errorf("npm ran %d times, want 2", got)
	}
}

// Whoever has run this test has every npm package that any test wants, and needs no network for
// them any more. No lock file of any command names a registry.
func TestEveryLockInstalls(t *testing.T) {
	Node(t)
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || d.Name() != "package-lock.json" {
			return err
		}
		found++
		dir := filepath.Dir(path)
		lock, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(lock), `"resolved"`) {
			t.Errorf("%s names a registry's addresses: keep omit-lockfile-registry-resolved in its .npmrc", path)
		}
		if !strings.HasPrefix(dir, "../../devnet/") {
			return nil // the benchmarks' packages are theirs alone
		}
		modules, err := place(lock)
		if err != nil {
			return err
		}
		if _, err := os.Stat(modules); err == nil {
			return nil
		}
		Install(t, dir)
		t.Logf("installed %s", dir)
		return nil
	})
	if err != nil || found < 5 {
		t.Errorf("walked %d lock files: %v", found, err)
	}
}
