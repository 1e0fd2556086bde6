package dynamic

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/problem"
)

// ghostwriter makes the files of one page of the test site.
type ghostwriter struct{ asked *[]string }

func (ghostwriter) Canonical(value string) string { return strings.ToLower(value) }

func (g ghostwriter) Render(_ context.Context, value, mediaType string) ([]byte, error) {
	*g.asked = append(*g.asked, value+" "+mediaType)
	if value != "hello" && value != "hello.json" {
		return nil, &problem.Error{Code: "not_found", Detail: "no such thing", Next: "ask for another"}
	}
	files := testFiles()
	return []byte(map[string]string{api.JSON: files["menu/hello.json"], api.Markdown: files["menu/hello.md"],
		api.HTML: files["menu/hello/index.html"]}[mediaType]), nil
}

// TestRenderedPagesAnswerAsFilesDo compares a server whose tree holds a page with one that renders
// it.
func TestRenderedPagesAnswerAsFilesDo(t *testing.T) {
	files := testFiles()
	var asked []string
	whole := newServer(t, Config{Site: openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", files), "")})
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, "menu/") })
	lacking := newServer(t, Config{Site: openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", files), ""),
		Renderers: map[string]Renderer{"menu_item": ghostwriter{&asked}}})
	etag := ask(t, whole, http.MethodGet, "/menu/hello.md").Header.Get("Etag")
	if etag == "" {
		t.Fatal("no ETag to compare")
	}
	for _, path := range []string{"/menu/hello", "/menu/hello.md", "/menu/hello.json", "/menu/hello/",
		"/menu/hello/index.html", "/menu/hello/x"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
			for _, fields := range [][]string{nil, {"Accept", "text/markdown"}, {"Accept", "text/html,*/*;q=0.5"},
				{"Accept", "text/html;q=0, application/json;q=0, text/markdown;q=0"},
				{"If-None-Match", etag}, {"Range", "bytes=1-3"}, {"Range", "bytes=900-"}, {"If-Match", `"x"`},
				{"Accept-Encoding", "br, gzip"}} {
				want, got := ask(t, whole, method, path, fields...), ask(t, lacking, method, path, fields...)
				for _, h := range []http.Header{want.Header, got.Header} {
					h.Del("X-Request-Id")
				}
				name := method + " " + path + " " + strings.Join(fields, ": ")
				if want.StatusCode != got.StatusCode {
					t.Errorf("%s: %d, want %d", name, got.StatusCode, want.StatusCode)
				}
				if want.StatusCode == http.StatusMethodNotAllowed || want.StatusCode == http.StatusNotFound {
					continue
				}
				// Whole answers are written to a client of a file without the server knowing
				// whether it will be compared.
				if diff := cmp.Diff(want.Header, got.Header,
					cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["Accept-Ranges"]` },
						cmp.Ignore())); diff != "" {
					t.Errorf("%s (-file +rendered):\n%s", name, diff)
				}
				if diff := cmp.Diff(body(t, want), body(t, got)); diff != "" && want.StatusCode < 400 {
					t.Errorf("%s (-file +rendered):\n%s", name, diff)
				}
			}
		}
	}
	if !slices.Contains(asked, "hello "+api.HTML) || !slices.Contains(asked, "hello "+api.JSON) ||
		!slices.Contains(asked, "hello "+api.Markdown) {
		t.Errorf("asked for %v", asked)
	}
}

func TestRenderedPagesHaveOneSpelling(t *testing.T) {
	thing := api.Document{Name: "thing", Path: "/things/{name}", Summary: "A thing.", Serve: api.Negotiated,
		Cache: api.Short,
		Params: []api.Param{{Name: "name", In: api.Path, Type: "string", Required: true, MaxLength: 200,
			Description: "its name"}},
		Files: []api.Representation{{MediaType: api.HTML, Path: "things/{name}/index.html"},
			{MediaType: api.Markdown, Path: "things/{name}/index.md"},
			{MediaType: api.JSON, Path: "things/{name}.json"}}}
	site, err := OpenSite(SiteConfig{Pointer: publish(t, t.TempDir(), "tree", base, "d1", testFiles()),
		Ring: attest.SpecimenRing(), BaseURL: base,
		Documents: []api.Document{thing}})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	s := newServer(t, Config{Site: site, Renderers: map[string]Renderer{"thing": ghostwriter{&asked}}})
	for path, want := range map[string]string{"/things/HELLO": "/things/hello",
		"/things/Hello.json": "/things/hello.json", "/things/hellO/index.md": "/things/hello/index.md",
		"/things/HELLO/": "/things/HELLO", "/things/b%C3%BCcher": "/things/b%C3%BCcher"} {
		res := ask(t, s, http.MethodGet, path)
		if path == want {
			if res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", path, res.StatusCode)
			}
			continue
		}
		if res.StatusCode != http.StatusPermanentRedirect || res.Header.Get("Location") != want {
			t.Errorf("%s: %d to %q, want %q", path, res.StatusCode, res.Header.Get("Location"), want)
		}
	}
	if len(asked) != 1 {
		t.Errorf("rendered %v on the way", asked)
	}
	// A name with dots has its own files, whatever it ends with.
	asked = nil
	for path, mediaType := range map[string]string{"/things/hello": api.HTML, "/things/hello.json": api.JSON,
		"/things/hello/index.md": api.Markdown} {
		if res := ask(t, s, http.MethodGet, path); res.StatusCode != http.StatusOK ||
			res.Header.Get("Content-Type") != mediaType {
			t.Errorf("%s: %d as %s", path, res.StatusCode, res.Header.Get("Content-Type"))
		}
	}
	res := ask(t, s, http.MethodGet, "/things/hello.example.json")
	if !slices.Contains(asked, "hello.example "+api.JSON) || res.StatusCode != http.StatusNotFound ||
		!strings.Contains(body(t, res), "ask for another") {
		t.Errorf("an unknown value: %d, asked for %v", res.StatusCode, asked)
	}
	// What follows a name is no part of its length.
	for n, status := range map[int]int{200: http.StatusPermanentRedirect, 201: http.StatusNotFound} {
		long := strings.Repeat("LONG.", 40) + strings.Repeat("X", n-200)
		for _, tail := range []string{"", ".json", "/index.md"} {
			res := ask(t, s, http.MethodGet, "/things/"+long+tail)
			if res.StatusCode != status || status == http.StatusPermanentRedirect &&
				res.Header.Get("Location") != "/things/"+strings.ToLower(long)+tail ||
				status == http.StatusNotFound && !strings.Contains(body(t, res), "name is longer than 200 characters") {
				t.Errorf("a name of %d bytes and %q: %d to %q", n, tail, res.StatusCode, res.Header.Get("Location"))
			}
		}
	}
	// A document without a renderer is what its tree holds.
	if res := ask(t, s, http.MethodGet, "/problems/unknown"); res.StatusCode != http.StatusNotFound {
		t.Errorf("another document: %d", res.StatusCode)
	}
}
