package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"store.example/agentstore/cmd/devnet/npmtest"
)

// A worker is a Node.js that runs jobs of stock clients until this process ends: to load what a
// client imports takes longer than to buy.
type worker struct {
	in io.Writer

	mu      sync.Mutex
	last    int                    // guarded by mu
	waiting map[int]chan<- outcome // guarded by mu
	ended   error                  // guarded by mu; jobs that wait then have it too
}

// A job is one run of a client.
type job struct {
	ID     int               `json:"id"`
	Client string            `json:"client"`
	Env    map[string]string `json:"env"`
	Args   []string          `json:"args"`
}

// An outcome is what became of a job.
type outcome struct {
	ID    int               `json:"id"`
	Said  []json.RawMessage `json:"said"`
	Error string            `json:"error"`
}

// shared is the worker of this process. The folder that it runs in goes with it.
var shared = sync.OnceValues(func() (*worker, error) {
	node, err := npmtest.FindNode()
	if err != nil {
		return nil, err
	}
	modules, err := npmtest.Modules(filepath.Dir(here))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "clients-")
	if err != nil {
		return nil, err
	}
	if err := npmtest.Fill(dir, modules, here, "*.mjs"); err != nil {
		return nil, err
	}
	c := exec.Command(node, "buy.mjs", "-serve")
	c.Dir = dir
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	w := &worker{in: in, waiting: map[int]chan<- outcome{}}
	if err := c.Start(); err != nil {
		return nil, err
	}
	go func() {
		complained := make(chan []byte, 1)
		go func() {
			said, _ := io.ReadAll(io.LimitReader(stderr, 1<<20))
			complained <- said
			io.Copy(io.Discard, stderr)
		}()
		w.read(out)
		said := <-complained
		w.end(fmt.Errorf("buy.mjs ended: %w: %s", c.Wait(), said))
	}()
	return w, nil
})

// read hands out what the worker says until it says no more.
func (w *worker) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			w.end(fmt.Errorf("buy.mjs said %.2000s: %w", line, err))
			continue
		}
		w.mu.Lock()
		to := w.waiting[o.ID]
		delete(w.waiting, o.ID)
		w.mu.Unlock()
		if to != nil {
			to <- o
		}
	}
}

// end fails all jobs that wait and that come.
func (w *worker) end(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = why
	for id, to := range w.waiting {
		to <- outcome{Error: why.Error()}
		delete(w.waiting, id)
	}
}

// do runs a job.
func (w *worker) do(j job) (outcome, error) {
	done := make(chan outcome, 1)
	w.mu.Lock()
	w.last++
	j.ID = w.last
	line, err := json.Marshal(j)
	if err = errors.Join(w.ended, err); err == nil {
		w.waiting[j.ID] = done
		_, err = w.in.Write(append(line, '\n'))
	}
	w.mu.Unlock()
	if err != nil {
		return outcome{}, err
	}
	o := <-done
	if o.Error != "" {
		return o, errors.New(o.Error)
	}
	return o, nil
}

// run has a client do a job and returns what it says of each of so many things. A client that
// cannot run ends the test.
func run[T any](t testing.TB, client string, env map[string]string, n int, args ...string) []T {
	t.Helper()
	npmtest.Packages(t)
	w, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	o, err := w.do(job{Client: client, Env: env, Args: args})
	if err != nil {
		t.Fatalf("%s: %v", client, err)
	}
	if len(o.Said) != n {
		t.Fatalf("%s reported %d of %d: %s", client, len(o.Said), n, o.Said)
	}
	results := make([]T, n)
	for i, said := range o.Said {
		if err := json.Unmarshal(said, &results[i]); err != nil {
			t.Fatalf("%s said %s: %v", client, said, err)
		}
	}
	return results
}
