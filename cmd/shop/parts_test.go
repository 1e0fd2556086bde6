package shop

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/generator"
)

// without are the sources of the specimen as a store has them that never had some parts: nothing
// that fills them, and none of the program's pages.
func without(t testing.TB, parts ...string) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	err := fs.WalkDir(content.Specimen, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(content.Specimen, name)
		top, _, below := strings.Cut(strings.TrimPrefix(name, "paid/"), "/")
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(name, "paid/") && below && slices.Contains(parts, top),
			slices.Contains(parts, strings.TrimSuffix(name, ".toml")),
			slices.Contains(parts, "retired_words") && (name == "shelf/retired_word.md" || name == "pools/words.toml"),
			strings.HasPrefix(name, "pages/") && name != "pages/index.md":
			return nil
		case name == "site.toml":
			for _, part := range parts {
				body = bytes.Replace(body, []byte("\n"+part+" = true"), nil, 1)
			}
		}
		m[name] = &fstest.MapFile{Data: body}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// built is a site as it is published.
func built(t *testing.T, site *content.Site) generator.Input {
	t.Helper()
	in := generator.Input{Site: site, Ring: attest.SpecimenRing(), Key: attest.SpecimenKey(),
		OutDir: filepath.Join(t.TempDir(), "public"), PublicPools: true, API: API()}
	if _, err := generator.Build(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return in
}

// naming are the published files, but for those of the formats, in which something stands, with
// what stands around it.
func naming(t *testing.T, in generator.Input, what *regexp.Regexp) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(in.OutDir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "spec/") {
			return err
		}
		body, err := os.ReadFile(filepath.Join(in.OutDir, name))
		if at := what.FindIndex(body); at != nil {
			found[name] = string(body[max(0, at[0]-40):min(len(body), at[1]+40)])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// buildWithout builds a store without some parts, and demands that nothing in it names their
// addresses.
func buildWithout(t *testing.T, parts ...string) {
	t.Helper()
	site, err := content.Load(content.Sources{Content: without(t, parts...)})
	if err != nil {
		t.Fatal(err)
	}
	in := built(t, site)
	for _, p := range content.Parts {
		if in.Site.Has(p.Name) == slices.Contains(parts, p.Name) {
			t.Errorf("%s is on: %v", p.Name, in.Site.Has(p.Name))
		}
		for _, at := range p.At {
			names := regexp.MustCompile(`(?:[("'` + "`" + ` ]|` + regexp.QuoteMeta(in.Site.Config.BaseURL) + `)` +
				regexp.QuoteMeta(at) + `(?:["'` + "`" + `/?#).\s]|$)`)
			found := naming(t, in, names)
			if off := slices.Contains(parts, p.Name); off == (len(found) > 0) {
				t.Errorf("without %v, %s stands in %d files: %.600v", parts, at, len(found), found)
			}
		}
	}
}

func partNames() (names []string) {
	for _, p := range content.Parts {
		names = append(names, p.Name)
	}
	return names
}

// TestAStoreOfNothingButGoods builds without any part.
func TestAStoreOfNothingButGoods(t *testing.T) { buildWithout(t, partNames()...) }

// TestAnEmptyShopSpeaksOfItself: what store init begins with names no good but its own, in
// examples, guides and descriptions.
func TestAnEmptyShopSpeaksOfItself(t *testing.T) {
	site, err := generator.LoadEmpty()
	if err != nil {
		t.Fatal(err)
	}
	specimen, err := LoadSpecimen()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, g := range specimen.Goods {
		ids = append(ids, g.ID)
	}
	in := built(t, site)
	if found := naming(t, in, regexp.MustCompile(`(buy/|menu/|_id": ?"|_id=|"example": ?")(`+strings.Join(ids, "|")+`)\b`)); len(found) > 0 {
		t.Errorf("the specimen's goods stand in %v", found)
	}
	if found := naming(t, in, regexp.MustCompile(`buy/example\b`)); len(found) < 5 {
		t.Errorf("its own good stands in %v alone", found)
	}
}

// TestLongEachPartAlone builds without each part, with each alone, and with some chosen by lot. No
// text depends on two parts at once: each asks for addresses, one by one.
func TestLongEachPartAlone(t *testing.T) {
	all := partNames()
	lot := rand.New(rand.NewPCG(1, 2))
	for i, name := range all {
		t.Run(name, func(t *testing.T) { buildWithout(t, name) })
		t.Run("only "+name, func(t *testing.T) { buildWithout(t, slices.Delete(slices.Clone(all), i, i+1)...) })
		if i%4 > 0 {
			continue
		}
		some := map[string]bool{}
		for _, other := range all {
			some[other] = lot.IntN(2) == 0
		}
		maps.DeleteFunc(some, func(_ string, off bool) bool { return !off })
		t.Run(fmt.Sprint("lot ", i), func(t *testing.T) { buildWithout(t, slices.Sorted(maps.Keys(some))...) })
	}
}
