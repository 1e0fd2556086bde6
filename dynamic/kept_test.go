package dynamic

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
)

// TestKeptAnswers asks again for an answer that may be given again: plain requests get it without
// the handler for as long as it holds, and nobody else does.
func TestKeptAnswers(t *testing.T) {
	calls, holds, line := 0, true, 0
	handle := func(w http.ResponseWriter, r *http.Request) error {
		calls++
		body := fmt.Sprintf("%s %s %d", r.URL.Path, r.Header.Get("Accept"), calls)
		w.Header().Set("Content-Type", api.JSON)
		w.Header().Set("X-Line", "0")
		route.Keep(r, &route.Kept{Body: []byte(body), Holds: func(_ *http.Request, h http.Header) bool {
			if holds {
				line++
				h["X-Line"] = []string{fmt.Sprint(line)}
			}
			return holds
		}})
		_, err := io.WriteString(w, body)
		return err
	}
	row := func(name, pattern string, serve api.Serve) route.Row {
		return route.Row{Handle: handle, Route: api.Route{Name: name, Method: http.MethodGet, Pattern: pattern,
			Summary: "Test.", Tags: []string{"verify"}, Serve: serve, Params: []api.Param{{Name: "id", In: api.Path,
				Type: "string", Required: true, MaxLength: 400, Pattern: "^[a-z0-9]+$", Description: "An id."}},
			Responses: []api.Response{{Status: 200, ContentType: api.JSON, Description: "Done."}}}}
	}
	s := newServer(t, Config{BaseURL: "http://localhost", Rows: []route.Row{
		row("test_kept", "/test/kept/{id}", api.Clock), row("test_private", "/test/private/{id}", api.Private)}})
	ask := func(method, path string, fields ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(fields); i += 2 {
			r.Header.Add(fields[i], fields[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	first := ask("GET", "/test/kept/a")
	again := ask("GET", "/test/kept/a")
	if calls != 1 || first.Body.String() != again.Body.String() {
		t.Fatalf("%d calls; %q and then %q", calls, first.Body, again.Body)
	}
	for name := range first.Header() {
		same := first.Header().Get(name) == again.Header().Get(name)
		if changes := name == "X-Line" || name == "X-Request-Id"; same == changes {
			t.Errorf("%s: %q and then %q", name, first.Header()[name], again.Header()[name])
		}
	}
	for _, other := range []struct {
		method, path string
		fields       []string
	}{
		{"GET", "/test/kept/b", nil},
		{"GET", "/test/kept/a", []string{"Accept", "text/html"}},
		{"GET", "/test/kept/a?x=1", nil},
		{"HEAD", "/test/kept/a", nil},
		{"GET", "/test/kept/a", []string{"If-None-Match", `"x"`}},
		{"GET", "/test/kept/a", []string{"Range", "bytes=0-1"}},
		{"GET", "/test/kept/a", []string{"Signature-Input", `sig=()`}},
		{"GET", "/test/kept/a", []string{"Accept", "text/html", "Accept", "text/plain"}},
		{"GET", "/test/kept/" + strings.Repeat("c", maxKeptKey), nil},
		{"GET", "/test/kept/" + strings.Repeat("c", maxKeptKey), nil},
		{"GET", "/test/private/a", nil},
		{"GET", "/test/private/a", nil},
	} {
		before := calls
		w := ask(other.method, other.path, other.fields...)
		if w.Code == http.StatusOK && calls != before+1 || w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("%v: status %d, %d calls of the handler", other, w.Code, calls-before)
		}
	}
	holds = false
	before := calls
	if w := ask("GET", "/test/kept/a"); calls != before+1 || w.Body.String() == first.Body.String() {
		t.Errorf("what does not hold any more is given again: %q", w.Body)
	}
	holds = true
	for i := range 3 * maxKeptAnswers {
		ask("GET", fmt.Sprintf("/test/kept/d%d", i))
		if n := len(s.kept.answers); n > maxKeptAnswers {
			t.Fatalf("%d answers are kept, want at most %d", n, maxKeptAnswers)
		}
	}
}
