package generator

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"store.example/agentstore/content/api"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/templates"
)

func eachFile(t *testing.T, tree fs.FS, ext string, do func(name string, body []byte)) {
	t.Helper()
	n := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ext {
			return err
		}
		body, err := fs.ReadFile(tree, name)
		n++
		do(name, body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatalf("no %s files", ext)
	}
}

// described are the dynamic routes that pages may link to.
var described = regexp.MustCompile(
	`^(/api/((buy|verify)/[a-z0-9_]+|practice/[a-z0-9-]+|claims(/challenge)?)|/(almanac|gazette|tips)/[a-z0-9-]+|/porch(/line)?|/zodiac/archive/[a-z]+/week-[0-9W-]+|/corpus/host/[a-z0-9.-]+/feed\.xml|/badge/(host|check)\.svg)$`)

// resolves reports whether a link from a page leads somewhere.
func resolves(tree fs.FS, base, from, href string) (string, bool) {
	u, err := url.Parse(href)
	if err != nil {
		return "", false
	}
	if u.Scheme == "mailto" {
		return "", true
	}
	if rest, ours := strings.CutPrefix(href, base); ours {
		if u, err = url.Parse(rest); err != nil {
			return "", false
		}
	} else if u.IsAbs() {
		return "", false // pages link to nothing outside
	}
	p := u.Path
	switch {
	case p == "":
		p = from
	case p[0] != '/':
		p = path.Join(path.Dir(from), p)
	}
	if described.MatchString(p) {
		return "", true
	}
	name := strings.Trim(p, "/")
	if name == "" {
		name = "."
	}
	for _, file := range []string{name, path.Join(name, "index.html")} {
		if info, err := fs.Stat(tree, file); err == nil && !info.IsDir() {
			if u.Fragment == "" || file == "corpus/query/index.html" && strings.HasPrefix(u.Fragment, "q=") {
				return file, true // a link there may bring a question
			}
			body, err := fs.ReadFile(tree, file)
			return file, err == nil && bytes.Contains(body, []byte(` id="`+u.Fragment+`"`))
		}
	}
	return "", false
}

func TestLinksOfAllPagesResolve(t *testing.T) {
	site, tree := specimenSite.get(t)
	base := site.Config.BaseURL
	eachFile(t, tree, ".html", func(name string, body []byte) {
		from := "/" + strings.TrimSuffix(strings.TrimSuffix(name, "index.html"), "/")
		walkHTML(parsePage(t, name, body), func(n *html.Node) {
			for _, key := range []string{"href", "src"} {
				if href := attribute(n, key); href != "" {
					if _, ok := resolves(tree, base, from, href); !ok {
						t.Errorf("%s: %s leads nowhere", name, href)
					}
				}
			}
		})
	})
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	check := func(name string, body []byte) {
		for _, m := range link.FindAllSubmatch(body, -1) {
			if _, ok := resolves(tree, base, "/"+name, string(m[1])); !ok {
				t.Errorf("%s: %s leads nowhere", name, m[1])
			}
		}
	}
	eachFile(t, tree, ".md", check)
	eachFile(t, tree, ".txt", check)
}

