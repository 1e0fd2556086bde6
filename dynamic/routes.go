package dynamic

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"store.example/agentstore/dynamic/route"
)

// mux finds the row of a request. This file is the only one that knows which library does it.
type mux struct{ *chi.Mux }

// retirement is how long the fields Deprecation and Sunset are sent at least.
const retirement = 90 * 24 * time.Hour

// routes checks the table and derives the mux from it.
func (s *Server) routes() error {
	s.mux = mux{chi.NewMux()}
	names := make(map[string]bool)
	addresses := make(map[string]bool)
	for i := range s.table {
		row := &s.table[i]
		switch {
		case names[row.Name]:
			return fmt.Errorf("route %s: the name is used twice", row.Name)
		case addresses[row.Method+" "+row.Pattern]:
			return fmt.Errorf("route %s: %s %s is used twice", row.Name, row.Method, row.Pattern)
		case row.Handle == nil:
			return fmt.Errorf("route %s: no handler", row.Name)
		case row.Budget != "" && (s.budgets == nil || !s.budgets.Has(row.Budget)):
			return fmt.Errorf("route %s: budget %q is not in the table", row.Name, row.Budget)
		case !row.Sunset.IsZero() && row.Sunset.Sub(row.Deprecated) < retirement:
			return fmt.Errorf("route %s: sunset less than 90 days after its deprecation", row.Name)
		}
		if err := row.Check(); err != nil {
			return err
		}
		names[row.Name] = true
		addresses[row.Method+" "+row.Pattern] = true
		h, err := s.adapt(row)
		if err != nil {
			return err
		}
		s.mux.Method(row.Method, row.Pattern, h)
		if row.Method == http.MethodGet {
			// The same gate: a HEAD that ran the handler unpaid would be a hole.
			s.mux.Method(http.MethodHead, row.Pattern, h)
		}
	}
	s.mux.NotFound(s.notFound)
	s.mux.MethodNotAllowed(s.methodNotAllowed)
	return nil
}

// Again answers a request that the handler of another one makes in process, with every gate but the
// listener's.
func (s *Server) Again(w http.ResponseWriter, r *http.Request) {
	// The mux takes what it left in a context for the way so far.
	s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, nil)))
}

// streams reports whether a request asks for a stream of events and nothing else, at an address
// that takes calls: a client of MCP that looks whether the server would push (Streamable HTTP,
// Listening for Messages). A document is no stream, and 405 says so.
func (s *Server) streams(r *http.Request) bool {
	accept := r.Header["Accept"]
	return len(accept) > 0 && strings.Contains(accept[0], "text/event-stream") &&
		!slices.ContainsFunc([]string{"text/html", "text/markdown", "*/*"}, func(other string) bool {
			return strings.Contains(accept[0], other)
		}) && s.mux.Match(chi.NewRouteContext(), http.MethodPost, r.URL.Path)
}

// allowed lists the methods of a path, for the Allow field. It is empty for a path without rows.
func (s *Server) allowed(path string) []string {
	var methods []string
	for _, m := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost,
		http.MethodPut} {
		if s.mux.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
		}
	}
	if len(methods) > 0 {
		methods = append(methods, http.MethodOptions)
		slices.Sort(methods)
	}
	return methods
}

// described says what a path does by the methods that it takes, for who came with another one. It
// is empty for a path without rows that are published.
func (s *Server) described(path string) string {
	var says []string
	for _, m := range s.allowed(path) {
		found := chi.NewRouteContext()
		if m == http.MethodHead || !s.mux.Match(found, m, path) {
			continue
		}
		i := slices.IndexFunc(s.table, func(r route.Row) bool {
			return r.Method == m &&
				r.Pattern == found.RoutePattern() && !r.Internal
		})
		if i < 0 {
			continue
		}
		row := &s.table[i]
		does := m + ": " + row.Summary
		if b := row.Body; b != nil {
			does += ", with a body of " + b.ContentType
			if b.Description != "" {
				does += " (" + b.Description + ")"
			}
		}
		says = append(says, does)
	}
	if len(says) == 0 {
		return ""
	}
	return strings.Join(says, ". ") + ". All of it stands in " + s.baseURL + "/openapi.json."
}

// crooked reports whether a request's path is written in a way that different programs read
// differently: repeated or escaped slashes, dot segments, backslashes, control characters. Such a
// path is never matched against the table.
func crooked(r *http.Request) bool {
	p := r.URL.Path
	if p == "" || p[0] != '/' {
		return true
	}
	if strings.Contains(p, "//") || strings.Contains(p, "/./") || strings.Contains(p, "/../") ||
		strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..") {
		return true
	}
	odd := strings.ContainsFunc(p, func(c rune) bool { return c == '\\' || c < 0x20 || c == 0x7f })
	// RawPath is set where the path was escaped in an unusual way. No address of ours needs that.
	return odd || r.URL.RawPath != ""
}
