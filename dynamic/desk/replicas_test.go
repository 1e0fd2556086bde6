package desk_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"store.example/agentstore/dynamic/ledger/ledgertest"
)

// TestBudgetsAreExactOverProcesses: three stores on one PostgreSQL are asked by 120 callers at
// once. No more than the shared budget is granted, all of it is, and no process grants more than
// its own.
func TestBudgetsAreExactOverProcesses(t *testing.T) {
	var hits atomic.Int64
	o := street(t, door(&hits))
	o.Ledger = ledgertest.Postgres(t)
	const processes, callers, own, shared = 3, 40, 30, 60
	var stores [processes]child
	for i := range stores {
		stores[i] = startChild(t, o)
	}
	// What is refused spends nothing.
	for _, s := range stores {
		for _, body := range []string{`{}`, `{"url":"https://store.test/"}`, `{"url":"https://10.1.2.3/"}`,
			`{"url":"https://inside.example.com/"}`, `{"url":"no"}`} {
			res, err := http.Post(s.url+"/api/preflight/v2", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != 400 || res.Header.Get("RateLimit") != "" || res.Header.Get("RateLimit-Limit") != "" {
				t.Errorf("%s: status %d, budget %q", body, res.StatusCode, res.Header.Get("RateLimit"))
			}
		}
	}
	if n := hits.Load(); n != 0 {
		t.Fatalf("%d requests reached a door that was refused", n)
	}
	paths := []string{"/api/preflight/v2", "/api/preflight/v1", "/api/look/v1", "/api/before-you-pay/v1"}
	var granted [processes]atomic.Int64
	var refused atomic.Int64
	var wg sync.WaitGroup
	for i, s := range stores {
		for j := range callers {
			wg.Go(func() {
				body := fmt.Sprintf(`{"url":"https://d%d-%d.example.com/paid"}`, i, j)
				res, err := http.Post(s.url+paths[j%len(paths)], "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				defer res.Body.Close()
				switch res.StatusCode {
				case 200:
					granted[i].Add(1)
				case 429:
					refused.Add(1)
					if res.Header.Get("Retry-After") == "" || res.Header.Get("RateLimit-Remaining") != "0" {
						t.Errorf("429 with Retry-After %q and RateLimit-Remaining %q", res.Header.Get("Retry-After"),
							res.Header.Get("RateLimit-Remaining"))
					}
				default:
					t.Errorf("status %d", res.StatusCode)
				}
				if res.Header.Get("RateLimit") == "" || res.Header.Get("RateLimit-Policy") == "" {
					t.Errorf("status %d without the budget's fields", res.StatusCode)
				}
			})
		}
	}
	wg.Wait()
	total := int64(0)
	for i := range granted {
		n := granted[i].Load()
		if n > own {
			t.Errorf("process %d granted %d, more than its %d", i, n, own)
		}
		total += n
	}
	if total != shared || refused.Load() != processes*callers-shared {
		t.Errorf("granted %d and refused %d, want %d and %d", total, refused.Load(), shared, processes*callers-shared)
	}
	if n := hits.Load(); n != shared {
		t.Errorf("%d requests reached the doors, want %d", n, shared)
	}
}
