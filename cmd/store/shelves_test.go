package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/laboratory"
)

// nextGC is the metric of the heap at which Go collects again: twice what was alive at the last
// time.
var nextGC = regexp.MustCompile(`(?m)^go_memstats_next_gc_bytes (\S+)$`)

// TestSoakShelves reads the free shelves of a store for half an hour, some 800 times a second,
// while twenty visitors a second ring, take stamps, write letters and sign the guestbook: what the
// process keeps in memory is what it kept.
func TestSoakShelves(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("takes half an hour; set STORE_SOAK=1")
	}
	const long, settled = 30 * time.Minute, 5 * time.Minute
	s := newSoldHere(t)
	debug := "127.0.0.1:" + laboratory.FreePort(t)
	s.write("store.toml", func(text string) string {
		return "debug_listen = " + strconv.Quote(debug) + "\n" + strings.Replace(text, `log_level = "info"`,
			`log_level = "error"`+"\ntrusted_proxies = [\"127.0.0.1/32\"]", 1)
	})
	s.build()
	s.serve()
	var visitors atomic.Int64
	ask := func(method, path, body string, want int) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		n := visitors.Add(1)
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("2001:db8:%x:%x::1", n>>16, n&0xffff))
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != want {
			t.Errorf("%s %s: %d %.300s, %v", method, path, resp.StatusCode, b, err)
		}
	}
	shelves := []string{"/porch", "/zodiac", "/zodiac/0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", "/api/guestbook",
		"/what", "/directory", "/almanac", "/gazette", "/tips", "/retired-words"}
	began := time.Now()
	goesOn := func() bool { return time.Since(began) < long && !t.Failed() }
	// every does something so often, and stops in time.
	every := func(pause time.Duration, f func()) {
		for tick := time.Tick(pause); goesOn(); f() {
			<-tick
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			every(50*time.Millisecond, func() {
				for _, path := range shelves {
					ask("GET", path, "", http.StatusOK)
				}
			})
		})
	}
	wg.Go(func() {
		every(200*time.Millisecond, func() {
			ask("POST", "/api/bell", "", http.StatusOK)
			ask("POST", "/api/stamp", "", http.StatusCreated)
			ask("POST", "/api/letter", `{"letter": "`+strings.Repeat("Dear keeper. ", 50)+`"}`, http.StatusCreated)
			ask("POST", "/api/guestbook", `{"name": "Ada", "message": "Came by."}`, http.StatusCreated)
		})
	})
	var minute, early, late []float64
	every(time.Second, func() {
		kept, err := metric("http://"+debug+"/metrics", nextGC)
		if err != nil {
			t.Error(err)
			return
		}
		if minute = append(minute, kept); len(minute) < 60 {
			return
		}
		kept, minute = middle(minute), nil
		t.Logf("%v: %d requests, %.1f MiB", time.Since(began).Round(time.Second), visitors.Load(), kept/(1<<20))
		switch past := time.Since(began); {
		case past < settled:
		case past < long/2:
			early = append(early, kept)
		default:
			late = append(late, kept)
		}
	})
	wg.Wait()
	if t.Failed() {
		return
	}
	// What is kept stays. What a collection has not come round to on a busy machine is gone minutes
	// later: so the minute in the middle of each half counts.
	if after, before := middle(late), middle(early); after > 1.1*before {
		t.Errorf("the heap has %.0f bytes in the second half, and had %.0f in the first", after, before)
	}
}

// middle is the median of values, which it sorts.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// metric reads a number from a page of metrics.
func metric(url string, line *regexp.Regexp) (float64, error) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	m := line.FindSubmatch(page)
	if m == nil {
		return 0, fmt.Errorf("%s holds no %s", url, line)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
