package shop

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/generator"
	"store.example/agentstore/templates"
)

// TestHostPagesAreTheSameAsFiles builds a site with pages of hosts as files and one without, serves
// both, and compares every answer.
func TestHostPagesAreTheSameAsFiles(t *testing.T) {
	dir := t.TempDir()
	c := observingConfig(dir)
	c.Twins = filepath.Join(dir, "var", "twins")
	w, err := RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	corpustest.Append(t, w, 3, derive.TimelineWeeks+2) // with rounds that pages of hosts no longer show
	build := func(name string, most int) string {
		t.Helper()
		mine := *c
		mine.Public, mine.HostPages, mine.Twins = filepath.Join(dir, name), most, ""
		in, err := BuildInput(&mine)
		if err != nil {
			t.Fatal(err)
		}
		in.Bulk = nil
		if _, err := generator.Build(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		return mine.Public
	}
	files, none := build("files", 16), build("none", 15)
	serve := func(tree string, renderers map[string]dynamic.Renderer) http.Handler {
		t.Helper()
		site, err := dynamic.OpenSite(dynamic.SiteConfig{Pointer: tree, Ring: w.Ring, BaseURL: c.BaseURL})
		if err != nil {
			t.Fatal(err)
		}
		h, err := dynamic.New(dynamic.Config{Site: site, BaseURL: c.BaseURL, Renderers: renderers})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	s, _, err := openCounter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	asFiles, rendered := serve(files, nil), serve(none, s.renderers())
	ask := func(h http.Handler, path string, fields ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		a := httptest.NewRecorder()
		h.ServeHTTP(a, r)
		return a
	}
	if _, err := os.Stat(filepath.Join(none, "corpus", "host")); err == nil {
		t.Error("pages of hosts were written above their limit")
	}
	compared := 0
	compare := func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		path, accept := "/"+name, "*/*"
		if page, ok := strings.CutSuffix(path, "/index.html"); ok {
			path, accept = page, "text/html"
		}
		want, got := ask(asFiles, path, "Accept", accept), ask(rendered, path, "Accept", accept)
		raw, err := os.ReadFile(filepath.Join(files, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if want.Code != http.StatusOK || got.Code != http.StatusOK || want.Body.String() != string(raw) ||
			got.Body.String() != string(raw) {
			t.Errorf("%s: %d as a file, %d rendered, and %d bytes for %d", path, want.Code, got.Code, got.Body.Len(),
				len(raw))
		}
		if size := templates.PageSize(raw); accept == "text/html" && size > templates.MostPage {
			t.Errorf("%s: %d bytes with its style, more than %d", path, size, templates.MostPage)
		}
		for _, field := range []string{"Etag", "Content-Type", "Cache-Control", "Link", "Vary", "Content-Location"} {
			if a, b := want.Header().Get(field), got.Header().Get(field); a != b {
				t.Errorf("%s: %s %q as a file, %q rendered", path, field, a, b)
			}
		}
		compared++
		return nil
	}
	for folder, want := range map[string]int{"corpus/host": 16 * 3, "corpus/week": 28 * 3, "running": 29} {
		compared = 0
		if err := fs.WalkDir(os.DirFS(files), folder, compare); err != nil || compared != want {
			t.Errorf("%s: %d answers were compared, want %d: %v", folder, compared, want, err)
		}
	}
	if a := ask(rendered, "/corpus/host/standing.example", "Accept", "text/html"); !strings.Contains(a.Body.String(),
		"<dt>2026</dt><dd>W37 ready") {
		t.Errorf("the page has no earlier rounds: %s", a.Body)
	}
	// The longest names there are, which stand at their digest.
	long := strings.Repeat(strings.Repeat("a", 61)+".", 4) + "aaaaa"
	for spelling, want := range map[string]string{long: derive.HostName(long), long[4:]: derive.HostName(long[4:]),
		"Standing.EXAMPLE": "standing.example", "standing.example.": "standing.example",
		"B%C3%BCcher.example": "xn--bcher-kva.example"} {
		for _, ext := range []string{"", ".json", "/index.md"} {
			a := ask(rendered, "/corpus/host/"+spelling+ext)
			if a.Code != http.StatusPermanentRedirect || a.Header().Get("Location") != "/corpus/host/"+want+ext {
				t.Errorf("%s%s: %d to %s", spelling, ext, a.Code, a.Header().Get("Location"))
			}
		}
	}
	for _, h := range []http.Handler{rendered, serve(files, s.renderers())} {
		a := ask(h, "/corpus/host/nobody.example", "Accept", "application/json")
		if a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), "/api/why/nobody.example") ||
			!strings.Contains(a.Body.String(), "/api/declare-door") {
			t.Errorf("nobody: %d %s", a.Code, a.Body)
		}
	}
}

// TestSpecimenHostPages renders the pages of the specimen's hosts and compares them with the
// published ones.
func TestSpecimenHostPages(t *testing.T) {
	site, err := LoadSpecimen()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..")
	c := &Config{BaseURL: site.Config.BaseURL, Record: filepath.Join(root, "corpus"),
		View: filepath.Join(t.TempDir(), "view"),
		Keys: KeysConfig{Identity: Specimen, Log: Specimen, Ring: Specimen}}
	s, _, err := openCounter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	published := os.DirFS(filepath.Join(root, "public", "corpus", "host"))
	hosts := 0
	for h, err := range s.archive.Now().Record.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		hosts++
		at := derive.HostName(h.Host)
		for name, mediaType := range map[string]string{at + "/index.html": api.HTML, at + "/index.md": api.Markdown,
			at + ".json": api.JSON} {
			want, err := fs.ReadFile(published, name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.hostPages.Render(t.Context(), at, mediaType)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is published with other bytes than are rendered: %v", name, err)
			}
		}
	}
	entries, err := fs.ReadDir(published, ".")
	if err != nil || len(entries) != 2*hosts || hosts < 40 {
		t.Errorf("%d entries of %d hosts: %v", len(entries), hosts, err)
	}
}
