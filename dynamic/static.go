package dynamic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content/api"

	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// serveExact answers a request whose path is exactly one of the published tree's, and reports
// whether it did. This is the hot path: a look-up, a negotiation where there is a choice, and
// header fields that stand ready. With an error nothing was written: the file cannot be read as the
// snapshot has it.
func (s *Server) serveExact(w http.ResponseWriter, r *http.Request, snap *snapshot) (bool, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.RawPath != "" {
		return false, nil
	}
	p := snap.pages[r.URL.Path]
	if p == nil || p.asked(r) || s.streams(r) {
		return false, nil
	}
	start := time.Now()
	i := 0
	if len(p.reps) > 1 {
		if i = route.Negotiate(joined(r.Header["Accept"]), p.types); i < 0 {
			return false, nil // the slow path says 406
		}
	}
	a, err := snap.answer(p.reps[i], joined(r.Header["Accept-Encoding"]))
	if err != nil {
		return false, err
	}
	m := p.label.m
	if a.body == nil || conditional(r.Header) {
		status, err := s.serveContent(w, r, a)
		if err != nil {
			return false, err
		}
		s.observeDocument(r, m, status, start)
		return true, nil
	}
	h := w.Header()
	for _, f := range a.fields {
		h[f.name] = f.value
	}
	if r.Method == http.MethodGet {
		// The client went away: nobody is left to tell.
		_, _ = w.Write(a.body)
	}
	s.observeDocument(r, m, http.StatusOK, start)
	return true, nil
}

// servePublished answers from a snapshot, or, where its files are not there any more or changed,
// from the tree that has taken its place meanwhile. What it returns is the snapshot that the rest
// of the request is answered from.
func (s *Server) servePublished(w http.ResponseWriter, r *http.Request) (done bool, snap *snapshot, err error) {
	snap = s.site.current.Load()
	if done, err = s.serveExact(w, r, snap); err == nil {
		return done, snap, nil
	}
	if refused := s.site.Refresh(); refused != nil {
		err = errors.Join(err, refused)
	}
	if now := s.site.current.Load(); now != snap {
		snap = now
		done, err = s.serveExact(w, r, snap)
	}
	if err != nil {
		s.log.Error("published file cannot be served", "err", err)
	}
	return done, snap, err
}

// unreadable is the answer where a file of the published tree is not what its manifest says.
func unreadable(err error) *problem.Error {
	return &problem.Error{Code: "page_unreadable", Err: err, Retry: 2 * time.Second,
		Detail: "The published file at this address is being replaced or was damaged, so it is not given out. " +
			"Nothing is wrong with the request: send it again in a few seconds."}
}

func (s *Server) observeDocument(r *http.Request, m *measured, status int, start time.Time) {
	took := time.Since(start)
	m.observe(status, took)
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method),
			slog.String("route", m.name), slog.Int("status", status), slog.Duration("took", took))
	}
}

// conditional reports whether a request asks for anything but the whole representation.
func conditional(h http.Header) bool {
	return h["If-None-Match"] != nil || h["Range"] != nil || h["If-Match"] != nil || h["If-Range"] != nil ||
		h["If-Modified-Since"] != nil || h["If-Unmodified-Since"] != nil
}

// serveContent answers conditional and range requests and large files. With an error nothing was
// written: the body cannot be opened.
func (s *Server) serveContent(w http.ResponseWriter, r *http.Request, a *answer) (int, error) {
	body, done, err := a.reader()
	if errors.Is(err, fs.ErrNotExist) && a.plain != nil {
		// A build has swept the compressed form, which the tree can do without.
		a = a.plain
		body, done, err = a.reader()
	}
	if err != nil {
		return 0, err
	}
	defer func() {
		if err := done(); err != nil {
			s.log.Error("closing a published file", "err", err)
		}
	}()
	h := w.Header()
	for _, f := range a.fields {
		if f.name != "Content-Length" {
			h[f.name] = f.value
		}
	}
	c := &contentWriter{ResponseWriter: w}
	if h["Content-Encoding"] != nil && r.Header["Range"] == nil {
		// http.ServeContent leaves the length of encoded content open; ours is known.
		h.Set("Content-Length", strconv.FormatInt(a.size, 10))
	}
	http.ServeContent(c, r, "", time.Time{}, body)
	if c.refused {
		e := &problem.Error{Code: "precondition_failed",
			Detail: "The version that was asked for is not the current one. Fetch it without the condition."}
		if c.status == http.StatusRequestedRangeNotSatisfiable {
			h.Set("Content-Range", fmt.Sprintf("bytes */%d", a.size))
			e = &problem.Error{Code: "range_not_satisfiable",
				Detail: "The range is beyond the end of the file or malformed; Content-Range has its length."}
		}
		problem.Write(w, r, s.baseURL, e)
	}
	return c.status, nil
}

// contentWriter withholds the refusals of http.ServeContent, which speaks plain text, so that ours
// can be written.
type contentWriter struct {
	http.ResponseWriter
	status  int
	refused bool
}

func (c *contentWriter) WriteHeader(status int) {
	c.status = status
	if c.refused = status >= 400; !c.refused {
		c.ResponseWriter.WriteHeader(status)
	}
}

func (c *contentWriter) Write(b []byte) (int, error) {
	if c.refused {
		return len(b), nil
	}
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.ResponseWriter.Write(b)
}

