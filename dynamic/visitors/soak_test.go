package visitors_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/visitors"
)

// TestSoakLongPiles: of a hundred thousand letters and as many guestbook entries each page takes no
// more memory than of a few, for visitors and for the keeper, and each entry comes once.
func TestSoakLongPiles(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	const each = 100_000
	db := must[*bolt.DB](t)(bolt.Open(t.Context(), filepath.Join(t.TempDir(), "ledger")))
	defer db.Close()
	s := unlimited(t, db)
	began := time.Now()
	bodies := map[string]string{
		visitors.KindLetter:    text(t, map[string]any{"letter": strings.Repeat("Dear keeper. ", 50)}),
		visitors.KindGuestbook: text(t, map[string]any{"name": "Ada", "message": strings.Repeat("Came by. ", 30)}),
	}
	for kind, body := range bodies {
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				for n := i; n < each; n += 64 {
					who := from{address: fmt.Sprintf("198.51.%d.%d", n/250%250, n%250), agent: fmt.Sprint(n)}
					if res := s.do(who, "POST", "/api/"+kind, body); res.StatusCode != 201 {
						t.Errorf("%s no. %d: status %d", kind, n, res.StatusCode)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	t.Logf("%d were left in %v", 2*each, time.Since(began).Round(time.Second))
	before := held()
	most := before
	var first, last time.Duration
	seen, pages := 0, 0
	for next := "/api/guestbook"; next != ""; pages++ {
		asked := time.Now()
		v := s.want(200, ann, "GET", next, "")
		if last = time.Since(asked); pages == 0 {
			first = last
		}
		seen += len(v["entries"].([]any))
		next, _ = v["next"].(string)
		next = strings.TrimPrefix(next, base)
		if pages%100 == 0 {
			most = max(most, held())
		}
	}
	if seen != each {
		t.Errorf("visitors read %d of %d", seen, each)
	}
	t.Logf("%d pages: the first took %v, the last %v", pages, first, last)
	for kind := range bodies {
		n := 0
		for after := ""; ; {
			page, next, err := s.desk.Entries(t.Context(), kind, false, after, 200)
			if err != nil {
				t.Fatal(err)
			}
			if n += len(page); n%20_000 == 0 {
				most = max(most, held())
			}
			if after = next; next == "" {
				break
			}
		}
		if n != each {
			t.Errorf("the keeper reads %d of %d of %s", n, each, kind)
		}
	}
	t.Logf("%d KiB were held before reading, %d KiB at most while", before>>10, most>>10)
	if most > before+8<<20 {
		t.Errorf("reading held %d KiB more than before", (most-before)>>10)
	}
}

// held is what the heap holds once it is swept.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
