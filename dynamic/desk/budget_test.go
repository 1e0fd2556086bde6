package desk_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBatchSpendsOneBudgetAndAnswersInPart(t *testing.T) {
	var hits atomic.Int64
	o := street(t, door(&hits))
	o.Limits = map[string][2]int{"preflight": {3, 60}}
	h := openTest(t, o)
	urls := []string{"https://a.example.com/", "http://plain.example.com/", "https://b.example.com/",
		"https://store.test/", "https://c.example.com/", "https://d.example.com/", "https://nowhere.example.com/"}
	code, header, doc := post(t, h, "/api/preflight/batch", map[string]any{"urls": urls})
	if code != 200 || header.Get("RateLimit-Remaining") != "0" {
		t.Fatalf("%d, remaining %q", code, header.Get("RateLimit-Remaining"))
	}
	var got []string
	for _, r := range doc["results"].([]any) {
		m := r.(map[string]any)
		if e, ok := m["error"]; ok {
			got = append(got, e.(string))
			continue
		}
		got = append(got, m["report"].(map[string]any)["verdict"].(string))
	}
	want := []string{"ready", "target_refused", "ready", "own_host_refused", "ready", "budget_spent", "budget_spent"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	if hits.Load() != 3 {
		t.Errorf("%d requests, want 3", hits.Load())
	}
	if code, header, doc = post(t, h, "/api/preflight/batch", map[string]any{"urls": urls[:1]}); code != 429 ||
		header.Get("Retry-After") == "" {
		t.Errorf("nothing granted: %d %v", code, doc)
	}
	for name, body := range map[string]any{
		"none": map[string]any{"urls": []string{}}, "many": map[string]any{"urls": make([]string, 21)},
		"battery": map[string]any{"urls": urls[:1], "battery": "v9"},
	} {
		if code, header, _ := post(t, h, "/api/preflight/batch", body); code != 400 || header.Get("RateLimit") != "" {
			t.Errorf("%s: %d with budget %q", name, code, header.Get("RateLimit"))
		}
	}
}

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
		"/api/preflight/batch":   {"preflight", func(u string) any { return map[string]any{"urls": []string{u}} }},
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
			if refused := code == 400 || strings.Contains(answer, `"read":0`); !refused ||
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

// TestBatchGivesBackWhatIsRefused: a door that is refused for where its name leads leaves its use
// to the doors behind it.
func TestBatchGivesBackWhatIsRefused(t *testing.T) {
	var hits atomic.Int64
	o := street(t, door(&hits))
	o.Limits = map[string][2]int{"preflight": {2, 60}}
	h := openTest(t, o)
	urls := []string{"https://inside.a.example.com/", "https://a.example.com/", "https://inside.b.example.com/",
		"https://b.example.com/", "https://inside.c.example.com/", "https://c.example.com/"}
	code, header, doc := post(t, h, "/api/preflight/batch", map[string]any{"urls": urls[:5]})
	want := map[string]any{"ready": 2.0, "target_refused": 2.0, "budget_spent": 1.0}
	if d := cmp.Diff(doc["counts"], any(want)); code != 200 || d != "" || header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("%d, %q remain, got - want +\n%s", code, header.Get("RateLimit-Remaining"), d)
	}
	o.Limits = map[string][2]int{"preflight": {20, 60}}
	code, header, doc = post(t, openTest(t, o), "/api/preflight/batch", map[string]any{"urls": urls})
	if code != 200 || doc["read"] != 3.0 || header.Get("RateLimit-Remaining") != "17" ||
		doc["rate_limit"].(map[string]any)["remaining"] != 17.0 {
		t.Errorf("three of six: %d, %q remain: %v", code, header.Get("RateLimit-Remaining"), doc)
	}
	if hits.Load() != 5 {
		t.Errorf("%d requests, want 5", hits.Load())
	}
}
