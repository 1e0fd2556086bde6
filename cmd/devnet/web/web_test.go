package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/web"
)

const head = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A page</title>`

// TestMarkupComplains gives html-validate a good page and pages with one mistake each.
func TestMarkupComplains(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{"good": `<p id="2026-W01">Text.</p>`, "id": `<p id="a">x</p><p id="a">y</p>`,
		"nested": "<p><ul><li>x</li></ul></p>", "button": "<button>x</button>", "entity": "<p>a &b; c</p>"} {
		page := head + "</head><body>" + body + "</body></html>\n"
		if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := strings.Join(web.Markup(t, dir), "\n")
	for _, want := range []string{"id.html:", "no-dup-id", "nested.html:", "button.html:", "entity.html:"} {
		if !strings.Contains(found, want) {
			t.Errorf("%s is not among\n%s", want, found)
		}
	}
	if strings.Contains(found, "good.html") {
		t.Errorf("a good page:\n%s", found)
	}
}

// TestSharedComplains gives the tool a page that says nothing of itself, and one that is not meant
// to be found.
func TestSharedComplains(t *testing.T) {
	dir := t.TempDir()
	for name, more := range map[string]string{"bare": "", "hidden": `<meta name="robots" content="noindex">`} {
		page := []byte(head + more + "</head></html>")
		if err := os.WriteFile(filepath.Join(dir, name+".html"), page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := strings.Join(web.Shared(t, dir), "\n")
	for _, want := range []string{"og:title", "og:type", "og:url", "og:image"} {
		if !strings.Contains(found, "bare.html: \""+want) {
			t.Errorf("%s is not among\n%s", want, found)
		}
	}
	if strings.Contains(found, "hidden.html") {
		t.Errorf("of a page that is not meant to be found:\n%s", found)
	}
}

// TestLongLighthouseComplains gives Lighthouse a page with a mistake for each category.
func TestLongLighthouseComplains(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(head + `</head><body><p style="color:#999;background:#aaa">Faint words.</p>
			<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><script>console.error("x"); throw new Error("y")</script></body></html>`))
	}))
	defer s.Close()
	want := []string{web.Accessibility, web.BestPractices, web.SEO}
	scores := web.Lighthouse(t, want, nil, []string{s.URL})
	if len(scores) != len(want) {
		t.Fatalf("scores: %+v", scores)
	}
	for _, got := range scores {
		if !slices.Contains(want, got.Category) || got.Score < 0 || got.Score >= 95 || len(got.Less) == 0 {
			t.Errorf("%+v", got)
		}
	}
}
