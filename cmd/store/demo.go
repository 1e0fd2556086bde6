package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// runDemo runs the whole shop on local chains, with one purchase in it.
func runDemo(_ context.Context, c *call) error {
	return runDevnet(c, func() []string { return []string{"-record"} })
}

// runPractice runs the shop on local chains, without a record, and beside it the practice doors
// and their scoreboard.
func runPractice(_ context.Context, c *call) error {
	doors := c.flags.String("doors", "127.0.0.1:4030", "loopback address of the practice doors and their scoreboard")
	return runDevnet(c, func() []string { return []string{"-practice", *doors} })
}

// runDevnet becomes the program devnet, with what the verb adds, once its flags are read, to those
// that both verbs have. The chains are go-ethereum's, which a store that sells
// never needs, so they are a program of their own beside this one in the release's archive.
func runDevnet(c *call, more func() []string) error {
	dir := c.flags.String("dir", "", "empty folder for site, keys and ledger, which are kept; by default a temporary "+
		"one that is removed at the end")
	listen := c.flags.String("listen", "127.0.0.1:4020", "loopback address of the store")
	rpc := c.flags.String("rpc", "127.0.0.1:4041",
		"loopback address of the first chain's JSON-RPC; the others follow, each a port higher")
	if err := c.parse(0, 0); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return err
	}
	program, err := beside(self, "devnet")
	if err != nil {
		return err
	}
	args := []string{program, "-listen", *listen, "-rpc", *rpc}
	if *dir != "" {
		args = append(args, "-state", *dir)
	}
	return become(program, append(args, more()...))
}

// beside is the program of a name in the folder of another, of the same release. Only that folder
// is looked in: what a search path holds under the name may be anybody's.
func beside(self, name string) (string, error) {
	program := filepath.Join(filepath.Dir(self), name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	theirs, err := buildinfo.ReadFile(program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is not there: it comes in the same archive of a release as store; unpack both into "+
			"one folder, or in a clone of the repository run make run", program)
	case err != nil:
		return "", fmt.Errorf("reading what %s was built from: %w; take it from the archive that store is of", program,
			err)
	}
	ours, ok := debug.ReadBuildInfo()
	if ok && commit(ours) != commit(theirs) {
		return "", fmt.Errorf("%s is of commit %q and store of %q: take both from one archive", program, commit(theirs),
			commit(ours))
	}
	return program, nil
}

// commit is what a program was built from; "" where nothing is known of it.
func commit(b *debug.BuildInfo) string {
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
