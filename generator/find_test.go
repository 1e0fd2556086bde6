package generator

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
)

// A page of the keeper's is listed at /search by its title and summary: other prose makes its own
// two forms and the two of the index anew, and another title those of the list too.
func TestProseOfAPageIsItsOwn(t *testing.T) {
	const page = "+++\ntitle = \"A note\"\nsummary = \"What it is about.\"\n+++\nFirst it said this.\n"
	dir := t.TempDir()
	in := specimenInput(t, dir+"/public")
	in.Cache = dir + "/record"
	build := func(page string) int {
		src := sourceTree(t)
		src["pages/notes/one.md"] = &fstest.MapFile{Data: []byte(page)}
		site, err := content.Load(content.Sources{Content: src})
		if err != nil {
			t.Fatal(err)
		}
		in.Site = site
		return mustBuild(t, in).Rendered
	}
	build(page)
	other := strings.Replace(page, "First", "Then", 1)
	if n := build(other); n != 4 {
		t.Errorf("other prose: %d files were made anew, want 4", n)
	}
	if n := build(strings.Replace(other, "A note", "A remark", 1)); n < 6 {
		t.Errorf("another title: %d files were made anew, want 6 at least", n)
	}
}

// TestIndexOfPages: the index of the specimen finds what strangers look for, in all of its prose,
// and each part stands where its page has it.
func TestIndexOfPages(t *testing.T) {
	site, tree := specimenSite.get(t)
	var x api.SearchIndex
	readJSON(t, tree, "search/pages.json", &x)
	x.Prepare()
	for query, want := range map[string]string{"refund": "/problems/refund_owed", "price": "/pricing",
		"systemd": "/running/service", "docker": "/running/container", "nginx": "/running/proxy",
		"solana": "/", "Portrait rock": "/menu/pet_rock", "how to buy": "/mcp#how-to-buy"} {
		hits, _ := x.Find(query, 8)
		if !slices.ContainsFunc(hits, func(h api.SearchHit) bool { return strings.HasPrefix(h.Path, want) }) {
			t.Errorf("%q finds %v, not %s", query, hits, want)
		}
	}
	for _, p := range x.Pages {
		for _, part := range p.Parts {
			if _, ok := resolves(tree, site.Config.BaseURL, "/search", p.Path+"#"+part.At); part.At != "" && !ok {
				t.Errorf("%s has no place %s", p.Path, part.At)
			}
		}
		if _, ok := resolves(tree, site.Config.BaseURL, "/search", p.Path); !ok {
			t.Errorf("%s leads nowhere", p.Path)
		}
	}
}
