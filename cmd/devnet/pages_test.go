package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/browser"
	"store.example/agentstore/cmd/devnet/web"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/networks"
)

// written is the longest that a stranger may write without a place to break it, with markup.
func written(n int) string {
	const markup = `<script>document.title="taken"</script><img src=x onerror=alert(1)>`
	return markup + strings.Repeat("W", n-len(markup))
}

// posts sends JSON and reads the answer's members.
func (s *stall) posts(t *testing.T, path string, body map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	code, answer := s.fetch(t, req)
	var v map[string]any
	if err := json.Unmarshal([]byte(answer), &v); err != nil || code/100 != 2 {
		t.Fatalf("%s: %d %s, %v", path, code, answer, err)
	}
	return v
}

// used has strangers leave what the desks show, each text as long as it may be, and returns the
// pages that show it.
func (s *stall) used(t *testing.T, cfg *shop.Config) []string {
	t.Helper()
	entry := s.posts(t, "/api/guestbook", map[string]any{"name": written(80), "message": written(500)})
	letter := s.posts(t, "/api/letter", map[string]any{"letter": written(2000)})["letter_id"].(string)
	quoted := s.posts(t, "/api/request", map[string]any{"description": written(1000), "contact": written(200),
		"offer_usdc": "5"})["request_id"].(string)
	for _, words := range [][]string{{"reply", letter, "-text", written(4000)}, {"quote", quoted, "-price", "5"},
		{"post-bounty", "https://door.example.com/" + strings.Repeat("x", 1900), "-reward", "0.10", "-text",
			written(500)}} {
		if _, err := keep(t, cfg, words...); err != nil {
			t.Fatal(err)
		}
	}
	sticker := entry["sticker"].(map[string]any)["stamp_id"].(string)
	return []string{"/api/guestbook", "/api/letter/" + letter, "/api/verify/" + letter, "/api/verify/" + sticker,
		"/api/verify/" + quoted, "/bounties"}
}

// openUsed opens a stall that strangers have used, and returns the pages that show it and those
// that change with the hour.
func openUsed(t *testing.T, change func(*shop.Config)) (*stall, *shop.Config, []string) {
	t.Helper()
	var cfg *shop.Config
	s := openStallWith(t, nil, func(s *stall, c *shop.Config) {
		cfg = c
		s.pays(t, c)
		usdc, _ := networks.USDC(s.nodes[0].Network.ID())
		s.asks(t, fmt.Sprintf(`{"scheme":"exact","network":%q,"asset":%q,"payTo":%q,"amount":"10000",`+
			`"maxTimeoutSeconds":60,"extra":{"name":%q,"version":%q}}`, usdc.Network, usdc.Address,
			s.net.Poor.Address.Hex(), usdc.Name, usdc.Version))
		change(c)
	})
	s.listens(t, cfg)
	return s, cfg, append(s.used(t, cfg), "/porch", "/zodiac/"+s.payTo.address().Hex())
}

// quick are a desk and a telephone; thorough are three widths in both schemes.
var (
	quick    = []browser.Screen{{Width: 1280}, {Width: 390, Dark: true}}
	thorough = []browser.Screen{{Width: 1280}, {Width: 390, Dark: true}, {Width: 768}, {Width: 1280, Dark: true},
		{Width: 390}, {Width: 768, Dark: true}}
)

// Every page of the desks, and of the shelves that change with the hour, fits on a telephone and on
// a desk, and axe-core finds nothing on it on a dark telephone, with all that strangers may write
// there at its longest. html-validate finds nothing in their markup.
func TestDesksInABrowser(t *testing.T) {
	t.Parallel()
	desks(t, quick)
}

// TestLongDesksInABrowser is the same on every screen.
func TestLongDesksInABrowser(t *testing.T) { desks(t, thorough) }

func desks(t *testing.T, screens []browser.Screen) {
	b := browser.Start(t)
	s, _, pages := openUsed(t, func(*shop.Config) {})
	pages = append(pages, "/zodiac", "/almanac", "/gazette", "/tips", "/directory", "/retired-words", "/menu/hello")
	p := b.Open(s.url+"/", browser.Screen{Width: 1280})
	dir := t.TempDir()
	for i, at := range pages {
		code, body := s.get(t, at, true)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.html", i)), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if code != 200 {
			t.Errorf("%s: %d %.300s", at, code, body)
			continue
		}
		for _, screen := range screens {
			p.Show(screen)
			p.Go(s.url + at)
			s.fits(t, p, at, screen, len(screens) > len(quick) || screen.Dark)
		}
	}
	for _, found := range web.Markup(t, dir) {
		t.Errorf("%s (of %q)", found, pages)
	}
}

// fits holds a page against its screen and, where it is to be, against axe-core, and wants its
// place in the shop marked.
func (s *stall) fits(t *testing.T, p *browser.Page, at string, screen browser.Screen, axe bool) {
	t.Helper()
	var shown struct {
		Page, Screen, Table, Marked int
		Title                       string
		Text                        int
	}
	p.Eval(`({page: document.documentElement.scrollWidth, screen: document.documentElement.clientWidth,
		table: Math.max(0, ...[...document.querySelectorAll(".wide")].map(e => e.scrollWidth - e.clientWidth)),
		marked: document.querySelectorAll("nav [aria-current]").length, title: document.title, text: document.body.innerText.length})`, &shown)
	if shown.Page > shown.Screen || shown.Title == "" || shown.Title == "taken" || shown.Text < 40 ||
		shown.Marked != 1 || screen.Width == 1280 && shown.Table > 0 {
		t.Errorf("%s at %+v: %+v", at, screen, shown)
	}
	if axe {
		for _, found := range p.Axe() {
			t.Errorf("%s at %+v: %.400s", at, screen, found)
		}
	}
	if dir := os.Getenv("DESK_SHOTS"); dir != "" {
		name := fmt.Sprintf("%s-%d-%v.png", strings.ReplaceAll(strings.Trim(at[:min(40, len(at))], "/"), "/", "_"),
			screen.Width, screen.Dark)
		if err := os.WriteFile(filepath.Join(dir, name), p.Screenshot(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