// joined is a field that may be repeated, as one list.
func joined(values []string) string { return strings.Join(values, ",") }

// document answers for the rows of documents where the exact path is not in the tree, or could not
// be answered.
func (s *Server) document(w http.ResponseWriter, r *http.Request) error {
	w.Header()["Vary"] = varyAll
	p := w.(*call).snap.pages[r.URL.Path]
	if p == nil {
		if done, err := s.rendered(w, r); done || err != nil {
			return err
		}
		if gone := s.retiredGood(w.(*call).snap, r.PathValue(api.ItemID.Name)); gone != nil {
			return gone
		}
		return notThere()
	}
	if s.streams(r) {
		return s.notAllowed(r)
	}
	if p.asked(r) {
		return s.find(w, r, p)
	}
	if len(p.reps) > 1 && route.Negotiate(joined(r.Header["Accept"]), p.types) < 0 {
		return notAcceptable(p.types)
	}
	return unreadable(errChanged)
}

// retiredGood is the answer at the address of a good that is no longer sold, nil for any other.
func (s *Server) retiredGood(snap *snapshot, id string) error {
	if snap.edition == nil {
		return nil
	}
	old, ok := snap.edition.Site.RetiredGood(id)
	if !ok {
		return nil
	}
	e := &problem.Error{Code: "gone", Detail: id + " is no longer sold. " + old.Reason, Next: "GET " + s.baseURL +
		"/menu.json lists what is sold."}
	if old.FoldedInto != "" {
		e.Extra = map[string]any{"folded_into": old.FoldedInto}
		e.Next = "GET " + s.baseURL + "/menu/" + old.FoldedInto + " is what does its work now."
	}
	return e
}

func notThere() *problem.Error {
	return &problem.Error{Code: "not_found", Detail: "There is nothing at this address. /menu.json lists what is " +
		"sold, /openapi.json every address."}
}

// notFound answers for paths that no row has: a redirect for a page's other spellings, else 404.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	c := w.(*call)
	if s.site != nil {
		c.Header()["Vary"] = varyAll
		if to := s.canonical(c.snap, r); to != "" {
			c.Header().Set("Location", to)
			c.Header().Set("Cache-Control", "public, max-age=300")
			c.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		if p := c.snap.pages[r.URL.Path]; p != nil && route.Negotiate(joined(r.Header["Accept"]), p.types) < 0 {
			s.refuse(c, r, notAcceptable(p.types)) // a page of the tree that has no route
			return
		}
	}
	s.refuse(c, r, notThere())
}

// canonical is the path of the page that a path with a slash or index.html at its end means, and of
// the index of a folder of Markdown.
func (s *Server) canonical(snap *snapshot, r *http.Request) string {
	if crooked(r) || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return ""
	}
	pages := snap.pages
	if folder := strings.TrimSuffix(r.URL.Path, "/"); folder != "" && pages[folder] == nil &&
		pages[folder+"/index.md"] != nil {
		return folder + "/index.md"
	}
	to, ok := strings.CutSuffix(r.URL.Path, "/index.html")
	if !ok {
		to, ok = strings.CutSuffix(r.URL.Path, "/")
	}
	if to == "" {
		to = "/"
	}
	if !ok || to == r.URL.Path {
		return ""
	}
	if p := pages[to]; p != nil {
		if slices.Contains(p.types, "text/html") {
			return to
		}
		return ""
	}
	if want, ok := s.site.wants(to, s.renderers); !ok || want.own {
		return ""
	}
	return to
}

// mayShowPage reports whether what is not there may be answered with a page, by what the client
// accepts.
func (s *Server) mayShowPage(r *http.Request) bool {
	return s.site != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		!strings.HasPrefix(r.URL.Path, "/api/")
}

// pageNotFound shows a person in a browser the site's 404 page instead of a problem document.
func (s *Server) pageNotFound(c *call, r *http.Request) bool {
	if !s.mayShowPage(r) || route.Negotiate(joined(r.Header["Accept"]),
		[]string{problem.ContentType, "text/html"}) != 1 {
		return false
	}
	p := c.snap.pages["/404.html"]
	if p == nil {
		return false
	}
	a, err := c.snap.answer(p.reps[0], "")
	if err != nil || a.body == nil {
		s.log.Error("the 404 page cannot be served", "err", err)
		return false
	}
	body := templates.Lost(a.body, api.SearchWords(r.URL.Path))
	h := c.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h["Cache-Control"] = noStore
	h["Vary"] = varyAll
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.WriteHeader(http.StatusNotFound)
	if r.Method == http.MethodGet {
		_, _ = c.Write(body)
	}
	return true
}

// methodNotAllowed answers for a path that has rows, but none for the method.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	if len(s.allowed(r.URL.Path)) == 0 { // a method that the mux does not know, and no row
		s.notFound(w, r)
		return
	}
	s.refuse(w.(*call), r, s.notAllowed(r))
}

func (s *Server) notAllowed(r *http.Request) *problem.Error {
	methods := strings.Join(s.allowed(r.URL.Path), ", ")
	return &problem.Error{Code: "method_not_allowed", Header: http.Header{"Allow": {methods}},
		Detail: "Nothing was done: this address takes " + methods + ".", Next: s.described(r.URL.Path)}
}
