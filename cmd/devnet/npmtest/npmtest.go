// Package npmtest installs locked npm packages for tests, once per lock file, outside the
// repository.
//
// A directory in the repository holds package.json and package-lock.json. Install copies them to
// <user cache>/agentstore-npm/<sha256 of the lock>, runs npm ci there and leaves the result for
// every later run, which then needs no network. Nothing is installed if the lock file has been
// installed before.
package npmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// TB is what of testing.TB is needed here, so that a program that links this package links no tests.
type TB interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}

// MinNode is the oldest major version of Node.js that will do.
const MinNode = 20

// Install returns the node_modules folder with what dir's lock file names, installing it if that
// was never done. Without Node.js of at least MinNode or without npm, or when installing fails, the
// test is skipped; with CI set it fails.
func Install(t TB, dir string) string {
	t.Helper()
	Node(t)
	modules, err := Modules(dir)
	if err != nil {
		Unavailable(t, err)
	}
	return modules
}

// Node returns the path of a Node.js that is new enough, or skips the test as Install does.
func Node(t TB) string {
	t.Helper()
	node, err := FindNode()
	if err != nil {
		Unavailable(t, err)
	}
	return node
}

// FindNode is Node for programs. Node.js is asked for its version once a process.
var FindNode = sync.OnceValues(func() (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking node for its version: %w", err)
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < MinNode {
		return "", fmt.Errorf("node is %s, want at least v%d", version, MinNode)
	}
	return node, nil
})

// Unavailable ends a test for want of an outside program: skipped on a developer's machine, failed
// where CI is set.
func Unavailable(t TB, why error) {
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
	// The folder gets its name when it is whole: a run that was killed leaves nothing that looks
	// installed.
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
	if err := install(work); err != nil {
		return "", fmt.Errorf("installing the packages of %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(work, "node_modules")); err != nil {
		return "", fmt.Errorf("npm installed nothing for %s: %w", dir, err)
	}
	if err := os.RemoveAll(whole); err != nil {
		return "", err
	}
	return modules, os.Rename(work, whole)
}

// install installs what the lock in a folder holds. npm ci refuses a lock without the packages that
// others need on their machines, which a registry need not have; npm install takes what is locked
// all the same, and must leave the lock as it is.
func install(dir string) error {
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	npm := func(args ...string) error {
		c := exec.Command("npm", append(args, "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("npm %s: %w\n%s", args[0], err, out)
		}
		return nil
	}
	err = npm("ci")
	if err == nil || !strings.Contains(err.Error(), "from lock file") {
		return err
	}
	if other := npm("install", "--no-save"); other != nil {
		return errors.Join(err, other)
	}
	after, missing := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if missing != nil || !bytes.Equal(lock, after) {
		return err
	}
	return nil
}

// place returns the node_modules folder of a lock file's packages, which exists once they are
// installed.
func place(lock []byte) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	return filepath.Join(cache, "agentstore-npm", hex.EncodeToString(sum[:]), "node_modules"), nil
}
