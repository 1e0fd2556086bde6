// Package npmtest installs locked npm packages for tests, once per lock file, outside the
// repository, as install.cjs says. One lock has what all tests want, one more what long tests want
// beside it.
package npmtest

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"store.example/agentstore/corpus/durable"
)

// TB is what of testing.TB is needed here, so that a program that links this package links no
// tests.
type TB interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}

// MinNode is the oldest major version of Node.js that will do.
const MinNode = 20

//go:embed install.cjs
var installer []byte

// Packages is the node_modules folder of what all tests want.
func Packages(t TB) string {
	t.Helper()
	return Install(t, beside(".."))
}

// LongPackages is Packages of what long tests want beside it.
func LongPackages(t TB) string {
	t.Helper()
	return Install(t, beside("../laboratory"))
}

// beside is a folder of the repository by its path from here.
func beside(path string) string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), path)
}

// Folder is a folder of the test's own with copies of some files of a folder, by their patterns,
// and with packages where Node.js looks for them: beside the scripts.
func Folder(t interface {
	TB
	TempDir() string
}, modules, from string, patterns ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := Fill(dir, modules, from, patterns...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Fill is Folder in a folder that is there.
func Fill(dir, modules, from string, patterns ...string) error {
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err := errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600)); err != nil {
				return err
			}
		}
	}
	return os.Symlink(modules, filepath.Join(dir, "node_modules"))
}

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

// FindNode is Node for programs. Each Node.js is asked for its version once a process.
func FindNode() (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	look, _ := looks.LoadOrStore(node, sync.OnceValue(func() error { return newEnough(node) }))
	return node, look.(func() error)()
}

// looks are what newEnough says, by path.
var looks sync.Map

func newEnough(node string) error {
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		return fmt.Errorf("asking node for its version: %w", err)
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < MinNode {
		return fmt.Errorf("node is %s, want at least v%d", version, MinNode)
	}
	return nil
}

// Unavailable ends a test for want of an outside program: skipped on a developer's machine, failed
// where CI is set.
func Unavailable(t TB, why error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Modules is Install for programs: it returns what went wrong.
func Modules(dir string) (string, error) {
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	modules, err := place(lock)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(modules)), 0o755); err != nil {
		return "", err
	}
	turn, err := os.OpenFile(filepath.Dir(modules)+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer turn.Close()
	if err := durable.Lock(turn); err != nil { // one process installs, the others wait for it
		return "", fmt.Errorf("locking %s: %w", turn.Name(), err)
	}
	node, err := FindNode()
	if err != nil {
		return "", err
	}
	c := exec.Command(node, "-", dir)
	c.Stdin = bytes.NewReader(installer)
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return modules, nil
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
