package desk_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// callers is how many wait for slow doors at once.
const callers = 200

// crowd is the doors at which callers wait, and what they were told.
type crowd struct {
	t       testing.TB
	store   child
	round   int                  // its number stands in the doors' names: nothing is shared with the round before
	gate    atomic.Pointer[gate] // of this round
	wg      sync.WaitGroup       // the callers
	verdict [3]atomic.Int64      // ready, not ready, other
	client  http.Client          // of the callers
}

// gate holds every request of a round until it is opened.
type gate struct {
	waiting atomic.Int64
	all     chan struct{} // closed when every caller's door is being waited for
	release chan struct{}
}

// newCrowd starts a store on a street whose doors wait until they are let go. Half are good doors,
// half are pages.
func newCrowd(t testing.TB) *crowd {
	t.Helper()
	c := &crowd{t: t, client: http.Client{Timeout: patience}}
	ready := door(nil)
	filler := []byte(`<html>` + strings.Repeat("a page of some length ", 8<<10) + `</html>`) // 180 kB
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := c.gate.Load()
		if g.waiting.Add(1) == callers {
			close(g.all)
		}
		<-g.release
		if r.URL.Path == "/page" {
			w.Write(filler)
			return
		}
		ready(w, r)
	}))
	o.Limits = map[string][2]int{"preflight": {100_000, 100_000}}
	o.Walks = callers
	c.store = startChild(t, o)
	return c
}

// gather sends all callers and returns when the door of each is being waited for.
func (c *crowd) gather() {
	c.t.Helper()
	c.round++
	g := &gate{all: make(chan struct{}), release: make(chan struct{})}
	c.gate.Store(g)
	for i := range c.verdict {
		c.verdict[i].Store(0)
	}
	for i := range callers {
		path := "/paid"
		if i%2 == 1 {
			path = "/page"
		}
		body := fmt.Sprintf(`{"url":"https://d%d-%d.example.com%s"}`, c.round, i, path)
		c.wg.Go(func() { c.call(body) })
	}
	ended := make(chan struct{})
	go func() { c.wg.Wait(); close(ended) }()
	select {
	case <-g.all:
	case <-ended:
		c.t.Fatal("callers were answered while their doors waited")
	case <-time.After(patience):
		close(g.release)
		c.t.Fatalf("%d of %d doors are waited for", g.waiting.Load(), callers)
	}
}

func (c *crowd) call(body string) {
	res, err := c.client.Post(c.store.url+"/api/preflight/v2", "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return
	}
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	switch {
	case err != nil || res.StatusCode != 200:
		c.t.Errorf("preflight: status %d, %v: %.200s", res.StatusCode, err, b)
	case strings.Contains(string(b), `"verdict":"ready"`):
		c.verdict[0].Add(1)
		return
	case strings.Contains(string(b), `"verdict":"not_ready"`):
		c.verdict[1].Add(1)
		return
	}
	c.verdict[2].Add(1)
}

// held reports whether not one caller has been answered.
func (c *crowd) held() bool {
	return c.verdict[0].Load() == 0 && c.verdict[1].Load() == 0 && c.verdict[2].Load() == 0
}

// letGo opens the doors and calls meanwhile until every caller is answered.
func (c *crowd) letGo(meanwhile func()) {
	c.t.Helper()
	close(c.gate.Load().release)
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			meanwhile()
		}
	}
	if r, n := c.verdict[0].Load(), c.verdict[1].Load(); r != callers/2 || n != callers/2 {
		c.t.Errorf("%d ready and %d not ready, want %d each", r, n, callers/2)
	}
}

// TestLoad: while 200 callers wait for slow doors, and while all their answers come in together,
// the other routes answer as they do when nobody probes; everybody gets the right verdict, and
// memory stays bounded. How quick the others are is TestSoakLoad's matter.
func TestLoad(t *testing.T) {
	c := newCrowd(t)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	get := func(path string) []byte {
		res, err := client.Get(c.store.url + path)
		if err != nil {
			t.Error(err)
			return nil
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 {
			t.Errorf("%s: status %d, %v", path, res.StatusCode, err)
		}
		return b
	}
	idle := map[string][]byte{}
	for path, word := range map[string]string{"/api/catalog/v1?q=rock": `"pet_rock"`,
		"/api/onpage/v1":    `"serves-html"`,
		"/api/declare-door": `"host"`, "/api/conformance/v1/fixtures": `"fixtures"`,
		"/badge/host.svg?host=a.example.com": "<svg"} {
		b := get(path)
		if !strings.Contains(string(b), word) {
			t.Errorf("%s: no %s in %.300s", path, word, b)
		}
		idle[path] = b
	}
	others := func() {
		for path, want := range idle {
			if b := get(path); !bytes.Equal(b, want) {
				t.Errorf("%s beside %d probes: %.300s\nwant %.300s", path, callers, b, want)
			}
		}
	}
	before := residentKB(t, c.store.pid)
	c.gather()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				others()
			}
		})
	}
	wg.Wait()
	if !c.held() {
		t.Error("callers were answered while their doors waited")
	}
	c.letGo(others)
	peak := residentKB(t, c.store.pid)
	t.Logf("resident %d kB, at most %d kB", before, peak)
	limit := 256 << 10
	if raced() {
		limit *= 4 // the detector's own shadow of the memory
	}
	if peak > limit {
		t.Errorf("the store grew to %d kB", peak)
	}
}

// raced reports whether this binary was built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// residentKB is the most memory a process has had, from /proc.
func residentKB(t testing.TB, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
