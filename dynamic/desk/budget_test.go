package desk_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestWhatIsRefusedLooksNoNameUp: no name is looked up for a request that cannot be read or for
// which there is no use of the budget, and one that is refused for where its name leads has its use
// given back.
func TestWhatIsRefusedLooksNoNameUp(t *testing.T) {
	var lookups atomic.Int64
	o := street(t, door(nil))
	o.lookups = &lookups
	url := func(u string) any { return asked{u} }
	for path, c := range map[string]struct {
		budget string
		body   func(url string) any
	}{
		"/api/preflight/v1":      {"preflight", url},
		"/api/preflight/v2":      {"preflight", url},
		"/api/look/v1":           {"preflight", url},
		"/api/before-you-pay/v1": {"preflight", url},
		"/try":                   {"preflight", url},
		"/api/a2a/check":         {"a2a_check", url},
		"/api/bot-auth/check":    {"readings", url},
		"/api/onpage/v1":         {"readings", url},
		"/api/declare-door": {"declare_door", func(u string) any {
			return map[string]string{"host": strings.TrimSuffix(strings.TrimPrefix(u, "https://"), "/")}
		}},
	} {
		o.Limits = map[string][2]int{c.budget: {1, 1}}
		h := openTest(t, o)
		send := func(u string) (int, http.Header, string) {
			t.Helper()
			raw, err := json.Marshal(c.body(u))
			if err != nil {
				t.Fatal(err)
			}
			contentType := "application/json"
			if path == "/try" {
				raw, contentType = []byte("url="+u), "application/x-www-form-urlencoded"
			}
			r := httptest.NewRequest(http.MethodPost, base+path, bytes.NewReader(raw))
			r.Header.Set("Content-Type", contentType)
			r.Header.Set("Accept", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code, w.Header(), w.Body.String()
		}
		lookups.Store(0)
		for u, most := range map[string]int64{"https:// /": 0, "https://10.1.2.3/": 0, "https://store.test/": 0,
			"https://inside.example.com/": 1} {
			before := lookups.Load()
			code, header, answer := send(u)
			if code != 400 ||
				header.Get("RateLimit") != "" || strings.Contains(answer, "rate_limit") {
				t.Errorf("%s of %s: %d with budget %q: %s", path, u, code, header.Get("RateLimit"), answer)
			}
			if n := lookups.Load() - before; n != most {
				t.Errorf("%s of %s: %d names looked up, want %d", path, u, n, most)
			}
		}
		if code, header, answer := send("https://a.example.com/"); code != 200 ||
			header.Get("RateLimit-Remaining") != "0" {
			t.Errorf("%s after what spends nothing: %d, %q remain: %s", path, code, header.Get("RateLimit-Remaining"),
				answer)
		}
		before := lookups.Load()
		for _, u := range []string{"https://b.example.com/", "https://inside.example.com/"} {
			if code, header, answer := send(u); code != 429 || header.Get("Retry-After") == "" {
				t.Errorf("%s of %s without budget: %d %s", path, u, code, answer)
			}
		}
		if n := lookups.Load() - before; n != 0 || before == 0 {
			t.Errorf("%s: %d names looked up without budget, %d with it", path, n, before)
		}
	}
}
