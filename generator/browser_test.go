package generator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

// longHost is as long as a name may be (RFC 1035, section 2.3.4), in labels that no browser breaks.
var longHost = strings.Repeat(strings.Repeat("a", 61)+".", 4) + "exam1"

// onePageOfEach returns the address of a page of every document that has one, by the document's
// name, and where it matters the one that holds the longest names.
func onePageOfEach(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	pages := map[string]string{"host_long": derive.HostPath(longHost)}
	var files []string
	eachFile(t, tree, ".html", func(name string, _ []byte) { files = append(files, name) })
	for _, d := range api.Documents {
		for _, f := range d.Files {
			// A record of a few weeks has none that pages of hosts do not show.
			if f.MediaType != api.HTML || d.Name == "host_weeks" {
				continue
			}
			before, after, family := f.Path, "", false
			if i, j := strings.IndexByte(f.Path, '{'), strings.IndexByte(f.Path, '}'); i >= 0 {
				before, after, family = f.Path[:i], f.Path[j+1:], true
			}
			i := slices.IndexFunc(files, func(name string) bool {
				return name == f.Path || family && strings.HasPrefix(name, before) && strings.HasSuffix(name, after) &&
					path.Clean(name) != before+strings.TrimPrefix(after, "/")
			})
			if i < 0 {
				t.Errorf("%s has no page", d.Name)
				continue
			}
			pages[d.Name] = "/" + strings.TrimSuffix(files[i], "index.html")
		}
	}
	return pages
}

// pagesOnRequest are pages that no file holds, each with texts of a stranger that are as long as
// they come.
func pagesOnRequest(t *testing.T) map[string][]byte {
	t.Helper()
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: "https://store.example",
		Keeper: "Ada", PublicKey: strings.Repeat("ab", 32)})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 2000)
	reading := &templates.Reading{URL: "https://" + longHost + "/" + long, Host: longHost, Verdict: "not ready",
		Mark: "bad", Battery: "v2", Passed: 1, Asked: 2, Level: "L1", LevelMeaning: "answers",
		Fault: "door", ObservedAt: "2026-11-20T12:00:00Z", AlsoUnder: "not ready under battery v1", Method: "GET",
		Digest: strings.Repeat("ab", 32), Note: "One look.", Cannot: []string{"delivery"},
		Next: []string{"Look again."}, Checks: []templates.CheckLine{{Name: "status-402", State: "passed", Mark: "good",
			Detail: "402"}, {Name: "accepts", State: "failed", Mark: "bad", Detail: "network " + long}},
		Advisories: []templates.Fact{{Name: "payto-is-a-name", Value: long}},
		Remedies:   []templates.Fact{{Name: "accepts", Value: "Say a network."}},
		Evidence: templates.EvidenceView{Status: "HTTP 402", SHA256: strings.Repeat("cd", 32), Bytes: 2,
			Headers: []templates.Fact{{Name: long, Value: long}}, Raw: long, RawIs: "The terms"}}
	signed, err := attest.Certificate{CertID: "cert_aaaaaaaaaaaaaaaaaaaa", Item: "hello", PatronNumber: 7,
		Date: "2026-11-20", Name: long, Note: long, Saw: longHost, PaidUSDC: "0.5"}.Sign(attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	paper := templates.CertificatePaper(signed, "Store", "https://store.example/api/verify/cert_aaaaaaaaaaaaaaaaaaaa")
	out := map[string][]byte{}
	for at, made := range map[string]func() ([]byte, error){
		"/a/reading": func() ([]byte, error) {
			return templates.HTML(&templates.TryView{Chrome: chrome,
				Page: templates.Page{Title: "A reading of " + longHost, Path: "/try"}, Asked: reading.URL,
				Battery: "v2", Reading: reading})
		},
		"/a/refusal": func() ([]byte, error) {
			return templates.HTML(&templates.TryView{Chrome: chrome, Page: templates.Page{Title: "No reading",
				Path: "/try"}, Asked: long, Battery: "v2",
				Refusal: &templates.Refusal{Code: "target_refused", Title: "Not read", Says: long, Status: 400}})
		},
		"/a/certificate": func() ([]byte, error) {
			return templates.RenderCertificate(templates.CertificateView{Chrome: chrome, State: templates.StateValid,
				ID: "cert_aaaaaaaaaaaaaaaaaaaa", Paper: &paper,
				SignatureJCS: strings.Repeat("ab", 64), ArtifactHash: strings.Repeat("ab", 32)})
		},
		"/a/verification": func() ([]byte, error) {
			return templates.RenderCertificate(templates.CertificateView{Chrome: chrome,
				State: templates.StateUnknownID, ID: long})
		},
		"/a/porch": func() ([]byte, error) {
			return templates.HTML(&templates.PorchView{Chrome: chrome, Page: templates.Page{Title: "The porch",
				Path: "/porch"}, Line: strings.Repeat("quiet ", 26), Hour: "2026-11-20T20:00:00Z",
				Until: "2026-11-20T21:00:00Z", Weather: "fog", Seats: 8,
				Drawing: templates.Markup(drawing.Porch(20, "autumn", "showers", 8))})
		},
		"/a/sign": func() ([]byte, error) {
			return templates.HTML(&templates.SignView{Chrome: chrome, Page: templates.Page{Title: "The Key"},
				Address: "0x" + strings.Repeat("m", 42), Week: "2026-W53", Heading: "A week", Text: "One.\n\n" + long,
				Drawing: templates.Markup(drawing.Sign("key", "The Key"))})
		},
		"/a/words": func() ([]byte, error) {
			return templates.HTML(&templates.WordsView{Chrome: chrome, Page: templates.Page{Title: "Words"},
				Words: []templates.RetiredWord{{Word: long, Epitaph: long, Date: "2026-11-20"}}})
		},
	} {
		page, err := made()
		if err != nil {
			t.Fatal(err)
		}
		out[at] = page
	}
	return out
}

