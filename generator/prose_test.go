package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
	"store.example/agentstore/generator/pages"
)

// What is wrong with the keeper's prose fails the build, with the file and the line, and leaves the
// tree as it was.
func TestProseWithFaultsIsNotBuilt(t *testing.T) {
	about := "+++\ntitle = \"About\"\nsummary = \"Who keeps this.\"\nnav = \"about\"\n+++\n\n"
	for _, c := range []struct{ name, file, body, want string }{
		{"dead link", "pages/about.md",
			about + "First.\n\nA [good](/menu/hello), a [page](/abuot) and\na [door](/menu/never_sold).\n",
			"pages/about.md:9: link to /abuot: there is nothing at this address of the site"},
		{"dead link further on", "pages/about.md",
			about + "First.\n\nA [good](/menu/hello), a [page](/criteria) and\na [door](/menu/never_sold).\n",
			"pages/about.md:10: link to /menu/never_sold: "},
		{"dead link by the whole address", "pages/about.md", about + "See [us]({base_url}/nowhere).\n",
			"pages/about.md:7: link to "},
		{"dead link of a good", "shelf/hello.md", "", "shelf/hello.md:"},
		{"relative link", "pages/about.md", about + "See [us](criteria).\n",
			"pages/about.md:7: link to criteria: an address of this site begins with /"},
		{"script for a link", "pages/about.md", about + "See [us](javascript:alert(1)).\n",
			"pages/about.md:7: link to javascript:alert(1): want https:"},
		{"dead link by reference", "pages/about.md", about + "See [us][1].\n\n[1]: /nowhere\n",
			"pages/about.md:7: link to /nowhere"},
		{"dead link in a list", "pages/about.md", about + "- one\n- two [three](/nowhere)\n",
			"pages/about.md:8: link to /nowhere"},
		{"no place here", "pages/about.md", about + "## One\n\nSee [it](#one) and [that](#nope).\n",
			"pages/about.md:9: link to #nope: that page has no place #nope; its headings are #one"},
		{"no place on another page", "pages/about.md", about + "See [it](/tips#nope).\n",
			"pages/about.md:7: link to /tips#nope: that page has no place #nope"},
		{"no place at a good", "pages/about.md", about + "See [it](/menu/hello#buy), [that](/menu/hello#nope).\n",
			"pages/about.md:7: link to /menu/hello#nope: "},
		{"a place of another kind of page", "pages/about.md", about + "See [it](#buy).\n",
			"pages/about.md:7: link to #buy: that page has no place #buy, and no headings"},
		{"a footnote without text", "pages/about.md", about + "`[^1]` is code.\n\nSo they say[^one].\n",
			"pages/about.md:9: footnote [^one] has no text"},
		{"a footnote without a reference", "pages/about.md", about + "So they say.\n\n[^one]: They do.\n",
			"pages/about.md:9: footnote [^one]: nothing refers to it"},
		{"raw HTML", "pages/about.md", about + "First.\n\n<div>x</div>\n",
			"pages/about.md:9: raw HTML is not published"},
		{"raw HTML in a line", "pages/about.md", about + "First\nand <b>bold</b>.\n",
			"pages/about.md:8: raw HTML is not published"},
		{"comment", "pages/about.md", about + "<!-- later -->\n", "pages/about.md:7: raw HTML is not published"},
		{"address in use above", "pages/menu/mine.md", about + "x\n",
			"pages/menu/mine.md: the store itself uses the address /menu"},
		{"unknown picture", "pages/about.md", about + "![me](/me.png)\n",
			"pages/about.md:7: picture /me.png: there is none on this site"},
		{"picture of others", "pages/about.md", about + "![me](https://elsewhere.example/me.png)\n",
			"pages/about.md:7: picture https://elsewhere.example/me.png: "},
		{"address in use", "pages/menu.md", about + "x\n", "pages/menu.md: the store itself uses the address /menu"},
		{"address of files in use", "pages/corpus.md", about + "x\n",
			"pages/corpus.md: the store itself uses the address /corpus"},
		{"address of routes in use", "pages/api.md", about + "x\n",
			"pages/api.md: the store itself uses the address /api"},
	} {
		src := sourceTree(t)
		if c.body == "" {
			c.body = string(src[c.file].Data) + "\n\nSee [us](/nowhere).\n"
			c.want += lineAfter(c.body, "(/nowhere)")
		}
		src[c.file] = &fstest.MapFile{Data: []byte(c.body)}
		site, err := content.Load(content.Sources{Content: src})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		in := specimenInput(t, t.TempDir())
		in.Site, in.Corpus, in.Bulk = site, nil, nil
		_, err = Build(t.Context(), in)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(c.want, ":9") &&
			!errors.Is(err, pages.ErrProse) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(in.OutDir, "index.html")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something was built: %v", c.name, err)
		}
	}
}

