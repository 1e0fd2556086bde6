package generator

import (
	"encoding/xml"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"store.example/agentstore/generator/pages"
)

// unlinked are pages of the sitemap to which no page leads, each with the reason. There is none.
var unlinked = map[string]string{}

// crawled follows the links of the pages from the first one on, as a reader does, and returns the
// addresses that it came to.
func crawled(t *testing.T, tree fs.FS, base string) map[string]bool {
	t.Helper()
	reached := map[string]bool{"/": true}
	for todo := []string{"/"}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		file, ok := resolves(tree, base, at, at)
		if !ok || path.Ext(file) != ".html" {
			continue
		}
		body, err := fs.ReadFile(tree, file)
		if err != nil {
			t.Fatal(err)
		}
		walkHTML(parsePage(t, file, body), func(n *html.Node) {
			if n.Data != "a" {
				return
			}
			u, err := url.Parse(strings.TrimPrefix(attribute(n, "href"), base))
			if err != nil || u.IsAbs() {
				return
			}
			to := u.Path
			if !strings.HasPrefix(to, "/") {
				to = path.Join(at, to)
			}
			if to != "" && !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		})
	}
	return reached
}

// lacking is a tree that lacks one file.
type lacking struct {
	fs.FS
	name string
}

func (l lacking) Open(name string) (fs.File, error) {
	if name == l.name {
		return nil, fs.ErrNotExist
	}
	return l.FS.Open(name)
}

// TestEveryPageIsLinked crawls the site from its first page and compares what it came to with the
// sitemap.
func TestEveryPageIsLinked(t *testing.T) {
	site, tree := specimenSite.get(t)
	base := site.Config.BaseURL
	body, err := fs.ReadFile(tree, "sitemap.xml")
	if err != nil {
		t.Fatal(err)
	}
	var listed pages.Sitemap
	if err := xml.Unmarshal(body, &listed); err != nil || len(listed.URLs) < 100 {
		t.Fatalf("%d pages in the sitemap: %v", len(listed.URLs), err)
	}
	reached := crawled(t, tree, base)
	var lost, wrong []string
	for _, l := range listed.URLs {
		at := "/" + strings.Trim(strings.TrimPrefix(l.Loc, base), "/")
		switch _, excused := unlinked[at]; {
		case !reached[at] && !excused:
			lost = append(lost, at)
		case reached[at] && excused:
			wrong = append(wrong, at)
		}
	}
	if len(lost) > 0 || len(wrong) > 0 {
		t.Errorf("no page leads to %d of %d: %v; excused and linked: %v", len(lost), len(listed.URLs), lost, wrong)
	}
	// The crawl itself: without the page that leads to them, what hangs on it is lost.
	again := crawled(t, lacking{tree, "defects/index.html"}, base)
	if again["/defects/no-402"] || !reached["/defects/no-402"] {
		t.Error("the crawl comes to pages that nothing leads to")
	}
}

func TestSitemapListsWhatExists(t *testing.T) {
	site, tree := specimenSite.get(t)
	body, err := fs.ReadFile(tree, "sitemap.xml")
	if err != nil {
		t.Fatal(err)
	}
	var doc pages.Sitemap
	if err := xml.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.URLs) < len(site.Goods)+30 {
		t.Errorf("only %d addresses", len(doc.URLs))
	}
	for _, u := range doc.URLs {
		if _, ok := resolves(tree, site.Config.BaseURL, "/", u.Loc); !ok {
			t.Errorf("%s does not exist", u.Loc)
		}
	}
}
