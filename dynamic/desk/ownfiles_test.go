package desk_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestOwnFilesAreReadOnce looks at many doors of one host that take POST alone: each is ready, and
// the file that says so is read once.
func TestOwnFilesAreReadOnce(t *testing.T) {
	var read, posted atomic.Int64
	sells := door(nil)
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/openapi.json":
			read.Add(1)
			w.Write([]byte(`{"openapi":"3.1.0","paths":{"/paid/{n}":{"post":{}}}}`))
		case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/paid/"):
			posted.Add(1)
			sells(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	h := openTest(t, o)
	for _, n := range []string{"1", "2", "3", "4"} {
		_, _, doc := post(t, h, "/api/preflight/v2", asked{"https://a.example.com/paid/" + n})
		method := doc["probe_method"].(map[string]any)
		if doc["verdict"] != "ready" || method["used"] != "POST" || method["declared_by"] != "/openapi.json" {
			t.Errorf("door %s: %v by %v", n, doc["verdict"], method)
		}
	}
	if _, _, doc := post(t, h, "/api/preflight/v2", asked{"https://a.example.com/other"}); doc["verdict"] !=
		"not_ready" || doc["fault"] != "none" {
		t.Errorf("a door that is not declared: %v, fault %v", doc["verdict"], doc["fault"])
	}
	if read.Load() != 1 || posted.Load() != 4 {
		t.Errorf("%d reads and %d posts, want 1 and 4", read.Load(), posted.Load())
	}
}
