package generator

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/corpustest"
)

// sharedDir holds the sites that several tests read.
var sharedDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "generator") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := sharedDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// sharedSite is a site that is built for the first test that asks for it, and that tests only read.
type sharedSite struct {
	name   string
	plain  int // hosts of the record without a story
	change func(*content.Site)

	once sync.Once
	site *content.Site
	tree fs.FS
}

func (s *sharedSite) get(t *testing.T) (*content.Site, fs.FS) {
	t.Helper()
	s.once.Do(func() {
		dir, err := sharedDir()
		if err != nil {
			t.Fatal(err)
		}
		in := specimenInput(t, filepath.Join(dir, s.name))
		in.Corpus, in.Bulk = corpustest.Write(t, s.plain), &Bulk{Name: "Keeper", Email: "keeper@store.example"}
		s.change(in.Site)
		mustBuild(t, in)
		s.site, s.tree = in.Site, os.DirFS(in.OutDir)
	})
	if s.tree == nil {
		t.Fatalf("the site %q was not built", s.name)
	}
	return s.site, s.tree
}

// hostileName is a name that would end every element and attribute that it stands in.
const hostileName = `</title></script><script>alert(1)</script>"'><!-- &amp; ` + "\u2028"

var (
	// specimenSite has a record of more hosts than one page lists.
	specimenSite = sharedSite{name: "specimen", plain: 120, change: func(*content.Site) {}}
	// hostileSite has a good, issues and a site of hostile names.
	hostileSite = sharedSite{name: "hostile", plain: 3, change: func(site *content.Site) {
		site.Goods[0].Name, site.Goods[0].Description = hostileName, hostileName
		site.Config.Title, site.Config.Tagline = hostileName, hostileName
		for i := range site.Issues {
			site.Issues[i].Title, site.Issues[i].Summary = hostileName, hostileName+"\x1b[2J]]>"
		}
	}}
)
