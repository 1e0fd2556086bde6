package generator

import (
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/generator/pages"
	"store.example/agentstore/generator/publish"
)

// The archive lists the weeks that are over by the site's own date and no other, each page
// committed to; nothing of a text stands anywhere in the tree, and nothing at all of a week to
// come.
func TestArchiveTellsNothing(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.PublicPools = false
	mustBuild(t, in)
	tree := os.DirFS(in.OutDir)
	var index struct {
		Count int
		Pages []struct {
			ID, URL, Summary string
			Digest           attest.Hex
			Signed           attest.Proof
		}
	}
	readJSON(t, tree, "zodiac/archive.json", &index)
	if index.Count != 6*12 || len(index.Pages) != index.Count ||
		index.Pages[0].ID != "zodiac/archive/bell/week-2026-W46" {
		t.Fatalf("%d of %d pages, from %s", len(index.Pages), index.Count, index.Pages[0].ID)
	}
	for _, p := range index.Pages {
		i, ok := in.Site.Issue(p.ID)
		body := in.Site.Expand(i.Body)
		if !ok || p.Digest.String() != attest.PaidPageDigest(attest.PaidPageSalt(in.Key, p.URL, body), body).String() ||
			!strings.Contains(p.Signed.SignedPayload, hex.EncodeToString(p.Digest)) ||
			p.Signed.Verify(in.Key.Public()) != nil {
			t.Errorf("%s: %+v", p.ID, p)
		}
	}
	texts := *in.Site
	texts.Pools = nil
	guard := publish.NewPrivate(&texts, nil)
	files := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		files++
		for _, i := range in.Site.Issues {
			if _, out := in.Site.Issue(i.ID); !out && (strings.Contains(string(body), i.ID) ||
				strings.HasPrefix(name, "zodiac") && strings.Contains(string(body), i.Summary+"<")) {
				t.Errorf("%s tells of %s", name, i.ID)
			}
		}
		return guard.Check(name, body)
	})
	if err != nil || files < 100 {
		t.Errorf("%d files: %v", files, err)
	}
}

// A text of a week to come that has got into a page stops the publication.
func TestPublishRefusesAWeekToCome(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	at := slices.IndexFunc(in.Site.Issues, func(i content.Issue) bool {
		return strings.HasSuffix(i.ID, "bell/week-2026-W53")
	})
	text := in.Site.Issues[at].Body
	public, repo := t.TempDir(), t.TempDir()
	gitRun(t, repo, "init", "-q", "--bare", "-b", "main")
	writeFile(t, filepath.Join(public, "page.html"), "before#"+text[5:5+publish.LeakLength]+"# after")
	pub := publishInput(repo, public)
	pub.Site = in.Site
	if _, err := publish.ToGit(t.Context(), pub); err == nil || !strings.Contains(err.Error(), "week-2026-W53") ||
		strings.Contains(err.Error(), text[5:25]) {
		t.Fatalf("Publish: %v", err)
	}
}

// The page of the archive holds a season, and says how many weeks more there are.
func TestArchivePageStaysShort(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	site := *in.Site
	site.Config.Date = site.Config.Date.AddDate(0, 3, 0) // all thirteen, and one more
	extra, ok := site.ZodiacPage("bell", "2026-W41")
	if !ok {
		t.Fatal("the specimen has no week 41")
	}
	extra.ID, extra.Date = "zodiac/archive/bell/week-2026-W40", extra.Date.AddDate(0, 0, -7)
	last := slices.IndexFunc(site.Issues, func(i content.Issue) bool { return i.Publication.Name == "tips" })
	site.Issues = slices.Insert(slices.Clone(site.Issues), last, extra)
	in.Site, in.PublicPools, in.outputs = &site, true, only("zodiac*")
	mustBuild(t, in)
	page, err := os.ReadFile(filepath.Join(in.OutDir, "zodiac", "archive", "index.html"))
	if err != nil || strings.Count(string(page), "<h2") != 13 ||
		!strings.Contains(string(page), "1 older week stands") ||
		strings.Contains(string(page), "W40") {
		t.Errorf("%v %s", err, page)
	}
}

// The reference of goods has a row for each key, kind and input that the loader knows.
func TestGoodsReference(t *testing.T) {
	page := pages.GoodTables()
	for _, k := range content.Keys() {
		if !strings.Contains(page, "\n| `"+k.Name+"` | "+string(k.Type)) {
			t.Errorf("no row of the key %s", k.Name)
		}
	}
	for _, name := range content.Kinds() {
		if !strings.Contains(page, "\n| `"+name+"` | ") {
			t.Errorf("no row of the kind %s", name)
		}
	}
	for _, in := range content.EveryInput() {
		if !strings.Contains(page, "\n| `"+in.Name+"` | "+in.Type) {
			t.Errorf("no row of the input %s", in.Name)
		}
	}
}
