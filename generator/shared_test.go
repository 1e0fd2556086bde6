package generator

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/generator/pages"
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
	name  string
	input func(*testing.T) Input

	once sync.Once
	site *content.Site
	dir  string
}

func (s *sharedSite) get(t *testing.T) (*content.Site, fs.FS) {
	t.Helper()
	s.once.Do(func() {
		dir, err := sharedDir()
		if err != nil {
			t.Fatal(err)
		}
		in := s.input(t)
		in.OutDir, in.Cache = filepath.Join(dir, s.name), ""
		mustBuild(t, in)
		s.site, s.dir = in.Site, in.OutDir
	})
	if s.dir == "" {
		t.Fatalf("the site %q was not built", s.name)
	}
	return s.site, os.DirFS(s.dir)
}

func withHosts(t *testing.T, plain int) Input {
	t.Helper()
	in := specimenInput(t, "")
	in.Corpus, in.Bulk = corpustest.Write(t, plain), &pages.Bulk{Name: "Keeper", Email: "keeper@store.example"}
	return in
}

// hostileName is a name that would end every element and attribute that it stands in.
const hostileName = `</title></script><script>alert(1)</script>"'><!-- &amp; ` + "\u2028"

var (
	// specimenSite has a record of more hosts than one page lists.
	specimenSite = sharedSite{name: "specimen", input: func(t *testing.T) Input { return withHosts(t, 120) }}
	// hostileSite has a good, issues and a site of hostile names.
	hostileSite = sharedSite{name: "hostile", input: func(t *testing.T) Input {
		in := withHosts(t, 3)
		site := in.Site
		site.Goods[0].Name, site.Goods[0].Description = hostileName, hostileName
		site.Config.Title, site.Config.Tagline = hostileName, hostileName
		for i := range site.Issues {
			site.Issues[i].Title, site.Issues[i].Summary = hostileName, hostileName+"\x1b[2J]]>"
		}
		return in
	}}
	// streetSite has the record of this repository.
	streetSite = sharedSite{name: "street", input: func(t *testing.T) Input {
		in := specimenInput(t, "")
		in.Corpus = os.DirFS("../corpus")
		return in
	}}
	// bulkSite has a record of three weeks.
	bulkSite = sharedSite{name: "bulk", input: func(t *testing.T) Input { in, _ := bulkInput(t); return in }}
)
