package dynamic

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"store.example/agentstore/dynamic/route"
)

// keptAnswers are those that may be given again without a way through mux, inputs and handler,
// which cost more than writing them. Whether one holds its handler says, each time.
type keptAnswers struct {
	mu      sync.RWMutex
	answers map[keptKey]*keptAnswer
}

// keptKey is what a request for a kept answer may choose.
type keptKey struct{ path, accept string }

// keptAnswer is an answer with the counters of its row.
type keptAnswer struct {
	*route.Kept
	fields []field
	m      *measured
}

const (
	// maxKeptAnswers is how many are kept. At one more the keeping begins anew.
	maxKeptAnswers = 512
	// maxKeptKey is the longest path or Accept field, in bytes, that anything is kept for.
	maxKeptKey = 256
)

// keyOf is what a request chooses among kept answers; false where it is not plain: where it has a
// body or a query, asks for anything but the whole, or is signed.
func keyOf(r *http.Request) (keptKey, bool) {
	h, accept := r.Header, r.Header["Accept"]
	plain := r.Method == http.MethodGet && r.URL.RawQuery == "" && r.URL.RawPath == "" && r.ContentLength == 0 &&
		len(r.URL.Path) <= maxKeptKey && len(accept) <= 1 && h["Signature-Input"] == nil && !conditional(h)
	k := keptKey{path: r.URL.Path}
	if plain && len(accept) == 1 {
		k.accept = accept[0]
	}
	return k, plain && len(k.accept) <= maxKeptKey
}

// keep remembers the answer that a handler has just given, if it said that it may be given again.
func (a *keptAnswers) keep(c *call, r *http.Request) {
	k, plain := keyOf(r)
	if c.Kept == nil || !plain || c.status != http.StatusOK {
		return
	}
	kept := keptAnswer{Kept: c.Kept, m: c.m}
	for name, value := range c.Header() {
		kept.fields = append(kept.fields, field{name, value})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers == nil || len(a.answers) >= maxKeptAnswers {
		a.answers = map[keptKey]*keptAnswer{}
	}
	a.answers[k] = &kept
}

// again gives a kept answer, if there is one and it holds, and reports whether it did.
func (s *Server) again(w http.ResponseWriter, r *http.Request) bool {
	k, plain := keyOf(r)
	if !plain {
		return false
	}
	s.kept.mu.RLock()
	kept := s.kept.answers[k]
	s.kept.mu.RUnlock()
	if kept == nil {
		return false
	}
	start := time.Now()
	h := w.Header()
	if !kept.Holds(r, h) {
		return false
	}
	for _, f := range kept.fields {
		if h[f.name] == nil { // else it is one that changes with the time
			h[f.name] = f.value
		}
	}
	h["X-Request-Id"] = []string{s.idPrefix + strconv.FormatUint(s.idCounter.Add(1), 36)}
	// The client went away: nobody is left to tell.
	_, _ = w.Write(kept.Body)
	s.observeDocument(r, kept.m, http.StatusOK, start)
	return true
}
