package generator

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image/png"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/generator/pages"
)

// head is what a page says of itself to who shows a link to it.
type head struct {
	meta  map[string][]string // by property, or by name
	links map[string][]string // by rel
	title string              // of the page's one h1
	about []string            // linked data
}

func readHead(t *testing.T, name string, body []byte) head {
	t.Helper()
	h := head{meta: map[string][]string{}, links: map[string][]string{}}
	walkHTML(parsePage(t, name, body), func(n *html.Node) {
		switch n.Data {
		case "meta":
			key := attribute(n, "property") + attribute(n, "name")
			h.meta[key] = append(h.meta[key], attribute(n, "content"))
		case "link":
			h.links[attribute(n, "rel")] = append(h.links[attribute(n, "rel")], attribute(n, "href"))
		case "h1":
			h.title = text(n)
			if n.FirstChild.Data == "span" { // a name that is shortened, with the whole in the title
				h.title = strings.Join(strings.Fields(attribute(n.FirstChild, "title")), " ")
			}
		case "script":
			if attribute(n, "type") == "application/ld+json" {
				h.about = append(h.about, n.FirstChild.Data)
			}
		}
	})
	return h
}

// shared are the tags that each page has once, and a page that is not meant to be found has not.
var shared = []string{"og:type", "og:site_name", "og:title", "og:description", "og:url", "og:image",
	"og:image:width", "og:image:height", "og:image:alt", "twitter:card"}

// TestSharing holds what each page says of itself to who shows a link to it: each tag once, whole
// addresses of what is there, texts as they are, and a picture of the size that it claims.
func TestSharing(t *testing.T) {
	site, tree := hostileSite.get(t)
	base := site.Config.BaseURL
	exists := func(page, address string) string {
		file, ok := strings.CutPrefix(address, base+"/")
		if !ok {
			t.Errorf("%s: %s is not below %s", page, address, base)
			return ""
		}
		for _, name := range []string{file, path.Join(file, "index.html")} {
			if info, err := fs.Stat(tree, name); err == nil && !info.IsDir() {
				return name
			}
		}
		t.Errorf("%s: %s does not exist", page, address)
		return ""
	}
	pictures, hidden := map[string]int{}, 0
	eachFile(t, tree, ".html", func(name string, body []byte) {
		h := readHead(t, name, body)
		if slices.Contains(h.meta["robots"], "noindex") {
			hidden++
			for key := range h.meta {
				if strings.HasPrefix(key, "og:") || strings.HasPrefix(key, "twitter:") {
					t.Errorf("%s is not meant to be found, and has %s", name, key)
				}
			}
			return
		}
		for _, key := range shared {
			if got := h.meta[key]; len(got) != 1 || got[0] == "" {
				t.Fatalf("%s: %s is %q, want one value", name, key, got)
			}
		}
		if got := h.meta["og:title"][0]; strings.Join(strings.Fields(got), " ") != h.title {
			t.Errorf("%s: og:title is %q, and the page's title %q", name, got, h.title)
		}
		if got := h.meta["og:description"][0]; strings.Contains(got, "`") {
			t.Errorf("%s: og:description has Markdown in it: %q", name, got)
		}
		if got := h.meta["og:site_name"][0]; got != hostileName {
			t.Errorf("%s: og:site_name is %q", name, got)
		}
		if got := exists(name, h.meta["og:url"][0]); got != name {
			t.Errorf("%s: og:url is the address of %q", name, got)
		}
		picture := exists(name, h.meta["og:image"][0])
		pictures[picture]++
		for rel, want := range map[string]string{"apple-touch-icon": "/apple-touch-icon.png",
			"manifest": "/site.webmanifest", "icon": "/favicon.svg"} {
			if !slices.Equal(h.links[rel], []string{want}) {
				t.Errorf("%s: %s is %q, want %q", name, rel, h.links[rel], want)
			}
		}
		if len(h.about) > 1 || len(h.about) == 1 && !json.Valid([]byte(h.about[0])) {
			t.Errorf("%s: linked data %q", name, h.about)
		}
		if pictures[picture] > 1 {
			return
		}
		want := [2]string{h.meta["og:image:width"][0], h.meta["og:image:height"][0]}
		if got := pictureSize(t, tree, picture); got != want {
			t.Errorf("%s is %v, and %s says %v", picture, got, name, want)
		}
	})
	if hidden == 0 || len(pictures) != 1 {
		t.Errorf("%d pages are hidden; the pictures are %v", hidden, pictures)
	}
	if got := pictureSize(t, tree, "apple-touch-icon.png"); got != [2]string{"180", "180"} {
		t.Errorf("the icon is %v", got)
	}
	icon, err := fs.ReadFile(tree, "apple-touch-icon.png")
	old, oldErr := fs.ReadFile(tree, "favicon.ico")
	if err := errors.Join(err, oldErr); err != nil || !bytes.Equal(old[:6], []byte{0, 0, 1, 0, 1, 0}) ||
		int(binary.LittleEndian.Uint32(old[14:])) != len(icon) ||
		!bytes.Equal(old[binary.LittleEndian.Uint32(old[18:]):], icon) {
		t.Errorf("the icon for old browsers: %v", err)
	}
}

