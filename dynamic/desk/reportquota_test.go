package desk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/ledger/bolt"
)

// TestReportsOutliveARestart goes to each end of the quota, that of a client and that of everybody,
// and one past it, with a restart in front of each step: what was kept is there, what was used is
// used, and nothing makes room for another.
func TestReportsOutliveARestart(t *testing.T) {
	const each, all = 20, 25
	var hits atomic.Int64
	o := street(t, door(&hits))
	o.Limits = map[string][2]int{"preflight": {1 << 20, 1 << 20}, desk.BudgetReports: {0, all}}
	path := filepath.Join(t.TempDir(), "ledger")
	var kept []string
	// run is one life of the store: what it answers each client who asks for an address.
	run := func(clients ...string) (codes []int, said []string) {
		t.Helper()
		db, err := bolt.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		o.db = db
		s, d, _, err := open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range kept {
			if code, _, page := fetchReport(t, s, at, "application/json"); code != http.StatusOK {
				t.Errorf("%s after a restart: %d %s", at, code, page)
			}
		}
		for i, client := range clients {
			body := fmt.Sprintf(`{"url":"https://a.example.com/%d-%d","share":true}`, len(kept), i)
			r := httptest.NewRequest(http.MethodPost, base+"/api/preflight/v2", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = client + ":1234"
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			var doc struct {
				At     string `json:"report_url"`
				Detail string `json:"detail"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			if codes, said = append(codes, w.Code), append(said, doc.Detail); doc.At != "" {
				kept = append(kept, doc.At)
			}
			if (w.Code == http.StatusTooManyRequests) != (w.Header().Get("Retry-After") != "") {
				t.Errorf("%d with Retry-After %q", w.Code, w.Header().Get("Retry-After"))
			}
		}
		if err := d.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		return codes, said
	}
	const a, b, c = "192.0.2.1", "198.51.100.2", "203.0.113.3"
	times := func(client string, n int) (all []string) {
		for range n {
			all = append(all, client)
		}
		return all
	}
	for _, step := range []struct {
		clients []string
		code    int
		says    string
	}{
		{times(a, each-1), http.StatusOK, ""},
		{times(a, 1), http.StatusOK, ""}, // the last of his
		{times(a, 1), http.StatusTooManyRequests, "No more reports are kept for this client today"},
		{times(b, all-each-1), http.StatusOK, ""},
		{times(c, 1), http.StatusOK, ""}, // the last of all
		{times(c, 1), http.StatusTooManyRequests, "No more reports are kept for everybody together today"},
		{times(b, 1), http.StatusTooManyRequests, "none is dropped to make room"},
		{times(a, 1), http.StatusTooManyRequests, "Without share, or after the time in Retry-After, the door is read"},
	} {
		before, read := len(kept), hits.Load()
		codes, said := run(step.clients...)
		for i, code := range codes {
			if code != step.code || !strings.Contains(said[i], step.says) {
				t.Errorf("after %d reports: %d %s, want %d %s", before, code, said[i], step.code, step.says)
			}
		}
		if step.code == http.StatusTooManyRequests && (hits.Load() != read || len(kept) != before) {
			t.Errorf("what was refused was read %d times and kept %d times", hits.Load()-read, len(kept)-before)
		}
	}
	run() // all of them are there at the end
	if len(kept) != all {
		t.Errorf("%d reports, want %d", len(kept), all)
	}
}
