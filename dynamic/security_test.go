package dynamic

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/templates"
)

// Whatever is asked of whichever route, in whichever form, carries the fields that a content
// network is told to send.
func TestEveryAnswerCarriesTheSecurityFields(t *testing.T) {
	budgets, err := budget.New(ledger.NewMem(ledger.MemOptions{}), Budgets())
	if err != nil {
		t.Fatal(err)
	}
	files := testFiles()
	files["favicon.svg"] = "<svg/>"
	for _, w := range templates.Workers {
		files[strings.TrimPrefix(w.Path, "/")] = "onmessage = null\n"
	}
	site := openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", files), "")
	s := newServer(t, Config{Site: site, Rows: shopRows(t), Budgets: budgets})
	kinds := make(map[string]int)
	check := func(method, path string, fields ...string) {
		t.Helper()
		r := httptest.NewRequest(method, "/", nil)
		r.URL.Path, r.RequestURI = path, path
		for i := 0; i < len(fields); i += 2 {
			r.Header.Add(fields[i], fields[i+1])
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		kind, _, _ := strings.Cut(rec.Header().Get("Content-Type"), ";")
		kinds[http.StatusText(rec.Code)+" "+kind]++
		for _, f := range templates.SecurityFields(path) {
			got := rec.Header()[f.Name]
			if f.Name == "Content-Security-Policy" && kind == api.SVG &&
				slices.Equal(got, []string{"default-src 'none'; style-src 'unsafe-inline'"}) {
				continue // a badge is shown on pages of others, and is stricter
			}
			if !slices.Equal(got, []string{f.Value}) {
				t.Errorf("%s %s %v: %d %s with %s %q, want %q", method, path, fields, rec.Code, kind, f.Name, got,
					f.Value)
			}
		}
	}
	fill := regexp.MustCompile(`\{[^}]*\}`)
	for _, row := range s.Table() {
		for _, value := range []string{"hello", "1", "dust-correct", "cert_aaaaaaaaaaaaaaaaaaaa"} {
			path := fill.ReplaceAllString(row.Pattern, value)
			for _, accept := range []string{"", "text/html", "application/json", "text/markdown", "image/svg+xml"} {
				check(row.Method, path, "Accept", accept)
			}
			if path == row.Pattern {
				break
			}
		}
	}
	etag := ask(t, s, "GET", "/").Header.Get("ETag")
	check("GET", "/nothing", "Accept", "text/html")
	check("GET", "/nothing", "Accept", "application/json")
	check("GET", "/problems/sold_out", "Accept", "text/html")
	check("GET", "/style.css")
	check("GET", "/favicon.svg")
	check("GET", "/404.html")
	check("GET", "/what/")
	check("GET", "//")
	check("HEAD", "/")
	check("OPTIONS", "/api/buy/hello")
	check("DELETE", "/menu.json")
	check("GET", "/", "Accept", "text/html;q=0, text/markdown;q=0, application/json;q=0")
	check("GET", "/", "If-None-Match", etag)
	check("GET", "/", "If-Match", `"other"`)
	check("GET", "/bulk/rows.jsonl", "Range", "bytes=1-2")
	check("GET", "/bulk/rows.jsonl", "Range", "bytes=900000000-")
	check("GET", "/api/buy/hello", "X-Long", strings.Repeat("x", 1<<20))
	check("GET", "/api/buy/hello", x402.HeaderSignature, "nonsense")
	for _, want := range []string{"OK text/html", "OK application/json", "OK text/markdown", "Not Found text/html",
		"Not Found application/problem+json",
		"Payment Required application/problem+json", "Payment Required text/html",
		"Not Modified ", "Partial Content application/jsonl",
		"Permanent Redirect ", "No Content ", "Method Not Allowed application/problem+json",
		"Not Acceptable application/problem+json", "Precondition Failed application/problem+json",
		"Request Header Fields Too Large application/problem+json", "OK image/svg+xml", "Not Found image/svg+xml"} {
		if kinds[want] == 0 {
			t.Errorf("nothing was answered with %q, but %v", want, slices.Sorted(maps.Keys(kinds)))
		}
	}
}
