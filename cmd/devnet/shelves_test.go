package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/shop"
)

// TestSoakShelves reads the free shelves for half an hour, some 800 times a second, while twenty
// visitors a second ring, take stamps, write letters and sign the guestbook: memory is what it was.
func TestSoakShelves(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("takes half an hour; set STORE_SOAK=1")
	}
	const long, settled = 30 * time.Minute, 5 * time.Minute
	s := openStallWith(t, nil, func(_ *stall, c *shop.Config) {
		c.Server.TrustedProxies, c.Server.LogLevel = []string{"127.0.0.1/32"}, "error"
	})
	var visitors, reads atomic.Int64
	ask := func(method, path, body string, want int) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
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
	shelves := []string{"/porch", "/zodiac", "/zodiac/" + s.payTo.address().Hex(), "/api/guestbook", "/what",
		"/directory", "/almanac", "/gazette", "/tips", "/retired-words"}
	began := time.Now()
	goesOn := func() bool { return time.Since(began) < long && !t.Failed() }
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for goesOn() {
				<-tick.C
				for _, path := range shelves {
					ask("GET", path, "", http.StatusOK)
					reads.Add(1)
				}
			}
		})
	}
	wg.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for goesOn() {
			<-tick.C
			ask("POST", "/api/bell", "", http.StatusOK)
			ask("POST", "/api/stamp", "", http.StatusCreated)
			ask("POST", "/api/letter", `{"letter": "`+strings.Repeat("Dear keeper. ", 50)+`"}`, http.StatusCreated)
			ask("POST", "/api/guestbook", `{"name": "Ada", "message": "Came by."}`, http.StatusCreated)
		}
	})
	var early, late []uint64
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for goesOn() {
		<-minute.C
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%v: %d reads, %d requests, %.1f MiB held", time.Since(began).Round(time.Second), reads.Load(),
			visitors.Load(), float64(m.HeapAlloc)/(1<<20))
		switch past := time.Since(began); {
		case past < settled:
		case past < long/2:
			early = append(early, m.HeapAlloc)
		default:
			late = append(late, m.HeapAlloc)
		}
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if most, before := slices.Max(late), slices.Max(early); most > before+before/10 {
		t.Errorf("%d bytes are held in the second half, %d in the first", most, before)
	}
}