// TestSpecimenInABrowser has /verify check what the specimen key signed, on its own site: it holds,
// and it is called a specimen as loudly.
func TestSpecimenInABrowser(t *testing.T) {
	t.Parallel()
	_, tree := specimenSite.get(t)
	server := httptest.NewServer(http.FileServerFS(tree))
	defer server.Close()
	signed, err := attest.Certificate{CertID: "cert_aaaaaaaaaaaaaaaaaaaa", Item: "hello",
		Date: "2026-11-20"}.Sign(attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	paper, err := json.Marshal(signed)
	if err != nil {
		t.Fatal(err)
	}
	p := browser.Start(t).Open(server.URL+"/verify/", browser.Screen{Width: 390})
	var stamps []string
	for text, want := range map[string][]string{string(paper): {"verified good", "specimen bad"},
		strings.Replace(string(paper), "2026", "2027", 1): {"not verified bad", "specimen bad"}} {
		p.Eval(`(() => { found.replaceChildren(); const form = document.getElementById("paper");
			form.elements.id.value = `+strconv.Quote(text)+`; form.requestSubmit(); return 0; })()`, nil)
		p.Until(`document.getElementById("outcome") || said.textContent`)
		p.Eval(`[...document.querySelectorAll("#found .stamp")].map(e => e.textContent + " " + e.className.slice(6))`, &stamps)
		if !slices.Equal(stamps, want) {
			t.Errorf("of %s the page says %q, want %q", text, stamps, want)
		}
	}
}

// TestPagesInABrowser shows the largest tables and the longest names, and holds them against those
// rules of axe-core that the screen decides about.
func TestPagesInABrowser(t *testing.T) {
	showPages(t, []string{"home", "corpus", "host_long", "a/reading"}, "scrollable-region-focusable", "target-size")
}

// TestLongPagesInABrowser shows them all, and holds them against all rules.
func TestLongPagesInABrowser(t *testing.T) { showPages(t, nil) }

// showPages shows a page of each class that is chosen, or of all, light and dark, at the widths of
// a desk and of a small telephone. The record holds a host whose name is as long as a name can be:
// no page is wider than its screen, no list wider than its page, and axe-core finds nothing by the
// rules.
func showPages(t *testing.T, chosen []string, rules ...string) {
	t.Helper()
	b := browser.Start(t)
	in := specimenInput(t, t.TempDir())
	in.Corpus = corpustest.Write(t, 20, longHost)
	mustBuild(t, in)
	tree := os.DirFS(in.OutDir)
	pages := onePageOfEach(t, tree)
	files := http.FileServerFS(tree)
	onRequest := pagesOnRequest(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", templates.ContentSecurityPolicy())
		if page := onRequest[r.URL.Path]; page != nil {
			w.Header().Set("Content-Type", api.HTML)
			w.Write(page)
			return
		}
		files.ServeHTTP(w, r)
	}))
	// A page that leads on at once is gone while it is looked at; one that is missing is seen
	// below.
	maps.DeleteFunc(pages, func(_, at string) bool {
		body, _ := fs.ReadFile(tree, path.Join(strings.Trim(at, "/"), "index.html"))
		return bytes.Contains(body, []byte(`http-equiv="refresh"`))
	})
	for at := range onRequest {
		pages[strings.Trim(at, "/")] = at
	}
	defer server.Close()
	p := b.Open(server.URL+"/", browser.Screen{Width: 1440})
	if chosen != nil {
		maps.DeleteFunc(pages, func(name, _ string) bool { return !slices.Contains(chosen, name) })
		if len(pages) != len(chosen) {
			t.Fatalf("of %q there are %v", chosen, pages)
		}
	}
	for name, at := range pages {
		p.Show(browser.Screen{Width: 1440})
		p.Go(server.URL + at)
		var refused []string
		p.Eval(`(() => { const o = new ReportingObserver(() => {}, {types: ["csp-violation"], buffered: true});
			o.observe(); return o.takeRecords().map(r => r.body.effectiveDirective + " " + r.body.blockedURL) })()`, &refused)
		if len(refused) > 0 {
			t.Errorf("%s (%s): the policy refuses %v", name, at, refused)
		}
		for _, s := range []browser.Screen{{Width: 1440}, {Width: 1440, Dark: true}, {Width: 768, Dark: true},
			{Width: 320, Dark: true}, {Width: 320}} {
			p.Show(s)
			var size struct{ Page, Screen, Table, Box int }
			p.Eval(`(() => { const d = document.documentElement, wide = [...document.querySelectorAll(".wide")];
				const worst = wide.reduce((a, e) => e.scrollWidth - e.clientWidth > a.scrollWidth - a.clientWidth ? e : a, d);
				return {page: d.scrollWidth, screen: d.clientWidth, table: worst.scrollWidth, box: worst.clientWidth} })()`, &size)
			if size.Page > size.Screen {
				t.Errorf("%s at %+v: the page is %d wide", name, s, size.Page)
			}
			if s.Width == 1440 && size.Table > size.Box {
				t.Errorf("%s at %+v: a table of %d stands in a box of %d", name, s, size.Table, size.Box)
			}
			for _, found := range p.Axe(rules...) {
				t.Errorf("%s (%s) at %s: %s", name, at, fmt.Sprint(s), found)
			}
		}
	}
}
