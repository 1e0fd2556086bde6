package pagecheck

import (
	"encoding/json/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
)

var judged = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const right = `<!doctype html><html lang="en-GB"><head><title>A store for agents</title>
<meta name="description" content="Signed evidence about doors that sell to agents, kept week by week and free to read.">
<link rel="canonical" href="https://store.example/page"><script type="application/ld+json">{"@context":"https://schema.org"}</script></head>
<body><svg><title>not this one</title></svg><h1>Store</h1><h2>Shelf</h2><h3><img alt="One"></h3><h2 id="end">End</h2>
<a href="#end">end</a><a href="#top">top</a><a href="/elsewhere#x">elsewhere</a><a name="old"></a><a href="#old">old</a></body></html>`

func served(page string) exchange.Exchange {
	return exchange.Exchange{Request: exchange.Request{Method: "GET", URL: "https://store.example/page"},
		StartedAt: judged,
		Response: exchange.Response{Status: 200, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte(page)}}
}

func state(r Report, name string) State {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.State
		}
	}
	return ""
}

func TestARightPage(t *testing.T) {
	r := Judge(served(right))
	if r.Verdict != Pass || len(r.Fixes) != 0 || len(r.Checks) != len(rows) {
		t.Errorf("%+v", r)
	}
}

func TestEveryCheckFinds(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct {
		check, old, new string
		want            State
	}{
		{"title", "<title>A store for agents</title>", "", Fail},
		{"title", "<title>A store for agents</title>", "<title> </title>", Fail},
		{"title", "</title>", "</title><title>Another title here</title>", Warn},
		{"title-length", "A store for agents", "Shop", Warn},
		{"title-length", "A store for agents", strings.Repeat("é", 66), Warn},
		{"title-length", "A store for agents", strings.Repeat("é", 65), Pass},
		{"meta-description", `name="description"`, `name="x"`, Fail},
		{"meta-description", `<meta`, `<meta name="Description" content="x"><meta`, Warn},
		{"description-length", "Signed evidence about doors that sell to agents", "Signed", Warn},
		{"description-length", "Signed", strings.Repeat("Signed ", 30), Warn},
		{"canonical", `rel="canonical"`, `rel="next"`, Warn},
		{"canonical", `https://store.example/page"`, `/page"`, Warn},
		{"canonical", `https://store.example/page"`, `https://other.example/page"`, Warn},
		{"canonical", `https://store.example/page"`, `https://store.example/other"`, Warn},
		{"canonical", `https://store.example/page"`, `https://store.example/page/"`, Pass},
		{"canonical", `<link`, `<link rel="Canonical" href="https://store.example/2"><link`, Fail},
		{"structured-data", `application/ld+json`, `text/javascript`, Warn},
		{"structured-data", `{"@context":"https://schema.org"}`, `{"@context":}`, Fail},
		{"structured-data", `{"@context":"https://schema.org"}`, `"text"`, Fail},
		{"structured-data", `<script type="application/ld+json">{"@context":"https://schema.org"}</script>`,
			`<div itemscope itemtype="https://schema.org/Thing"></div>`, Pass},
		{"robots-noindex", `<meta`, `<meta name="robots" content="nofollow, NOINDEX"><meta`, Warn},
		{"robots-noindex", `<meta`, `<meta name="robots" content="index"><meta`, Pass},
		{"heading-shape", "<h1>Store</h1>", "", Warn},
		{"heading-shape", "<h1>Store</h1>", "<h1>Store</h1><h1>Shop</h1>", Warn},
		{"heading-shape", "<h2>Shelf</h2>", "", Warn},
		{"heading-shape", `<img alt="One">`, `<img>`, Warn},
		{"lang", ` lang="en-GB"`, ``, Warn},
		{"lang", `en-GB`, `English (UK)`, Warn},
		{"dead-anchors", `id="end"`, ``, Warn},
		{"dead-anchors", `href="/elsewhere#x"`, `href="#"`, Warn},
		{"dead-anchors", `href="/elsewhere#x"`, `href="JavaScript:void(0)"`, Warn},
		{"dead-anchors", `<link`, `<base href="/"><link`, NotReached},
		{"large-body", "</body>", strings.Repeat(" ", largeBody) + "</body>", Warn},
		{"serves-html", right, "plain text", Fail},
		{"serves-html", right, "", Fail},
	} {
		page := strings.Replace(right, c.old, c.new, 1)
		if page == right {
			t.Fatalf("%s: %q changes nothing", c.check, c.old)
		}
		r := Judge(served(page))
		if got := state(r, c.check); got != c.want {
			t.Errorf("%s with %.60q: %s, want %s", c.check, c.new, got, c.want)
		}
		if c.want == Warn || c.want == Fail {
			seen[c.check] = true
			if r.Verdict != c.want && r.Verdict != Fail || len(r.Fixes) == 0 {
				t.Errorf("%s with %.60q: verdict %s, fixes %v", c.check, c.new, r.Verdict, r.Fixes)
			}
		}
	}
	for _, row := range Battery() {
		if !seen[row.Name] {
			t.Errorf("%s was never seen to find anything", row.Name)
		}
		if row.Asks == "" || row.Reason == "" || row.Fix == "" {
			t.Errorf("row %+v", row)
		}
	}
}

func TestWhatIsNoPage(t *testing.T) {
	x := served(right)
	x.Response.Header.Set("X-Robots-Tag", "googlebot: noindex")
	if r := Judge(x); state(r, "robots-noindex") != Warn {
		t.Errorf("X-Robots-Tag: %+v", r)
	}
	x.Response.Header.Set("Content-Type", "application/json")
	if r := Judge(x); r.Verdict != Fail || state(r, "title") != NotReached {
		t.Errorf("JSON: %+v", r)
	}
	x.Response.Status = 404
	if r := Judge(x); r.Verdict != Fail {
		t.Errorf("404: %+v", r)
	}
	for _, status := range []int{0, 503} {
		x.Response.Status = status
		if r := Judge(x); r.Verdict != Unreachable || len(r.Checks) != len(rows) {
			t.Errorf("%d: %+v", status, r)
		}
	}
}

func TestStep(t *testing.T) {
	c := Checker{URL: "https://store.example/page"}
	if _, next, err := c.Step(nil); err != nil || next == nil || next.Kind != "get" {
		t.Errorf("asked for %+v, %v", next, err)
	}
	if r, next, err := c.Step([]exchange.Exchange{served(right)}); err != nil || next != nil ||
		!r.ObservedAt.Equal(judged) {
		t.Errorf("%+v, %+v, %v", r, next, err)
	}
}

func TestReadingIsBounded(t *testing.T) {
	p := read([]byte(strings.Repeat("<a href=#x>", 2*MaxTokens)))
	if !p.cut || p.elements > MaxTokens || len(p.fragments) > maxAnchors {
		t.Errorf("%d elements, %d fragments", p.elements, len(p.fragments))
	}
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte(right), "text/html")
	f.Add([]byte(`<svg><title></svg></title><h1><script type="application/ld+json">`), "text/html")
	f.Add([]byte("<!--\x00<a href=#%zz name=\xff>"), "application/xhtml+xml")
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		x := served("")
		x.Response.Body = body
		x.Response.Header.Set("Content-Type", kind)
		r := Judge(x)
		if _, err := json.Marshal(r); err != nil || len(r.Checks) != len(rows) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
