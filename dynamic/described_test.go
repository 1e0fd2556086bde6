package dynamic

import (
	"bytes"
	"encoding/json/v2"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/jsonschema-go/jsonschema"

	"store.example/agentstore/dynamic/route"
)

// described answers as a server does, and is an error of the test where a JSON answer is not as
// the row of its route describes it, so that every conversation is held against /openapi.json.
func described(t *testing.T, s *Server) http.Handler {
	type answer struct {
		method, pattern, kind string
		status                int
	}
	schemas := map[answer]*jsonschema.Resolved{}
	for _, row := range route.Describe(s.Table()) {
		for _, res := range row.Responses {
			if res.Schema == nil || !strings.Contains(res.ContentType, "json") {
				continue
			}
			r, err := res.Schema.Resolve(nil)
			if err != nil {
				t.Fatalf("%s: %v", row.Name, err)
			}
			kind, _, _ := mime.ParseMediaType(res.ContentType)
			schemas[answer{row.Method, row.Pattern, kind, res.Status}] = r
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := httptest.NewRecorder()
		s.ServeHTTP(said, r)
		maps.Copy(w.Header(), said.Header())
		w.WriteHeader(said.Code)
		_, _ = w.Write(said.Body.Bytes())
		at := chi.NewRouteContext()
		kind, _, _ := mime.ParseMediaType(said.Header().Get("Content-Type"))
		if !strings.Contains(kind, "json") || said.Header().Get("Content-Encoding") != "" || said.Body.Len() == 0 ||
			!s.mux.Match(at, r.Method, r.URL.Path) {
			return
		}
		schema := schemas[answer{r.Method, at.RoutePattern(), kind, said.Code}]
		if schema == nil {
			return
		}
		var instance any
		if err := json.Unmarshal(bytes.Clone(said.Body.Bytes()), &instance); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		} else if err := schema.Validate(instance); err != nil {
			t.Errorf("%s %s: status %d is not as it is described: %v\n%.600s", r.Method, r.URL.Path, said.Code, err,
				said.Body)
		}
	})
}