func parsePage(t *testing.T, name string, body []byte) *html.Node {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

func walkHTML(n *html.Node, do func(*html.Node)) {
	if n.Type == html.ElementNode {
		do(n)
	}
	for c := range n.ChildNodes() {
		walkHTML(c, do)
	}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// balanced demands that every element is closed where it was opened, which the
// parser would silently repair.
func balanced(body []byte) error {
	void := []atom.Atom{atom.Meta, atom.Link, atom.Br, atom.Hr, atom.Img, atom.Input, atom.Source, atom.Col}
	var open []string
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				return fmt.Errorf("%v are never closed", open)
			}
			return nil
		case html.StartTagToken:
			tok := z.Token()
			if !slices.Contains(void, tok.DataAtom) {
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			tok := z.Token()
			if len(open) == 0 || open[len(open)-1] != tok.Data {
				return fmt.Errorf("</%s> closes %v", tok.Data, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// TestPagesAreWellFormed checks what a reader, a screen reader and a text
// browser rely on.
func TestPagesAreWellFormed(t *testing.T) {
	_, tree := specimenSite.get(t)
	eachFile(t, tree, ".html", func(name string, body []byte) {
		if err := balanced(body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if size := templates.PageSize(body); size > templates.MostPage {
			t.Errorf("%s: %d bytes with its style, more than %d", name, size, templates.MostPage)
		}
		count := map[string]int{}
		ids := map[string]bool{}
		level := 0
		walkHTML(parsePage(t, name, body), func(n *html.Node) {
			count[n.Data]++
			if id := attribute(n, "id"); id != "" {
				if ids[id] {
					t.Errorf("%s: id %s stands twice", name, id)
				}
				ids[id] = true
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
					t.Errorf("%s: <%s %s>, which the policy forbids", name, n.Data, a.Key)
				}
			}
			switch n.Data {
			case "html":
				if attribute(n, "lang") == "" {
					t.Errorf("%s: no language", name)
				}
			case "title":
				if n.Parent.Data == "head" && text(n) == "" {
					t.Errorf("%s: empty title", name)
				}
			case "script", "form":
				// A good has its order, and a script by which a wallet pays. An instrument
				// has a form, and a script that adds to it, and so has the page that checks
				// papers, and the one that asks the record. The record has a search, the
				// guide to MCP offers its tools to a browser's agent.
				if attribute(n, "type") == "application/ld+json" {
					break // data, which TestSharing reads
				}
				does := n.Data + " " + attribute(n, "action") + attribute(n, "src")
				want := map[string][]string{"try/index.html": {"form /try", "script /try.js"},
					"holds/index.html":        {"form ", "script /reclaim.js"},
					"verify/index.html":       {"form /api/verify", "script /verify/papers.js"},
					"corpus/query/index.html": {"form ", "script /corpus/query.js"},
					"corpus/index.html":       {"script ../search.js"},
					"search/index.html":       {"form /search", "script ../search.js"},
					"404.html":                {"script /search.js"},
					"mcp/index.html":          {"script /webmcp.js", "script /webmcp-demo.js"}}[name]
				if good, of := strings.CutPrefix(path.Dir(name), "menu/"); of {
					want = []string{"form /api/buy/" + good, "script /door.js"}
				}
				if !slices.Contains(want, does) && does != "script /copy.js" {
					t.Errorf("%s: a %s", name, n.Data)
				}
			case "iframe", "object":
				t.Errorf("%s: a %s", name, n.Data)
			case "img":
				if attribute(n, "alt") == "" {
					t.Errorf("%s: a picture without words", name)
				}
			case "svg":
				// A mark of a legend has its words beside it.
				if attribute(n, "aria-hidden") != "true" &&
					(attribute(n, "role") != "img" || !strings.Contains(text(n), " ")) {
					t.Errorf("%s: a drawing without role or title", name)
				}
			case "table":
				if first := n.FirstChild; first == nil || !hasChild(n, "caption") || !hasChild(n, "thead") {
					// A table of the keeper's prose has no caption; its heading stands above it.
					if !hasClass(n.Parent, "prose") {
						t.Errorf("%s: a table without caption or head", name)
					}
				}
			case "a":
				if text(n) == "" {
					t.Errorf("%s: a link without words", name)
				}
			case "h1", "h2", "h3", "h4":
				this := int(n.Data[1] - '0')
				if this > level+1 {
					t.Errorf("%s: <%s> %q after a heading of level %d", name, n.Data, text(n), level)
				}
				level = this
			}
		})
		for _, one := range []string{"h1", "main", "nav", "title"} {
			want := 1
			if one == "nav" { // contents beside a page are navigation too
				want += bytes.Count(body, []byte(`<details class="contents`))
			}
			if one == "title" { // those of drawings are titles too
				if count[one] < want {
					t.Errorf("%s: no title", name)
				}
				continue
			}
			if count[one] != want {
				t.Errorf("%s: %d <%s>, want 1", name, count[one], one)
			}
		}
		if !bytes.Contains(body, []byte(`<footer class="foot">`)) ||
			!bytes.Contains(body, []byte(`<header class="shop">`)) {
			t.Errorf("%s: no header or footer", name)
		}
	})
}

func hasChild(n *html.Node, name string) bool {
	for c := range n.ChildNodes() {
		if c.Data == name {
			return true
		}
	}
	return false
}

func hasClass(n *html.Node, class string) bool {
	return n != nil && slices.Contains(strings.Fields(attribute(n, "class")), class)
}

// fact is what a twin must repeat: amounts, ids and addresses.
var fact = regexp.MustCompile(`\b\d+(?:\.\d+)?\b|\b[a-z]+(?:_[a-z0-9]+)+\b|https?://[^\s"'<>)\]` + "`" + `]+`)

// TestTwinsSayTheSame takes every number, id and address of a page's main part
// and looks for it in its Markdown twin, in the same order of headings.
func TestTwinsSayTheSame(t *testing.T) {
	_, tree := specimenSite.get(t)
	checked := 0
	eachFile(t, tree, ".html", func(name string, body []byte) {
		twin := strings.TrimSuffix(strings.TrimSuffix(name, "index.html"), "/") + ".md"
		if name == "index.html" {
			twin = "index.md"
		}
		if host, ok := strings.CutPrefix(name, "corpus/host/"); ok {
			twin = "corpus/host/" + strings.TrimSuffix(host, ".html") + ".md"
		}
		md, err := fs.ReadFile(tree, twin)
		if err != nil {
			if name != "404.html" {
				t.Errorf("%s has no twin: %v", name, err)
			}
			return
		}
		checked++
		var main *html.Node
		var headings []string
		walkHTML(parsePage(t, name, body), func(n *html.Node) {
			if n.Data == "main" {
				main = n
			}
			if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] <= '6' && n.Data != "hr" {
				headings = append(headings, text(n))
			}
		})
		for _, svg := range elements(main, "svg") {
			svg.Parent.RemoveChild(svg)
		}
		known := map[string]bool{}
		for _, f := range fact.FindAllString(string(md), -1) {
			known[strings.TrimRight(f, ".,")] = true
		}
		for _, f := range fact.FindAllString(text(main), -1) {
			if f = strings.TrimRight(f, ".,"); !known[f] && !strings.Contains(string(md), f) {
				t.Errorf("%s says %q, %s does not", name, f, twin)
			}
		}
		at := 0
		plain := strings.NewReplacer("`", "", "*", "").Replace(string(md))
		for _, h := range headings {
			i := strings.Index(plain[at:], "# "+h)
			if i < 0 {
				t.Errorf("%s: heading %q is not in %s after the one before it", name, h, twin)
				continue
			}
			at += i
		}
	})
	if checked < 40 {
		t.Errorf("only %d pages have a twin", checked)
	}
}

func elements(n *html.Node, name string) []*html.Node {
	var found []*html.Node
	walkHTML(n, func(c *html.Node) {
		if c.Data == name {
			found = append(found, c)
		}
	})
	return found
}

// TestLLMsGrammar follows the reference parser: one title, a quoted summary,
// then sections that hold nothing but links.
func TestLLMsGrammar(t *testing.T) {
	_, tree := specimenSite.get(t)
	body, err := fs.ReadFile(tree, "llms.txt")
	if err != nil {
		t.Fatal(err)
	}
	full, err := fs.ReadFile(tree, "llms-full.txt")
	if err != nil || !bytes.Equal(body, full) {
		t.Errorf("llms-full.txt differs from llms.txt: %v", err)
	}
	item := regexp.MustCompile(`^- \[[^\]]+\]\(https://[^)\s]+\): \S.*$`)
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	if !strings.HasPrefix(lines[0], "# ") || lines[1] != "" || !strings.HasPrefix(lines[2], "> ") {
		t.Errorf("it begins %q", lines[:3])
	}
	sections, items := 0, 0
	for i, line := range lines[3:] {
		switch {
		case strings.HasPrefix(line, "## "):
			sections++
		case strings.HasPrefix(line, "#"):
			t.Errorf("line %d: another heading: %s", i+4, line)
		case sections > 0 && line != "":
			items++
			if !item.MatchString(line) {
				t.Errorf("line %d is no link: %s", i+4, line)
			}
		}
	}
	if sections < 3 || items < 20 {
		t.Errorf("%d sections with %d links", sections, items)
	}
}

func TestMenuFeedHoldsTheShelf(t *testing.T) {
	site, tree := specimenSite.get(t)
	var menu pages.MenuDocument
	readJSON(t, tree, "menu.json", &menu)
	if len(menu.Items) != len(site.Goods) {
		t.Fatalf("%d items, want %d", len(menu.Items), len(site.Goods))
	}
	for i, g := range site.Goods {
		it := menu.Items[i]
		if it.ID != g.ID || it.PriceAtomic != g.Price || it.BuyURL != site.Config.BaseURL+"/api/buy/"+g.ID ||
			len(it.Tiers) != len(g.Tiers()) {
			t.Errorf("item %d is %+v", i, it)
		}
		var one pages.ItemDocument
		readJSON(t, tree, "menu/"+g.ID+".json", &one)
		if one.ID != g.ID || one.PriceUSDC != g.PriceUSDC() || one.Body == "" || len(one.HowToBuy) == 0 {
			t.Errorf("menu/%s.json: %+v", g.ID, one.MenuItem)
		}
	}
}

// TestHeaderRulesCoverEveryDocument looks for a rule for each route, and for
// what a content network must not mix up.
func TestHeaderRulesCoverEveryDocument(t *testing.T) {
	_, tree := specimenSite.get(t)
	body, err := fs.ReadFile(tree, "_headers")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	var at string
	for line := range strings.Lines(string(body)) {
		if !strings.HasPrefix(line, " ") {
			at = strings.TrimSpace(line)
			continue
		}
		rules[at] += line
	}
	for _, d := range api.Documents {
		if d.Path == "" || d.TreeOnly {
			continue
		}
		rule := rules[pages.Placeholders(d.Path)]
		if !strings.Contains(rule, "Cache-Control: "+d.Cache.Control()) {
			t.Errorf("%s has the rule %q", d.Path, rule)
		}
		negotiated := d.Serve == api.Negotiated
		if negotiated != strings.Contains(rule, "CDN-Cache-Control: no-store") || negotiated != strings.Contains(rule,
			"Vary: Accept, ") {
			t.Errorf("%s, negotiated %v, has the rule %q", d.Path, negotiated, rule)
		}
	}
}

// TestHeaderRulesGiveEachFileItsOwn reads _headers as a content network does, which applies every
// rule that fits an address, in order, and joins what two of them say: each file of the tree must
// come to the caching of its own document alone. What may be withdrawn is not to be kept for a year
// because a round beside it is.
func TestHeaderRulesGiveEachFileItsOwn(t *testing.T) {
	_, tree := specimenSite.get(t)
	body, err := fs.ReadFile(tree, "_headers")
	if err != nil {
		t.Fatal(err)
	}
	type field struct{ name, value string }
	type rule struct {
		fits   *regexp.Regexp
		fields []field
	}
	var rules []rule
	var seen string
	for line := range strings.Lines(string(body)) {
		line, indented := strings.TrimRight(line, "\n"), strings.HasPrefix(line, " ")
		if !indented {
			if strings.Contains("\n"+seen, "\n"+line+"\n") {
				t.Errorf("%s has two rules, of which a network keeps the last", line)
			}
			seen += line + "\n"
			fits := strings.ReplaceAll(regexp.QuoteMeta(line), `\*`, ".*")
			rules = append(rules, rule{fits: regexp.MustCompile("^" +
				regexp.MustCompile(`:[a-z_]\w*`).ReplaceAllString(fits, "[^/]+") + "$")})
			continue
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		last := &rules[len(rules)-1]
		last.fields = append(last.fields, field{name, value})
	}
	at := func(address, name string) string {
		var said []string
		for _, r := range rules {
			if !r.fits.MatchString(address) {
				continue
			}
			for _, f := range r.fields {
				switch f.name {
				case "! " + name:
					said = nil
				case name:
					said = append(said, f.value)
				}
			}
		}
		return strings.Join(said, ", ")
	}
	for file, want := range map[string]struct{ cache, mediaType string }{
		"/corpus/12.json":                     {api.Immutable.Control(), api.JSON},
		"/corpus/wallet-facts.json":           {api.Short.Control(), api.JSON},
		"/corpus/tiers.json":                  {api.Short.Control(), api.JSON},
		"/corpus/feed.json":                   {api.Short.Control(), api.JSON},
		"/corpus/feed/1.json":                 {api.Immutable.Control(), api.JSON},
		"/corpus/index.json":                  {api.Short.Control(), api.JSON},
		"/corpus/host/door.example.json":      {api.Short.Control(), api.JSON},
		"/corpus/search.json":                 {api.Short.Control(), api.JSON},
		"/corpus/search/0.json":               {api.Short.Control(), api.JSON},
		"/corpus/words/ab.json":               {api.Checked.Control(), api.JSON},
		"/corpus/evidence/12-0.index.json":    {api.Checked.Control(), api.JSON},
		"/corpus/evidence/12-0.jsonl.gz":      {api.Checked.Control(), api.Gzip},
		"/corpus/bulk/rows-2026-W46.csv.gz":   {api.Checked.Control(), api.Gzip},
		"/corpus/bulk/rows-2026-W46.parquet":  {api.Checked.Control(), api.Parquet},
		"/corpus/bulk/rows-2026.sqlite":       {api.Checked.Control(), api.SQLite},
		"/corpus/bulk/dictionary.json":        {api.Checked.Control(), api.JSON},
		"/corpus/log/checkpoint":              {api.Checked.Control(), api.PlainText},
		"/corpus/log-list":                    {api.Checked.Control(), api.PlainText},
		"/corpus/log-policy":                  {api.Checked.Control(), api.PlainText},
		"/corpus/headers/3.json":              {api.Immutable.Control(), api.JSON},
		"/corpus/hosts/3/tile/0/000":          {api.Immutable.Control(), api.Binary},
		"/corpus/keys.json":                   {api.Checked.Control(), api.JSON},
		"/corpus/log/tile/0/000":              {api.Immutable.Control(), api.Binary},
		"/corpus.git/objects/pack/p.pack":     {api.Immutable.Control(), api.Binary},
		"/corpus.git/info/refs":               {api.Checked.Control(), api.PlainText},
		"/menu/hello.json":                    {api.Short.Control(), api.JSON},
		"/menu/hello.md":                      {api.Short.Control(), api.Markdown},
		"/okf/index.md":                       {api.Short.Control(), api.Markdown},
		"/.well-known/manifest/corpus.json":   {api.Checked.Control(), api.JSON},
		"/verify/worker.js":                   {api.Short.Control(), api.JavaScript},
		"/corpus/query/worker.js":             {api.Short.Control(), api.JavaScript},
		"/corpus/query/sqlite-0a1b.wasm":      {api.Immutable.Control(), api.WebAssembly},
		"/corpus/search/index.js":             {api.Short.Control(), api.JavaScript},
		"/corpus/changes/2026-W46.json":       {api.Immutable.Control(), api.JSON},
		"/corpus/bulk/rows-2026-W46.jsonl.gz": {api.Immutable.Control(), api.Gzip},
	} {
		if got := at(file, "Cache-Control"); got != want.cache {
			t.Errorf("%s is cached %q, want %q", file, got, want.cache)
		}
		if got := at(file, "Content-Type"); got != want.mediaType {
			t.Errorf("%s is %q, want %q", file, got, want.mediaType)
		}
		if got := at(file, "CDN-Cache-Control") + at(file, "Vary"); got != "" {
			t.Errorf("%s is told to vary: %q", file, got)
		}
	}
	policies := map[string]string{"/corpus/12.json": templates.ContentSecurityPolicy(),
		"/corpus/query": templates.ContentSecurityPolicy()}
	for _, w := range templates.Workers {
		policies[w.Path] = w.Policy
	}
	for page, want := range policies {
		if got := at(page, "Content-Security-Policy"); got != want {
			t.Errorf("%s has the policy %q, want %q", page, got, want)
		}
	}
	for _, page := range []string{"/menu/hello", "/corpus/host/door.example", "/corpus/tiers/1", "/corpus", "/"} {
		if got := at(page, "CDN-Cache-Control"); got != "no-store" ||
			at(page, "Cache-Control") != api.Short.Control() || at(page, "Content-Type") != "" {
			t.Errorf("%s, which is negotiated, is kept %q, %q as %q", page, got, at(page, "Cache-Control"),
				at(page, "Content-Type"))
		}
	}
}