// A link into a page is looked at again where that page changes, and nothing else does.
func TestALinkIsCheckedWhereItLeads(t *testing.T) {
	src, in := sourceTree(t), specimenInput(t, t.TempDir())
	in.Corpus, in.Bulk, in.Cache = nil, nil, filepath.Join(t.TempDir(), "record")
	page := func(body string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("+++\ntitle = \"A page\"\nsummary = \"S.\"\n+++\n" + body)}
	}
	src["pages/about.md"] = page("See [it]({base_url}/other#one).\n")
	for i, want := range []string{"", "pages/about.md:5: link to {base_url}/other#one: ", ""} {
		src["pages/other.md"] = page([]string{"## One\n", "## Two\n", "Two.\n\n## One\n"}[i])
		site, err := content.Load(content.Sources{Content: src})
		if err != nil {
			t.Fatal(err)
		}
		in.Site = site
		_, err = Build(t.Context(), in)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("build %d: %v, want %q", i, err, want)
		}
	}
}

func lineAfter(text, needle string) string {
	before, _, _ := strings.Cut(text, needle)
	return fmt.Sprintf("%d: link to /nowhere", 1+strings.Count(before, "\n"))
}

// A page of the keeper's own stands at its address in its forms, in the header of every page and in
// the sitemap.
func TestOwnPages(t *testing.T) {
	src := sourceTree(t)
	src["pages/about-us.md"] = &fstest.MapFile{Data: []byte("+++\ntitle = \"About us\"\nsummary = \"Who keeps " +
		"this.\"\nnav = \"about\"\n+++\nI am {keeper}. See [hello](/menu/hello), [the rest](/imprint), " +
		"[verdicts](/criteria#verdicts), [a host](/corpus/host/shop.example) and " +
		"[others](https://elsewhere.example/).\n\n`<b>` is how HTML looks.\n\n" +
		"## Ünd\n\n## ÜND\n")}
	src["pages/imprint.md"] = &fstest.MapFile{Data: []byte("+++\ntitle = \"Imprint\"\nsummary = \"Where we " +
		"are.\"\n+++\nHere.\n")}
	// Headings as keepers wrote them: called as the frame of the page is, of another script, with a
	// link.
	src["pages/headings.md"] = &fstest.MapFile{Data: []byte("+++\ntitle = \"Headings\"\nsummary = \"S.\"\n+++\n" +
		"## main\na\n## 日本語の見出し\nb [there](#日本語の見出し)\n## Heading with [link](https://x.example/a)\n" +
		"a [to it](#heading-with-link), [up](#main-1), [top](#top), [his](/about-us#ünd-1)[^n]\n\n" +
		"- [x] done\n\n[^n]: So.\n")}
	// The order of names is not that of files: a name may begin another one, and stand in a folder
	// of that name.
	for _, name := range []string{"about", "notes", "notes-of-others", "notes/first", "notes/2026/last"} {
		src["pages/"+name+".md"] = &fstest.MapFile{Data: []byte("+++\ntitle = \"Further\"\nsummary = " +
			"\"More.\"\n+++\nSee [this](/" + name + ") and [that](/notes/first).\n")}
	}
	site, err := content.Load(content.Sources{Content: src})
	if err != nil {
		t.Fatal(err)
	}
	in := specimenInput(t, t.TempDir())
	in.Site = site
	mustBuild(t, in)
	for name, wants := range map[string][]string{
		"about-us/index.html": {"<h1>About us</h1>", site.Config.Keeper, `href="/imprint"`},
		"about-us.md":         {"# About us", site.Config.Keeper},
		"notes/index.html":    {"<h1>Further</h1>"},
		"notes/2026/last.md":  {"# Further"},
		"headings/index.html": {`<h2 id="main-1">`, `<h2 id="日本語の見出し">`, `<h2 id="heading-with-link">`,
			`<input checked="" disabled="" type="checkbox"`, `href="#fn:1"`, `<li id="fn:1">`},
		"imprint/index.html": {`<a href="/about-us">about</a>`},
		"index.html":         {`<a href="/about-us">about</a>`},
		"sitemap.xml":        {"/about-us</loc>", "/imprint</loc>", "/notes/2026/last</loc>"},
		"_headers":           {"\n/about-us\n", "\n/imprint.md\n", "\n/notes/first\n"},
	} {
		b, err := os.ReadFile(filepath.Join(in.OutDir, filepath.FromSlash(name)))
		for _, want := range wants {
			if err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s lacks %q: %v", name, want, err)
			}
		}
	}
	if b, err := os.ReadFile(filepath.Join(in.OutDir, "index.html")); err != nil ||
		strings.Contains(string(b), `"/imprint"`) {
		t.Errorf("a page without a row has one: %v", err)
	}
}
