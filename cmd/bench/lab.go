package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The cores that servers and loaders are pinned to.
const (
	serverCore = 0
	loaderCore = 1
)

// lab is where rows are measured: a temporary folder, the programs built once, and what must be
// undone after a row.
type lab struct {
	root    string // of the module
	dir     string
	seconds int
	undoing []func() error
}

func openLab(ctx context.Context, seconds int) (*lab, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for the module: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return nil, errors.New("run it inside the module: go run ./cmd/bench")
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	return &lab{root: filepath.Dir(mod), dir: dir, seconds: seconds}, nil
}

func (l *lab) close() error { return errors.Join(l.undo(), os.RemoveAll(l.dir)) }

// after remembers what undo does, last first.
func (l *lab) after(f func() error) { l.undoing = append(l.undoing, f) }

func (l *lab) undo() error {
	var errs []error
	for len(l.undoing) > 0 {
		last := len(l.undoing) - 1
		f := l.undoing[last]
		l.undoing = l.undoing[:last]
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// folder makes a new folder, which goes after the row.
func (l *lab) folder(name string) (string, error) {
	dir, err := os.MkdirTemp(l.dir, name+"-")
	l.after(func() error { return os.RemoveAll(dir) })
	return dir, err
}

// place is a new folder for the files of one run. It goes with the lab and not before: for a minute
// or more ext4 passes over inodes that were freed, one by one (recently_deleted in
// fs/ext4/ialloc.c), so that making files after having removed as many takes twice as long, whoever
// makes them.
func (l *lab) place(name string) (string, error) {
	dir, err := os.MkdirTemp(l.dir, name+"-")
	return filepath.Join(dir, "new"), err
}

// program builds one of ours, once.
func (l *lab) program(ctx context.Context, name string) (string, error) {
	bin := filepath.Join(l.dir, "bin", name)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/"+name)
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	return bin, nil
}

// process is a running program.
type process struct {
	cmd  *exec.Cmd
	said *tail
	done chan struct{} // closed when it ended
}

// start runs a program on one core. With one core it gets one processor of Go's as well.
func (l *lab) start(ctx context.Context, core int, dir string, args ...string) (*process, error) {
	p := &process{said: &tail{}, done: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(core)}, args...)...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, p.said, p.said
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is known: it was stopped, or until tells
	}()
	l.after(func() error { p.stop(); return nil })
	return p, nil
}

// stop ends the process, kindly at first.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// until asks again and again whether the process is ready.
func (p *process) until(ctx context.Context, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ready() {
		select {
		case <-again.C:
		case <-p.done:
			return fmt.Errorf("%s ended early:\n%s", filepath.Base(p.cmd.Args[3]), p.said)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", filepath.Base(p.cmd.Args[3]), context.Cause(ctx), p.said)
		}
	}
	return nil
}

// tail keeps the end of what a process says.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

const keepSaid = 16 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if n > keepSaid {
		b = b[n-keepSaid:]
	}
	if over := t.b.Len() + len(b) - keepSaid; over > 0 {
		t.b.Next(over)
	}
	t.b.Write(b)
	return n, nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// free is a loopback address that nobody listens on.
func free() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// answers reports whether a GET is answered with the status.
func answers(url string, status int) func() bool {
	return func() bool {
		resp, err := http.Get(url)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err == nil && resp.StatusCode == status
	}
}

// pinned moves this process, with all its threads, to the given cores while f runs.
func pinned(cores string, f func() error) (err error) {
	move := func(cores string) error {
		out, err := exec.Command("taskset", "-a", "-c", "-p", cores, strconv.Itoa(os.Getpid())).CombinedOutput()
		if err != nil {
			return fmt.Errorf("pinning to cores %s: %w\n%s", cores, err, out)
		}
		return nil
	}
	if err := move(cores); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, move(fmt.Sprintf("%d,%d", serverCore, loaderCore))) }()
	return f()
}
