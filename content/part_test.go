package content

import (
	"strings"
	"testing"
)

// A part is on where the site has something for it, or a line says so, and off by a line.
func TestParts(t *testing.T) {
	m := specimen(t)
	for name := range m {
		if strings.HasPrefix(name, "paid/almanac/") || name == "pages/almanac.md" || name == "pages/docs/free.md" {
			delete(m, name)
		}
	}
	edit(t, m, "site.toml", "[parts]", "[parts]\ntips = false")
	edit(t, m, "site.toml", "bell = true\n", "")
	s, err := Load(Sources{Content: m})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/almanac": false, "/almanac/x": false, "/almanac.atom": false,
		"/almanacs": true, "/api/tip": false, "/tips/{slug}": false, "/api/bell": false, "/gazette": true,
		"/api/guestbook": true, "/menu": true, "/": true} {
		if s.Serves(path) != want {
			t.Errorf("serves %s: %v", path, !want)
		}
	}
	if _, ok := s.Page("almanac"); ok {
		t.Error("a part that is off has the program's page")
	}
	if got := s.unlink("See [the almanac](/almanac), [goods](/menu)."); got != "See the almanac, [goods](/menu)." {
		t.Error(got)
	}
	edit(t, m, "site.toml", "tips = false", "tipps = false")
	if _, err := Load(Sources{Content: m}); err == nil || !strings.Contains(err.Error(), "tipps is no part") {
		t.Error(err)
	}
}
