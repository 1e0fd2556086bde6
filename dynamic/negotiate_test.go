package dynamic

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
)

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// agentRoutes are the pages that agents read, with their three files.
var agentRoutes = []string{"/fresh-set", "/registry", "/inflows", "/criteria", "/scorers", "/corpus/brief", "/what",
	"/menu/hello", "/conformance", "/corpus",
	"/defects", "/corpus/trajectory", "/deprecation", "/retired-words", "/corpus/tiers/1", "/corpus/host/shop.example"}

// An agent that says nothing of what it wants gets data, a person with a browser gets a page, and
// who asks for Markdown gets that; a cache can tell the three apart.
func TestAgentRoutesAnswerInThreeForms(t *testing.T) {
	files := map[string]string{"404.html": "-", "openapi.json": "openapi.json", "openapi.md": "openapi.md"}
	forms := map[string]string{"": api.JSON, "*/*": api.JSON, browser: api.HTML, "text/markdown": api.Markdown,
		"application/json":               api.JSON,
		"text/markdown;q=0.1, text/html": api.HTML, "application/json;q=0.5, text/markdown;q=0.9": api.Markdown,
		"text/html;q=0.2, */*;q=0.9": api.JSON, "application/*": api.JSON, "image/png": api.JSON}
	for _, route := range agentRoutes {
		for _, form := range []string{api.JSON, api.Markdown, api.HTML} {
			name := api.FileFor(route, form)
			files[name] = name
		}
	}
	s := newServer(t, Config{Site: openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", files), "")})
	vary := func(res *http.Response, what string) {
		t.Helper()
		if got := res.Header.Get("Vary"); got != "Accept, Accept-Encoding, User-Agent" {
			t.Errorf("%s: %d with Vary %q", what, res.StatusCode, got)
		}
	}
	for _, route := range agentRoutes {
		tags := make(map[string]string)
		for accept, form := range forms {
			var fields []string
			if accept != "" {
				fields = []string{"Accept", accept}
			}
			res := ask(t, s, "GET", route, fields...)
			want := api.FileFor(route, form)
			if got := body(t, res); res.StatusCode != 200 || got != want || res.Header.Get("Content-Type") != form {
				t.Errorf("%s as %q: %d %s as %s, want %s", route, accept, res.StatusCode, got,
					res.Header.Get("Content-Type"), want)
			}
			if form != api.HTML && res.Header.Get("Content-Location") != "/"+want {
				t.Errorf("%s as %q: it stands at %q", route, accept, res.Header.Get("Content-Location"))
			}
			vary(res, route+" as "+accept)
			tags[res.Header.Get("ETag")] = form
			vary(ask(t, s, "GET", route, append(fields, "If-None-Match", res.Header.Get("ETag"))...),
				route+" again as "+accept)
			// The bytes at the twin's own address are the same.
			if form != api.HTML && body(t, ask(t, s, "GET", "/"+want)) != want {
				t.Errorf("/%s is not what %s is as %q", want, route, accept)
			}
		}
		if len(tags) != 3 {
			t.Errorf("%s has %d entity tags for three forms", route, len(tags))
		}
		refused := ask(t, s, "GET", route, "Accept", "text/html;q=0, text/markdown;q=0, application/json;q=0")
		if refused.StatusCode != http.StatusNotAcceptable {
			t.Errorf("%s where all is refused: %d", route, refused.StatusCode)
		}
		vary(refused, route+" refused")
	}
	for accept, want := range map[string]string{"": "openapi.json", "text/markdown": "openapi.md",
		browser: "openapi.json"} {
		if res := ask(t, s, "GET", "/openapi.json", "Accept", accept); body(t, res) != want {
			t.Errorf("/openapi.json as %q is not %s", accept, want)
		}
	}
}

// Below /api/ nobody is refused for an Accept: who names no form that an address has gets JSON, and
// another form only where the address describes it.
func TestFormsBelowAPI(t *testing.T) {
	s := fullServer(t, Config{Rows: slices.Concat(testRows(), shopRows(t))})
	asked := 0
	for _, row := range route.Describe(s.Table()) {
		if row.Method != http.MethodGet || !strings.HasPrefix(row.Pattern, "/api/") {
			continue
		}
		types := map[string]bool{"application/problem+json": true, "application/json": true}
		for _, r := range row.Responses {
			kind, _, _ := strings.Cut(r.ContentType, ";")
			types[kind] = true
		}
		if types["text/markdown"] && !types["text/html"] {
			t.Errorf("%s has a twin and no page", row.Pattern)
		}
		if strings.Contains(row.Pattern, "{") && row.Name != "buy" {
			continue
		}
		asked++
		for _, accept := range []string{"text/markdown", "text/html", browser, "image/png", "application/json;q=0",
			"text/html;q=0, text/markdown;q=0, application/json;q=0"} {
			res := ask(t, s, "GET", strings.Replace(row.Pattern, "{item_id}", "hello", 1), "Accept", accept)
			kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
			wanted := strings.HasPrefix(accept, kind) || strings.HasPrefix(accept, "application/json;q=0")
			if res.StatusCode == http.StatusNotAcceptable || kind != "" && !types[kind] ||
				strings.HasPrefix(kind, "text/") && !wanted {
				t.Errorf("%s as %q: %d %s", row.Pattern, accept, res.StatusCode, kind)
			}
		}
	}
	if asked < 10 {
		t.Errorf("only %d addresses were asked", asked)
	}
}

// No document with a form for agents gives another one to who says nothing.
func TestDataComesFirst(t *testing.T) {
	for _, d := range api.Documents {
		for i, f := range d.Files {
			if f.MediaType == api.JSON && i > 0 && d.Serve == api.Negotiated {
				t.Errorf("%s gives %s to whoever says nothing", d.Path, strings.SplitN(d.Files[0].MediaType, ";", 2)[0])
			}
		}
		if d.Serve == api.Negotiated && len(d.Files) < 2 || d.Serve != api.Negotiated && d.Path != "" &&
			len(d.Files) > 1 {
			t.Errorf("%s is served as %s in %d forms", d.Path, d.Serve, len(d.Files))
		}
	}
}

// A good that is no longer sold is gone, in every form, and says what does its work now; and what
// may be a page or not says so to caches.
func TestRetiredGoodsAreGone(t *testing.T) {
	site := openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", testFiles()), "")
	specimen, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	site.current.Load().edition = &Edition{Site: specimen}
	s := newServer(t, Config{Site: site})
	for _, path := range []string{"/menu/sympathy_card", "/menu/sympathy_card.json", "/menu/sympathy_card.md"} {
		for _, accept := range []string{"", browser, "text/markdown"} {
			res := ask(t, s, "GET", path, "Accept", accept)
			if got := body(t, res); res.StatusCode != http.StatusGone ||
				!strings.Contains(got, `"folded_into":"small_blessing"`) ||
				res.Header.Get("Vary") != "Accept, Accept-Encoding, User-Agent" {
				t.Errorf("%s as %q: %d %s", path, accept, res.StatusCode, got)
			}
		}
	}
	for _, path := range []string{"/menu/never_sold", "/nothing", "/defects/nothing"} {
		for accept, kind := range map[string]string{"": "application/problem+json",
			browser: "text/html; charset=utf-8"} {
			res := ask(t, s, "GET", path, "Accept", accept)
			if res.StatusCode != http.StatusNotFound || res.Header.Get("Content-Type") != kind ||
				res.Header.Get("Vary") != "Accept, Accept-Encoding, User-Agent" {
				t.Errorf("%s as %q: %d %s, Vary %q", path, accept, res.StatusCode, res.Header.Get("Content-Type"),
					res.Header.Get("Vary"))
			}
		}
	}
}

// A keeper's own page is answered like any other, and what has no page stays nobody's.
func TestOwnPagesAreServed(t *testing.T) {
	files := testFiles()
	files["about/index.html"], files["about.md"] = "<p>about", "about"
	files["notes/first/index.html"], files["notes/first.md"] = "<p>first", "first"
	s := newServer(t, Config{Site: openTestSite(t, publish(t, t.TempDir(), "tree", base, "d1", files), "")})
	for accept, want := range map[string]string{"": "<p>about", browser: "<p>about", "text/markdown": "about"} {
		res := ask(t, s, "GET", "/about", "Accept", accept)
		if body(t, res) != want || res.Header.Get("Vary") != "Accept, Accept-Encoding, User-Agent" ||
			res.Header.Get("Cache-Control") != api.Short.Control() {
			t.Errorf("/about as %q: %d %v", accept, res.StatusCode, res.Header)
		}
	}
	for path, status := range map[string]int{"/about/": http.StatusPermanentRedirect, "/about.md": 200,
		"/notes/first": 200, "/notes/first.md": 200, "/notes": 404, "/contact": 404, "/contact.md": 404} {
		if res := ask(t, s, "GET", path); res.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, status)
		}
	}
	if res := ask(t, s, "GET", "/about", "Accept",
		"text/html;q=0, text/markdown;q=0"); res.StatusCode != http.StatusNotAcceptable {
		t.Errorf("/about where all is refused: %d", res.StatusCode)
	}
	if res := ask(t, s, "POST", "/contact"); res.StatusCode != http.StatusNotFound {
		t.Errorf("POST to nobody's address: %d", res.StatusCode)
	}
}
