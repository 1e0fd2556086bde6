package generator

import (
	"encoding/json/v2"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/templates"
)

// lookUp finds hosts in the published index as its description says.
func lookUp(t *testing.T, tree fs.FS, text string) []string {
	t.Helper()
	var head struct{ Shards []string }
	readJSON(t, tree, "corpus/search.json", &head)
	key := derive.ShardName(text)
	longest := ""
	var wanted []string
	for _, s := range head.Shards {
		if strings.HasPrefix(key, s) && len(s) > len(longest) {
			longest = s
		}
		if strings.HasPrefix(s, key) && s != key {
			wanted = append(wanted, s)
		}
	}
	if longest != "" {
		wanted = append(wanted, longest)
	}
	found := map[string]bool{}
	for _, name := range wanted {
		var shard struct {
			Hosts []struct {
				Host, Path string
				At         int
			}
			More int
		}
		readJSON(t, tree, "corpus/search/"+name+".json", &shard)
		if len(shard.Hosts) > derive.ShardLimit {
			t.Errorf("shard %s has %d entries", name, len(shard.Hosts))
		}
		for _, h := range shard.Hosts {
			if strings.HasPrefix(h.Host[h.At:], text) {
				found[h.Host] = true
				if _, err := fs.Stat(tree, strings.TrimPrefix(h.Path, "/")+"/index.html"); err != nil {
					t.Errorf("%s leads nowhere: %v", h.Path, err)
				}
			}
		}
	}
	var all []string
	for h := range found {
		all = append(all, h)
	}
	slices.Sort(all)
	return all
}

// TestSearchIndexFindsEveryPart looks every host up by the start of each of its parts, in an index
// that is divided.
func TestSearchIndexFindsEveryPart(t *testing.T) {
	in := specimenInput(t, t.TempDir())
	in.Corpus, in.outputs = corpustest.Write(t, 700), only("search*", "host")
	mustBuild(t, in)
	tree := os.DirFS(in.OutDir)
	shards, err := fs.Glob(tree, "corpus/search/door*.json")
	if err != nil || len(shards) < 3 {
		t.Errorf("the 700 doors stand in %d shards: %v", len(shards), err)
	}
	for _, host := range []string{"api.weather.example", "door-00042.plain.example", "xn--bcher-kva.example",
		"never-seen.example"} {
		for at := range len(host) {
			if at > 0 && host[at-1] != '.' && host[at-1] != '-' || at > strings.LastIndexByte(host, '.') ||
				host[at:] == "plain.example" {
				continue // inside a part; the last part; or common to more hosts than a shard names
			}
			if got := lookUp(t, tree, host[at:]); !slices.Contains(got, host) {
				t.Errorf("%q finds %v and not %s", host[at:], got, host)
			}
		}
	}
	if got := lookUp(t, tree, "weath"); !slices.Equal(got, []string{"api.weather.example"}) {
		t.Errorf("weath finds %v", got)
	}
	if got := lookUp(t, tree, "eather"); len(got) != 0 {
		t.Errorf("the middle of a word finds %v", got)
	}
}

