package dynamic

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"store.example/agentstore/dynamic/budget"
)

// BenchmarkStaticPage is the hot path without the connection: how much of a small page's cost is
// ours.
func BenchmarkStaticPage(b *testing.B) {
	s := testServer(b)
	r := httptest.NewRequest("GET", "/style.css", nil)
	w := &discard{h: make(http.Header)}
	for b.Loop() {
		clear(w.h)
		s.ServeHTTP(w, r)
	}
}

// BenchmarkNegotiatedPage chooses among two representations and three codings.
func BenchmarkNegotiatedPage(b *testing.B) {
	s := testServer(b)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	w := &discard{h: make(http.Header)}
	for b.Loop() {
		clear(w.h)
		s.ServeHTTP(w, r)
	}
}

type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkRow is what the table costs a request: the gate in front of a handler that answers at
// once.
func BenchmarkRow(b *testing.B) {
	rows := testRows()
	rows[2].Handle = func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(402); return nil }
	s := newServer(b, Config{Rows: rows,
		Budgets: testBudgets(b, budget.Limit{Name: "test", Window: time.Minute, Process: 5})})
	r := httptest.NewRequest("GET", "/test/paid", nil)
	w := &discard{h: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.h)
		s.ServeHTTP(w, r)
	}
}
