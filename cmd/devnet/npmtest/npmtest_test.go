package npmtest

import (
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

// Each lock of a folder that tests or the devnet install names no registry, and has its folder set
// up before the tests run.
func TestEveryLockIsSetUp(t *testing.T) {
	setup, err := os.ReadFile("../../../.ci/setup")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"cmd/devnet", "cmd/devnet/svm", "cmd/devnet/laboratory"} {
		lock, err := os.ReadFile(filepath.Join("../../..", dir, "package-lock.json"))
		if err != nil || strings.Contains(string(lock), `"resolved"`) {
			t.Errorf("%s: %v, or it names a registry: keep omit-lockfile-registry-resolved in its .npmrc", dir, err)
		}
		if !strings.Contains(string(setup), dir) {
			t.Errorf(".ci/setup does not install %s", dir)
		}
	}
}