func pictureSize(t *testing.T, tree fs.FS, name string) [2]string {
	t.Helper()
	body, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(body))
	if err != nil || len(body) > 20_000 {
		t.Errorf("%s: %d bytes, %v", name, len(body), err)
		return [2]string{}
	}
	return [2]string{strconv.Itoa(picture.Bounds().Dx()), strconv.Itoa(picture.Bounds().Dy())}
}

// TestWebManifest: what it names is there, and it is JSON whatever the site is called.
func TestWebManifest(t *testing.T) {
	_, tree := hostileSite.get(t)
	var m struct {
		Name  string
		Start string `json:"start_url"`
		Icons []struct{ Src, Sizes, Type string }
	}
	readJSON(t, tree, "site.webmanifest", &m)
	if m.Name != hostileName || m.Start != "/" || len(m.Icons) != 2 {
		t.Errorf("%+v", m)
	}
	for _, icon := range m.Icons {
		if _, err := fs.Stat(tree, strings.TrimPrefix(icon.Src, "/")); err != nil {
			t.Error(err)
		}
	}
}

// TestLinkedData: a good's page offers it at the amounts of the shelf, and the page of the record
// lists the files that its JSON lists.
func TestLinkedData(t *testing.T) {
	site, tree := hostileSite.get(t)
	for i := range site.Goods {
		g := &site.Goods[i]
		var p pages.Product
		about(t, tree, "menu/"+g.ID+"/index.html", &p)
		if p.Type != "Product" || p.Name != g.Name || p.URL != site.Config.BaseURL+"/menu/"+g.ID {
			t.Errorf("%s: %+v", g.ID, p)
		}
		var got, want []string
		for _, o := range p.Offers {
			got = append(got, o.Type+" "+o.Price+" "+o.Currency+" "+o.URL+" "+o.Seller.Name)
		}
		for _, tier := range g.Tiers() {
			want = append(want, "Offer "+tier.USDC()+" USDC "+site.Config.BaseURL+"/api/buy/"+g.ID+" "+hostileName)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is offered as %q, want %q", g.ID, got, want)
		}
	}
	var page derive.DatasetFacts
	var record derive.DatasetView
	about(t, tree, "corpus/index.html", &page)
	readJSON(t, tree, "corpus.json", &record)
	if page.Type != "Dataset" || page.Name != record.Name || page.License != record.License ||
		page.Temporal != record.Temporal || len(page.Files) == 0 || !slices.Equal(page.Files, record.Files) {
		t.Errorf("the page says %+v, and its JSON %+v", page, record.DatasetFacts)
	}
}

// about reads the linked data of a page.
func about(t *testing.T, tree fs.FS, name string, v any) {
	t.Helper()
	body, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	h := readHead(t, name, body)
	if len(h.about) != 1 {
		t.Fatalf("%s: %d pieces of linked data", name, len(h.about))
	}
	if err := json.Unmarshal([]byte(h.about[0]), v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func readJSON(t *testing.T, tree fs.FS, name string, v any) {
	t.Helper()
	body, err := fs.ReadFile(tree, name)
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