// TestSearchInABrowser types a name into the page, on a plain file server under the site's policy,
// and in the folder itself without any server.
func TestSearchInABrowser(t *testing.T) {
	_, tree := specimenSite.get(t)
	files := http.FileServerFS(tree)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", templates.ContentSecurityPolicy())
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	b := browser.Start(t)
	folder := "file://" + filepath.ToSlash(specimenSite.dir)
	for _, c := range []struct{ address, want string }{
		{server.URL + "/corpus/#q=weather",
			`<a href="/corpus/host/api.weather.example">api.weather.example</a>: standing`},
		{server.URL + "/corpus/#q=https://API.weather.example/paid", `<a href="/corpus/host/api.weather.example">`},
		{server.URL + "/corpus/#q=B%C3%9CCHER.example.", `<a href="/corpus/host/xn--bcher-kva.example">`},
		{server.URL + "/corpus/#q=b%C3%BCch", "A name in another script is found once each of its parts is typed " +
			"whole."},
		{server.URL + "/search/?q=weather", `<a href="/corpus/host/api.weather.example">api.weather.example</a>: standing`},
		{server.URL + "/search/#q=weather", `<a href="/corpus/host/api.weather.example">api.weather.example</a>: standing`},
		{server.URL + "/search/#q=Portrait%20rock", `<ul id="hits"><li><a href="/menu/pet_rock">`},
		{server.URL + "/search/#q=budget", `<ul id="hits"><li><a href="/docs/budget">`},
		{server.URL + "/search/?q=refunds", `<li><a href="/problems/refund_owed`},
		{server.URL + "/search/#q=%3Czzimg%20zzsrc%3E", "No goods and pages. No host of 133"},
		{server.URL + "/404.html", `<a id="lost" href="/search?q=404+html"`},
		{folder + "/search/index.html#q=check%20a%20bundle", `/verify/run/index.html#`},
		{server.URL + "/corpus/#q=50%", "No host of 133 begins like that"},
		{server.URL + "/corpus/#q=nobody-here", "No host of 133 begins like that"},
		{folder + "/corpus/index.html#q=weather",
			`/corpus/host/api.weather.example/index.html">api.weather.example</a>: standing`},
	} {
		p := b.Open(c.address, browser.Screen{Width: 1280})
		p.Until("document.documentElement.outerHTML.includes(" + strconv.Quote(c.want) + ")")
		p.Close()
	}
}

// TestEmptyRecordIsHonest builds a site without a record and one whose record has no round.
func TestEmptyRecordIsHonest(t *testing.T) {
	for name, record := range map[string]fs.FS{"no record": nil, "no round": os.DirFS(t.TempDir())} {
		in := specimenInput(t, t.TempDir())
		in.Corpus = record
		mustBuild(t, in)
		tree := os.DirFS(in.OutDir)
		for _, page := range []string{"corpus", "corpus/trajectory", "corpus/brief", "fresh-set", "registry",
			"inflows"} {
			body, err := fs.ReadFile(tree, page+"/index.html")
			if err != nil || !strings.Contains(string(body), derive.NoRounds) {
				t.Errorf("%s: %s does not say why it is empty: %v", name, page, err)
			}
		}
		var facts map[string]any
		readJSON(t, tree, "corpus/wallet-facts.json", &facts)
		if week, there := facts["week"]; !there || week != nil ||
			facts["explanation"] != derive.NoRounds {
			t.Errorf("%s: facts about addresses %v", name, facts)
		}
	}
}

// TestPagesOfListsNeverChange compares the index and the feed of a record with those of its
// beginning.
func TestPagesOfListsNeverChange(t *testing.T) {
	b := &derive.Book{BaseURL: "https://store.example", Roll: nil}
	var weeks []string
	for n := 1; n <= 60; n++ {
		b.Rounds = append(b.Rounds, roundOf(n))
		b.Proofs = append(b.Proofs, "")
		weeks = append(weeks, b.Rounds[n-1].Week)
	}
	pages := func(rounds int) map[string]string {
		short := *b
		short.Rounds = b.Rounds[:rounds]
		out := map[string]string{}
		seen := map[string]int{}
		for v, page := short.Index(0), 0; ; {
			raw, err := json.Marshal(v, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			if page > 0 {
				out[fmt.Sprint(page)] = string(raw)
			}
			for _, e := range v.Entries {
				seen[e.Week]++
			}
			if v.Next == "" {
				break
			}
			if _, err := fmt.Sscanf(v.Next, "/corpus/index/%d.json", &page); err != nil {
				t.Fatal(err)
			}
			v = short.Index(page)
		}
		for _, w := range weeks[:rounds] {
			if seen[w] != 1 {
				t.Errorf("of %d rounds, %s stands on %d pages", rounds, w, seen[w])
			}
		}
		return out
	}
	all := pages(60)
	for n := range 60 {
		for page, raw := range pages(n) {
			if all[page] != raw {
				t.Errorf("page %s changed after round %d", page, n)
			}
		}
	}
	if len(all) != 2 || attest.Digest(b.Rounds[0].Digest) == (attest.Digest{}) {
		t.Errorf("%d full pages of 60 rounds", len(all))
	}
}
