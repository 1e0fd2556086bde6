package pages

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// A site with more addresses than one sitemap may list has an index, whose parts list each address
// once.
func TestSitemapOfALargeSite(t *testing.T) {
	const goods = 2*maxSitemap + 1
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Site: site, Ring: attest.SpecimenRing(), Key: attest.SpecimenKey()}
	for good := in.Site.Goods[0]; len(in.Site.Goods) < goods; in.Site.Goods = append(in.Site.Goods, good) {
		good.ID = fmt.Sprintf("thing_%06d", len(in.Site.Goods))
	}
	rows, err := Prepare(Table())
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSource(&in, rows)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for u, err := range sitemapUnit(s) {
		if err != nil {
			t.Fatal(err)
		}
		if b, err = renderSitemap(s, u, "", attest.Digest{}); err != nil {
			t.Fatal(err)
		}
	}
	var index sitemapIndex
	if err := xml.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Parts) != 3 {
		t.Fatalf("%d parts, want three", len(index.Parts))
	}
	seen := make(map[string]bool)
	parts := 0
	for u, err := range sitemapParts(s) {
		if err != nil {
			t.Fatal(err)
		}
		if got, want := index.Parts[parts].Loc, s.Base+"/sitemaps/"+u.Key+".xml"; got != want {
			t.Errorf("part %d is at %s, want %s", parts, got, want)
		}
		parts++
		if b, err = renderSitemapPart(s, u, "", attest.Digest{}); err != nil {
			t.Fatal(err)
		}
		var part Sitemap
		if err := xml.Unmarshal(b, &part); err != nil {
			t.Fatal(err)
		}
		if n := len(part.URLs); n == 0 || n > maxSitemap {
			t.Errorf("part %s lists %d addresses, want 1 to %d", u.Key, n, maxSitemap)
		}
		for _, l := range part.URLs {
			if seen[l.Loc] {
				t.Fatalf("%s is listed twice", l.Loc)
			}
			seen[l.Loc] = true
		}
	}
	if parts != len(index.Parts) {
		t.Errorf("%d parts, the index names %d", parts, len(index.Parts))
	}
	items := 0
	for loc := range seen {
		if strings.HasPrefix(loc, s.Base+"/menu/") {
			items++
		}
	}
	if items != goods {
		t.Errorf("%d pages of goods are listed, want %d", items, goods)
	}
}

// TestSitemapPartIsWhatTheLibraryWrites holds a part of a sitemap, which is put together by hand,
// against the library's.
func TestSitemapPartIsWhatTheLibraryWrites(t *testing.T) {
	texts := []string{"", "https://store.example/a", "?a=1&b=2", "<x>\"y\"'z'", "ü", "]]>"}
	var part []address
	want := Sitemap{NS: sitemapNamespace}
	for i, a := range texts {
		for k, b := range texts {
			at := address{before: a, value: b, after: texts[(i+k)%len(texts)], day: "2026-11-17"}
			part = append(part, at)
			want.URLs = append(want.URLs, sitemapLine{Loc: at.before + at.value + at.after, Lastmod: at.day})
		}
	}
	doc, err := encodedXML(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := renderSitemapPart(nil, Unit{value: part, Scratch: new(Scratch)}, "", attest.Digest{}); err != nil ||
		string(got) != string(doc) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, doc)
	}
}
