package generator

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"store.example/agentstore/generator/pages"
)

// untyped are ids within drawings, of weeks and of notes: no heading is called so.
var untyped = regexp.MustCompile(`^([0-9]{4}-W[0-9]{2}|fn(ref)?:[0-9]+|(r|jg|o)[0-9a-f]+|in-.*|for-.*)$`)

// unlooked are folders of pages whose prose is the program's own, or that have none.
var unlooked = []string{"corpus/host/", "corpus/query/", "running/configuration/", "docs/goods/", "docs/api/",
	"docs/index.html", "glossary/", "spec/"}

// TestIDs: no page of the specimen has an id twice, and what has an id is a heading of the prose or
// stands in the list by which headings keep out of its way and links are looked at.
func TestIDs(t *testing.T) {
	site, tree := specimenSite.get(t)
	known := pages.KnownIDs(site)
	pages := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		body, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		pages++
		seen := make(map[string]bool)
		looked := !slices.ContainsFunc(unlooked, func(folder string) bool { return strings.HasPrefix(name, folder) })
		walkHTML(parsePage(t, name, body), func(n *html.Node) {
			id := attribute(n, "id")
			if seen[id] && id != "" {
				t.Errorf("%s: two have the id %s", name, id)
			}
			if seen[id] = true; looked && id != "" && !known[id] && !untyped.MatchString(id) {
				t.Errorf("%s: nothing knows of the id %s: name it in package templates", name, id)
			}
		})
		return nil
	})
	if err != nil || pages < 100 {
		t.Errorf("%d pages, %v", pages, err)
	}
}
