package dynamic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// Renderer makes the files of a document that the published tree does not hold: pages of hosts
// beyond the number that a build writes. What it makes is what the build would have written, so
// that an address answers the same bytes whichever of the two made them.
type Renderer interface {
	// Canonical is the one spelling of a value of the document's parameter. A request for another
	// one is sent there: with one address for each page, a cache holds one copy of it, and readers
	// who compare digests compare the same thing.
	Canonical(value string) string
	// Render returns one representation for a value in its canonical spelling. A *problem.Error
	// says why there is none.
	Render(ctx context.Context, value, mediaType string) ([]byte, error)
}

// wanted is the value of a rendered document's parameter in a path, with what stands around it.
type wanted struct {
	doc               *document
	head, value, tail string
	own               bool // the address is a file's own
}

// wants finds the rendered document that a path is of. The own addresses of files are tried first:
// a value may end as they do.
func (s *Site) wants(path string, renderers map[string]Renderer) (wanted, bool) {
	for _, own := range []bool{true, false} {
		for _, p := range s.patterns {
			if renderers[p.doc.Name] == nil || p.Deep || own && p.doc.Files[p.rep].MediaType == api.HTML {
				continue
			}
			head, tail := p.urlHead, p.urlTail
			if own {
				head, tail = "/"+p.Prefix, p.Suffix
			}
			value, ok := strings.CutPrefix(path, head)
			if !ok {
				continue
			}
			if value, ok = strings.CutSuffix(value, tail); ok && value != "" && !strings.Contains(value, "/") {
				return wanted{p.doc, head, value, tail, own}, true
			}
		}
	}
	return wanted{}, false
}

// page is the page that a tree would have at the wanted path if it held the document's files for
// the value.
func (s *Site) page(want wanted) *page {
	snap := &snapshot{site: s, pages: make(map[string]*page)}
	for _, p := range s.patterns {
		if p.doc == want.doc {
			snap.add(&file{path: p.Prefix + want.value + p.Suffix})
		}
	}
	path := want.head + want.value + want.tail
	p := snap.pages[path]
	if p != nil {
		p.compact(path)
	}
	return p
}

// rendered answers for a document whose file is not in the tree, and reports whether there is a
// renderer for it.
func (s *Server) rendered(w http.ResponseWriter, r *http.Request) (bool, error) {
	want, ok := s.site.wants(r.URL.Path, s.renderers)
	if !ok {
		return false, nil
	}
	if bad := route.Of(r).Validator.PathValue(want.doc.Params[0].Name, want.value); bad != nil {
		return true, bad
	}
	renderer := s.renderers[want.doc.Name]
	if to := renderer.Canonical(want.value); to != want.value {
		w.Header().Set("Location", (&url.URL{Path: want.head + to + want.tail}).EscapedPath())
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.WriteHeader(http.StatusPermanentRedirect)
		return true, nil
	}
	p := s.site.page(want)
	if p == nil {
		return false, nil
	}
	i, mediaType := 0, p.types[0]
	if !p.direct {
		if i = route.Negotiate(joined(r.Header["Accept"]), p.types); i < 0 {
			return true, notAcceptable(p.types)
		}
		mediaType = p.doc.Files[i].MediaType
	}
	body, err := renderer.Render(r.Context(), want.value, mediaType)
	if err != nil {
		return true, err
	}
	sum := sha256.Sum256(body)
	a := &answer{body: body, size: int64(len(body)), etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	a.fields = append(p.reps[i].fields, field{"Etag", []string{a.etag}},
		field{"Content-Length", []string{strconv.Itoa(len(body))}})
	s.serveContent(w, r, a) // a body in memory can always be opened
	return true, nil
}

func notAcceptable(types []string) *problem.Error {
	return &problem.Error{Code: "not_acceptable", Extra: map[string]any{"available": types},
		Detail: "The Accept field refuses every representation there is: " + strings.Join(types, ", ") + "."}
}
