// Package npmtest installs locked npm packages for tests, once per lock file, outside the repository.
//
// A directory in the repository holds package.json and package-lock.json. Install copies them to
// <user cache>/agentstore-npm/<sha256 of the lock>, runs npm ci there and leaves the result for every later run, which
// then needs no network. Nothing is installed if the lock file has been installed before.
package npmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// MinNode is the oldest major version of Node.js that will do.
const MinNode = 20

// Install returns the node_modules folder with what dir's lock file names, installing it if that was never done.
// Without Node.js of at least MinNode or without npm, or when installing fails, the test is skipped; with CI set it fails.
func Install(t testing.TB, dir string) string {
	t.Helper()
	Node(t)
	modules, err := Modules(dir)
	if err != nil {
		Unavailable(t, err)
	}
	return modules
}

// Node returns the path of a Node.js that is new enough, or skips the test as Install does.
func Node(t testing.TB) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		Unavailable(t, err)
	}
	out, err := exec.CommandContext(t.Context(), node, "--version").Output()
	if err != nil {
		Unavailable(t, fmt.Errorf("asking node for its version: %w", err))
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < MinNode {
		Unavailable(t, fmt.Errorf("node is %s, want at least v%d", version, MinNode))
	}
	return node
}

// Unavailable ends a test for want of an outside program: skipped on a developer's machine, failed where CI is set.
func Unavailable(t testing.TB, why error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Modules is Install for programs: it returns what went wrong, and takes the Node.js that is there.
func Modules(dir string) (string, error) {
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	modules, err := place(lock)
	if err != nil {
		return "", err
	}
	whole := filepath.Dir(modules)
	home := filepath.Dir(whole)
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	unlock, err := hold(whole + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(modules); err == nil { // another process was first
		return modules, nil
	}
	// The folder gets its name when it is whole: a run that was killed leaves nothing that looks installed.
	work, err := os.MkdirTemp(home, "installing-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(work, name), b, 0o644); err != nil {
			return "", err
		}
	}
	ci := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	ci.Dir = work
	if out, err := ci.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci for %s: %w\n%s", dir, err, out)
	}
	if _, err := os.Stat(filepath.Join(work, "node_modules")); err != nil {
		return "", fmt.Errorf("npm ci for %s installed nothing: %w", dir, err)
	}
	if err := os.RemoveAll(whole); err != nil {
		return "", err
	}
	return modules, os.Rename(work, whole)
}

// place returns the node_modules folder of a lock file's packages, which exists once they are installed.
func place(lock []byte) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	return filepath.Join(cache, "agentstore-npm", hex.EncodeToString(sum[:]), "node_modules"), nil
}

// hold takes the lock file until the returned function is called or the process ends.
func hold(file string) (func(), error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", file, err), f.Close())
	}
	return func() { f.Close() }, nil
}
