package desk_test

import (
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

// TestLoad: while 200 callers wait for slow doors, and while all their answers come in together, the other routes stay
// as quick as they are when nobody probes, within a factor of three, and memory stays bounded.
func TestLoad(t *testing.T) {
	const callers, samples = 200, 1000
	var waiting atomic.Int64
	release, all := make(chan struct{}), make(chan struct{})
	ready := door(nil)
	filler := []byte(`<html>` + strings.Repeat("a page of some length ", 8<<10) + `</html>`) // 180 kB
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if waiting.Add(1) == callers {
			close(all)
		}
		<-release
		if r.URL.Path == "/page" {
			w.Write(filler)
			return
		}
		ready(w, r)
	}))
	o.Limits = map[string][2]int{"preflight": {100_000, 100_000}}
	o.Walks = callers
	store := startChild(t, o)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	get := func() time.Duration {
		began := time.Now()
		res, err := client.Get(store.url + "/api/catalog/v1?q=rock")
		if err != nil {
			t.Error(err)
			return 0
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 {
			t.Errorf("status %d, %v", res.StatusCode, err)
		}
		return time.Since(began)
	}
	p99 := func(list []time.Duration) time.Duration {
		slices.Sort(list)
		return list[len(list)*99/100]
	}
	var idle, busy []time.Duration
	for range samples {
		get() // warm
	}
	for range samples {
		idle = append(idle, get())
	}
	before := residentKB(t, store.pid)
	var wg sync.WaitGroup
	var verdicts [3]atomic.Int64
	for i := range callers {
		wg.Go(func() {
			path := "/paid"
			if i%2 == 1 {
				path = "/page"
			}
			res, err := http.Post(store.url+"/api/preflight/v2", "application/json", strings.NewReader(fmt.Sprintf(`{"url":"https://d%d.example.com%s"}`, i, path)))
			if err != nil {
				t.Error(err)
				return
			}
			b, err := io.ReadAll(res.Body)
			res.Body.Close()
			switch {
			case err != nil || res.StatusCode != 200:
				t.Errorf("preflight: status %d, %v: %.200s", res.StatusCode, err, b)
			case strings.Contains(string(b), `"verdict":"ready"`):
				verdicts[0].Add(1)
			case strings.Contains(string(b), `"verdict":"not_ready"`):
				verdicts[1].Add(1)
			default:
				verdicts[2].Add(1)
			}
		})
	}
	<-all // every caller's door is being waited for
	for range samples / 2 {
		busy = append(busy, get())
	}
	close(release)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running || len(busy) < samples; {
		select {
		case <-done:
			running = false
		default:
		}
		busy = append(busy, get())
	}
	wg.Wait()
	if r, n := verdicts[0].Load(), verdicts[1].Load(); r != callers/2 || n != callers/2 {
		t.Errorf("%d ready and %d not ready, want %d each", r, n, callers/2)
	}
	peak := residentKB(t, store.pid)
	i, b := p99(idle), p99(busy)
	t.Logf("p99 idle %v, beside %d probes %v (%.1f×), resident %d kB, at most %d kB", i, callers, b, float64(b)/float64(i), before, peak)
	if limit := 3 * max(i, time.Millisecond); b > limit {
		t.Errorf("p99 beside probes is %v, more than %v", b, limit)
	}
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
func residentKB(t *testing.T, pid int) int {
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
